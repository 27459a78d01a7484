"""Index sets and intervals against Python's own sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factorspec_sdk.fields.intervals import Intervals, of_progressions
from factorspec_sdk.fields.sets import IndexSet

SMALL = st.frozensets(st.integers(0, 40))
SPANS = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), max_size=5)
STEPS = st.lists(
    st.tuples(st.integers(-9, 9), st.integers(0, 4), st.integers(1, 3)).map(
        lambda p: (p[0], p[0] + p[1] * p[2], p[2])
    ),
    min_size=1,
    max_size=3,
)


@given(SMALL, SMALL)
def test_index_sets_behave_like_sets(left: frozenset[int], right: frozenset[int]) -> None:
    a, b = IndexSet.of(left), IndexSet.of(right)
    assert set(a) == left and len(a) == len(left)
    assert set(a & b) == left & right and set(a | b) == left | right
    assert set(a.complement(41)) == set(range(41)) - left
    assert IndexSet.from_mask(a.mask()) == a
    assert all((n in a) == (n in left) for n in range(-1, 42))
    assert all(a.first_in(lo, lo + 3) == min(left & set(range(lo, lo + 4)), default=None) for lo in range(40))
    assert all(a.any_in(lo, lo + 3) == bool(left & set(range(lo, lo + 4))) for lo in range(40))


@given(SPANS)
def test_a_union_of_spans_is_normal(spans: list[tuple[int, int]]) -> None:
    found = IndexSet.union_of([(lo + 20, hi + 20) for lo, hi in spans])
    assert set(found) == {n + 20 for lo, hi in spans for n in range(lo, hi + 1)}
    assert all(b[0] > a[1] + 1 for a, b in zip(found.spans, found.spans[1:], strict=False))


@given(SPANS, STEPS)
def test_minkowski_difference_is_exact(
    spans: list[tuple[int, int]], steps: list[tuple[int, int, int]]
) -> None:
    numbers = Intervals.union(spans)
    found = numbers.less(steps)
    added = {m for first, last, step in steps for m in range(first, last + 1, step)}
    assert all((n in found) == any(n + m in numbers for m in added) for n in range(-60, 60))
    assert all((n in of_progressions(steps)) == (n in added) for n in range(-30, 30))


@given(st.sets(st.integers(0, 9_000), max_size=40))
def test_a_long_mask_reads_like_a_short_one(members: set[int]) -> None:
    mask = sum(1 << member for member in members)
    assert set(IndexSet.from_mask(mask)) == members
    assert set(IndexSet.from_mask(mask | 1 << 9_500)) == members | {9_500}

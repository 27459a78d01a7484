"""Sums of members of progressions against plain enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from factorspec_sdk.fields.intervals import Progression
from factorspec_sdk.fields.sumsets import Sumsets, TooRagged

INVOICE_LINE = [(quantity, quantity * 1_000_000, quantity) for quantity in range(1, 1_000)]


def drawn(rng: random.Random) -> list[Progression]:
    made = []
    for _ in range(rng.randint(1, 5)):
        first, step, count = rng.randint(-5, 10), rng.randint(1, 7), rng.randint(0, 12)
        made.append((first, first + step * count, step))
    return made


def members(progressions: list[Progression]) -> set[int]:
    return {number for first, last, step in progressions for number in range(first, last + 1, step)}


def cases(count: int) -> Iterator[tuple[random.Random, list[Progression], int, Sumsets]]:
    """Sets that are not refused, under narrow windows and wide ones."""
    for seed in range(count):
        rng = random.Random(seed)
        progressions, terms = drawn(rng), rng.randint(1, 4)
        try:
            yield rng, progressions, terms, Sumsets(progressions, terms, rng.choice([0, 3, 8, 20, 10**6]))
        except TooRagged:
            continue


def test_sums_equal_enumeration() -> None:
    seen = 0
    for rng, progressions, terms, sums in cases(1_500):
        own, reached = members(progressions), {0}
        for k in range(1, terms + 1):
            reached = {a + b for a in reached for b in own}
            for _ in range(12):
                lo = rng.randint(-25, 60 * k)
                hi = lo + rng.randint(0, 6)
                assert sums.meets(k, lo, hi) == any(lo <= number <= hi for number in reached)
            spans = sums.spans(k)
            if spans is None:
                assert k == 1
                continue
            seen += 1
            assert {n for lo, hi in spans for n in range(lo, hi + 1)} == reached
            lo = rng.randint(-25, 60 * k)
            within = {n for a, b in sums.within([k], lo, lo + 30) for n in range(a, b + 1)}
            assert within == {n for n in reached if lo <= n <= lo + 30}
    assert seen > 500


def test_neighbouring_members_are_no_further_apart_than_the_largest_gap() -> None:
    for _, progressions, _, sums in cases(600):
        own = sorted(members(progressions))
        gaps = [b - a for a, b in pairwise(own)]
        assert max(gaps, default=0) <= sums.largest_gap


def test_what_one_member_leaves_of_a_total_is_a_member_or_not() -> None:
    for seed in range(1_500):
        rng = random.Random(seed)
        progressions = drawn(rng)
        own = members(progressions)
        sums = Sumsets(progressions, 1, 10**6)
        first, step = rng.randint(-5, 10), rng.randint(1, 9)
        other = first, first + 9 * step, step
        total, lo = rng.randint(-10, 80), rng.randint(0, 6)
        hi = min(9, lo + rng.randint(0, 6))
        right = {i for i in range(lo, hi + 1) if total - first - step * i in own}
        found = sums.pair_index(total, other, lo, hi)
        assert (found is None) == (not right) and (found is None or found in right)
        sure = sums.sure_pairs(total, np.array([first]), np.array([other[1]]), np.array([step]))
        assert not sure[0] or any(total - first - step * i in own for i in range(10))


def test_invoice_lines_leave_gaps_at_the_top_only() -> None:
    sums = Sumsets(INVOICE_LINE, 30)
    assert sums.spans(1) is None
    spans = sums.spans(30)
    assert spans is not None
    assert spans[0] == (30, 30 * 999_000_000 - 1_995_006)  # below the semigroup of 998 and 999
    top = 30 * 999_000_000
    assert sums.meets(30, top, top) and sums.meets(30, top - 999, top - 999)
    assert not sums.meets(30, top - 998, top - 1)
    assert sums.meets(1, 999 * 999_983, 999 * 999_983) and not sums.meets(1, 1_000_003, 1_000_003)


def test_sets_that_are_too_ragged_are_refused() -> None:
    with pytest.raises(TooRagged):
        Sumsets([(0, 2_000_000_000, 2_000_000)], 2)
    with pytest.raises(TooRagged):
        Sumsets([(0, 1 << 60, 1)], 2)

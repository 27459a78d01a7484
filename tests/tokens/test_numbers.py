"""The walk over digits must agree with listing every value."""

import random
from collections.abc import Iterable

import pytest

from factorspec_sdk.fields import IndexSet
from factorspec_sdk.tokens import (
    Canonical,
    Continuation,
    Held,
    NumberState,
    SteppedValues,
    Values,
    certain,
    supports_numbers,
    walk_of,
)
from tests.tokens.conftest import canonical_like

Trie = dict[int, "Trie"]


def trie_of(rows: Iterable[tuple[int, ...]]) -> Trie:
    root: Trie = {}
    for row in rows:
        node = root
        for token in row:
            node = node.setdefault(token, {})
    return root


def number_tokens(canonical: Canonical, held: Held, value: int) -> tuple[int, ...]:
    """Tokens of the number as they are before a comma, without those of the comma."""
    before = canonical.encode_piece(f"{held.text}{value}")
    assert canonical.vocabulary.encode_inside(f"{held.text}{value},")[: len(before)] == before
    return before[held.emitted :]


def compare(canonical: Canonical, held: Held, numbers: set[int], values: Values, lo: int, hi: int) -> int:
    """Walk all tokens that are allowed; compare with the trie of the listed numbers. The number of nodes."""
    walk = walk_of(canonical, held, None, lo, hi)
    ends = {number_tokens(canonical, held, n): n for n in numbers}
    nodes = 0
    todo: list[tuple[tuple[int, ...], NumberState, Trie]] = [((), walk.start(), trie_of(ends))]
    while todo:
        nodes += 1
        given, state, node = todo.pop()
        assert walk.allowed(state, values) == set(node), (given, state)
        value = walk.value(state)
        if value is not None and values.any_in(value, value):
            assert ends[given] == value
        else:
            assert given not in ends
        for token, child in node.items():
            after = walk.advance(state, token)
            assert after is not None
            todo.append(((*given, token), after, child))
    return nodes


def random_values(source: random.Random) -> tuple[set[int], SteppedValues, int, int]:
    lo = source.choice((0, 1, 5, 90, 999, 1000, -3, -120, -1500, 12345))
    step = source.choice((1, 1, 1, 5, 7, 100))
    size = source.choice((1, 3, 20, 300, 1500))
    spans = []
    for _ in range(source.randint(1, 6)):
        start = source.randrange(size)
        spans.append((start, min(size - 1, start + source.choice((0, 1, 9, 100, 1000)))))
    indices = IndexSet.union_of(spans)
    return (
        {lo + step * i for i in indices},
        SteppedValues(lo, step, size, indices),
        lo,
        lo + step * (size - 1),
    )


def test_numbers_equal_enumeration(number_canonical: Canonical) -> None:
    source = random.Random(1)
    for _ in range(40):
        held = source.choice(
            (Held("", 0), Held(" ", 0), Held("[", 0), Held(":", 0), Held('",', 0), Held('"},', 0))
        )
        held = Held(held.text, source.randint(0, len(number_canonical.stable(held.text))))
        numbers, values, lo, hi = random_values(source)
        assert compare(number_canonical, held, numbers, values, lo, hi) > 0


def test_a_range_of_ten_million_values_needs_few_questions(number_canonical: Canonical) -> None:
    asked = 0

    class Counting:
        def any_in(self, lo: int, hi: int, /) -> bool:
            nonlocal asked
            asked += 1
            return hi >= 0 and lo <= 10_000_000

        def all_in(self, lo: int, hi: int, /) -> bool:
            nonlocal asked
            asked += 1
            return lo >= 0 and hi <= 10_000_000

    walk = walk_of(number_canonical, Held(" ", 0), None, 0, 10_000_000)
    state = walk.start()
    for token in number_tokens(number_canonical, Held(" ", 0), 1234567):
        asked = 0
        assert token in walk.allowed(state, Counting())
        assert asked < 300
        after = walk.advance(state, token)
        assert after is not None
        state = after
    assert walk.value(state) == 1234567


def test_a_token_that_is_no_part_of_a_number_is_refused(number_canonical: Canonical) -> None:
    walk = walk_of(number_canonical, Held("", 0), None, 0, 99)
    assert walk.advance(walk.start(), number_canonical.encode_piece("}")[0]) is None


def test_what_follows_a_number_is_certain(number_canonical: Canonical) -> None:
    row, held = certain(number_canonical, Held("", 0), "", Continuation(', "x": ', '"'))
    whole = number_canonical.vocabulary.encode_inside('12, "x": "')
    digits = number_canonical.encode_piece("12")
    assert whole[: len(digits + row)] == digits + row
    assert number_canonical.vocabulary.decode(row) + held.text[:] in (', "x": ', ', "x":' + held.text)


@pytest.mark.parametrize("name", ["unfamiliar"])
def test_unknown_rules_are_not_walked(name: str) -> None:
    assert not supports_numbers(canonical_like(name))


def test_stepped_values_ask_for_values() -> None:
    values = SteppedValues(-10, 5, 6, IndexSet.of([0, 3, 5]))
    members = {-10, 5, 15}
    for lo in range(-20, 30):
        for hi in range(lo, 30):
            assert values.any_in(lo, hi) == any(lo <= m <= hi for m in members)
            assert values.all_in(lo, hi) == (lo == hi and lo in members)
    dense = SteppedValues(-10, 1, 31, IndexSet(((0, 4), (6, 30))))
    for lo in range(-20, 30):
        for hi in range(lo, 30):
            wanted = {*range(-10, -5), *range(-4, 21)}
            assert dense.all_in(lo, hi) == wanted.issuperset(range(lo, hi + 1))

"""Clamps against sets of pairs, on every number of a small range."""

from __future__ import annotations

import random

from factorspec_sdk.graph.clamps import FORGET, SAME, Clamp, after, before, clamp, joined, then

RANGE = range(-4, 12)


def follow(move: Clamp, number: int) -> set[int]:
    """The numbers of the range that follow one, by the definition."""
    if not move.first <= number <= move.last:
        return set()
    low, high = max(move.low, number + move.least), min(move.high, number + move.most)
    return {y for y in RANGE if low <= y <= high}


def drawn(rng: random.Random) -> Clamp | None:
    """A clamp whose numbers stay in the range, half of them bounded on both sides."""
    least, low = rng.randint(-3, 3), rng.randint(-2, 6)
    found = clamp(least, least + rng.randint(0, 5), low, low + rng.randint(0, 5))
    limits = Clamp(rng.randint(-4, 4), rng.randint(2, 11), *SAME[2:])
    return found if found is None or rng.random() < 0.5 else then(limits, found)


def test_every_number_of_a_clamps_range_is_followed_by_some() -> None:
    rng = random.Random(1)
    for _ in range(500):
        move = drawn(rng)
        if move is not None:
            assert all(follow(move, number) for number in RANGE if move.first <= number <= move.last)


def test_two_clamps_are_one_clamp_exactly() -> None:
    rng = random.Random(2)
    for _ in range(2_000):
        one, two = drawn(rng), drawn(rng)
        if one is None or two is None:
            continue
        both = then(one, two)
        for number in RANGE:
            expected = {y for x in follow(one, number) for y in follow(two, x)}
            assert (set() if both is None else follow(both, number)) == expected


def test_what_follows_an_interval_and_what_leads_into_intervals() -> None:
    rng = random.Random(3)
    for _ in range(2_000):
        move = drawn(rng)
        if move is None:
            continue
        low = rng.randint(-3, 9)
        high = low + rng.randint(0, 3)
        expected = {y for x in range(low, high + 1) for y in follow(move, x)}
        found = after(move, low, high)
        assert (set() if found is None else set(range(found[0], found[1] + 1)) & set(RANGE)) == expected
        leading = {x for x in RANGE if follow(move, x) & set(range(low, high + 1))}
        spans = joined(before(move, ((low, high),)))
        assert {x for x in RANGE if any(a <= x <= b for a, b in spans)} == leading


def test_forgetting_leaves_nothing_of_a_number() -> None:
    move = then(FORGET, Clamp(0, 0, -(1 << 90), 1 << 90, 3, 5))
    assert move is not None
    assert all(follow(move, number) == {3, 4, 5} for number in RANGE)

"""Digits that are tokens of their own: the quick walk against the general one, and against enumeration."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.fields import IndexSet
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical, Held, NumberState, SingleDigitWalk, SteppedValues, walk_of
from factorspec_sdk.tokens.numbers import NumberWalk
from tests.tokens.test_numbers import random_values

HELDS = (Held("", 0), Held(" ", 0), Held("[", 0), Held('",', 0))


@pytest.fixture(scope="module", params=["qwen", "smollm2"])
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(vocabulary_like(request.param))


def test_every_state_is_as_by_the_general_walk(canonical: Canonical) -> None:
    source = random.Random(3)
    for _ in range(120):
        held, (_, values, lo, hi) = source.choice(HELDS), random_values(source)
        quick = walk_of(canonical, held, None, lo, hi)
        assert isinstance(quick, SingleDigitWalk)
        slow = NumberWalk(canonical, quick._leads, 1, quick._longest)
        todo = [quick.start()]
        while todo:
            state = todo.pop()
            ids = quick.allowed(state, values)
            assert set(ids) == set(slow.allowed(state, values))
            assert quick.value(state) == slow.value(state)
            lengths = quick.lengths(state, values)
            assert lengths is None or quick.any_digit(lengths) == slow.allowed(state, values)
            for token in source.sample(sorted(ids), min(3, len(ids))):
                after = quick.advance(state, token)
                assert after is not None
                assert after == slow.advance(state, token)
                assert lengths is None or quick.lengths(after, values) == quick.shorter(lengths)
                todo.append(after)
            other = source.randrange(canonical.vocabulary.logit_width)
            assert quick.advance(state, other) == slow.advance(state, other)


def test_lengths_are_those_of_the_numbers_that_go_on(canonical: Canonical) -> None:
    source, found = random.Random(5), 0
    for _ in range(200):
        numbers, values, lo, hi = random_values(source)
        walk = walk_of(canonical, Held("", 0), None, lo, hi)
        assert isinstance(walk, SingleDigitWalk)
        state, written = walk.start(), ""
        assert walk.lengths(state, values) is None
        for digit in str(source.choice(sorted(numbers))).removeprefix("-")[: source.randint(1, 5)]:
            after = walk.advance(state, canonical.encode_piece(digit)[0])
            if after is None:
                break
            state, written = after, written + digit
        else:
            lengths = walk.lengths(state, values)
            on = [str(n)[len(written) :] for n in numbers if str(n).startswith(written)]
            if lengths is None:
                continue
            found += 1
            assert lengths == {len(rest) for rest in on}
            assert len(on) == sum(10**length for length in lengths)
    assert found > 20


def test_groups_of_digits_go_by_the_general_walk() -> None:
    assert type(walk_of(Canonical(vocabulary_like("tricky")), Held("", 0), None, 0, 99)) is NumberWalk


def test_many_intervals_are_looked_at_ten_times_at_most(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    from factorspec_sdk.tokens import single_digits

    looks = 0

    def counting(spans: tuple[tuple[int, int], ...], at: tuple[int, int]) -> int:
        nonlocal looks
        looks += 1
        from bisect import bisect_right

        return bisect_right(spans, at)

    walk = walk_of(canonical, Held("", 0), None, 0, 999_999)
    values = SteppedValues(0, 1, 1_000_000, IndexSet.of(range(0, 1_000_000, 7)))
    state = walk.advance(walk.start(), canonical.encode_piece("4")[0])
    assert state == NumberState((), False, "", canonical.encode_piece("4"))
    monkeypatch.setattr(single_digits, "bisect_right", counting)
    assert len(walk.allowed(state, values)) == 10
    assert looks <= 50

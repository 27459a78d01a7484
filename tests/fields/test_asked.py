"""Sets that are known by questions, against the sets themselves."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.fields.asked import AskedSet, Spans
from factorspec_sdk.fields.sets import IndexSet


class Oracle:
    """Answers for a set; after ``budget`` questions it has no final answer."""

    def __init__(self, truth: set[int], rng: random.Random, budget: int = 10**9) -> None:
        self.truth, self.rng, self.left = truth, rng, budget

    def __call__(self, spans: Spans) -> tuple[int | None, bool]:
        self.left -= 1
        if self.left < 0:
            return None, False
        found = [n for n in sorted(self.truth) if any(lo <= n <= hi for lo, hi in spans)]
        return (self.rng.choice(found), True) if found else (None, True)


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_the_set(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(1, 60)
    truth = set(rng.sample(range(size), rng.randint(0, size)))
    plain, asked = (
        IndexSet.of(truth),
        AskedSet(size, Oracle(truth, rng), rng.sample(sorted(truth), len(truth) // 3)),
    )
    for _ in range(30):
        lo, hi = rng.randint(-2, size + 1), rng.randint(-2, size + 1)
        assert asked.any_in(lo, hi) == (lo <= hi and plain.any_in(lo, hi))
        assert asked.first_in(lo, hi) == (plain.first_in(max(lo, 0), hi) if lo <= hi else None)
        assert (lo in asked) == (lo in plain)
    assert len(asked) >= len(plain)
    assert list(asked) == sorted(truth) == list(asked.listed())
    assert asked.complete and asked.spans == plain.spans
    if truth:
        assert (asked.first, asked.last) == (plain.first, plain.last)


@pytest.mark.parametrize("seed", range(20))
def test_after_the_budget_only_proven_members_are_left(seed: int) -> None:
    rng = random.Random(seed)
    truth = set(rng.sample(range(50), 20))
    asked = AskedSet(50, Oracle(truth, rng, budget=rng.randint(0, 12)), [min(truth)])
    listed = asked.listed()
    assert set(listed) <= truth and min(truth) in listed
    assert not listed.complete and not asked.complete
    assert list(asked) == list(listed)


def test_a_first_member_takes_few_questions() -> None:
    oracle = Oracle(set(range(70_000, 90_000, 7)), random.Random(1))
    asked = AskedSet(100_000, oracle, ())
    oracle.left = 20
    assert (asked.first, asked.complete) == (70_000, True)

"""Which guesses run: the best of all candidates, found by a plain search that counts token by token."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from factorspec_server.drafting import Allowed, CostModel
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.guess_choice import THRESHOLDS, Chosen, choose
from factorspec_server.sglang.shapes import Candidate, ManyRows, Shape, Shapes, host_s

ANY = Allowed.of((1, 2))
# milliseconds of a verify step by its inputs, as measured on an H200 with an 8B model
COST = CostModel(((1, 5.5e-3), (128, 6.3e-3), (512, 12.5e-3), (1024, 23e-3), (4096, 90e-3)))
MANY_COST = CostModel(((1, 5.6e-3), (128, 6.5e-3), (512, 13e-3), (1024, 23.7e-3), (4096, 91e-3)))
WIDTHS = (1, 8, 16, 32, 64, 128)
TIERS = (16, 64, 128, 256, 512, 1024, 2048, 4096)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
MANY = ManyRows(
    most=256,
    uniform=MANY_COST,
    requests={width: 512 // width for width in WIDTHS[1:]},
    tiers=TIERS[:-1],
    ragged=MANY_COST,
    row_s=4e-6,
)
ALL = Shapes(
    widths=WIDTHS, uniform=COST, batches=BATCHES, tiers=TIERS, ragged=COST, ragged_width=128, many=MANY
)


def chain(certain: int, *guesses: tuple[float, int], then: int | None = None) -> Chain:
    """A certain run, and guesses with the run behind each; each guess's chance is that of the way to it."""
    size, decisions = certain, []
    for chance, run in guesses:
        decisions.append(Decision(size, ANY, chance))
        size += 1 + run
    if then is None:
        decisions.append(Decision(size, ANY))
    return Chain((7,) * size, tuple(decisions), then)


def random_chain(source: random.Random) -> Chain:
    guesses, chance = [], 1.0
    for _ in range(source.randrange(8)):
        chance *= source.choice((0.1, 0.5, 0.8, 0.95, 1.0))
        guesses.append((chance, source.choice((0, 0, 1, 5, 20))))
    found = chain(source.choice((0, 0, 1, 9, 40)), *guesses, then=source.choice((None, 5)))
    return found.cut(source.randrange(128))


def chances(one: Chain) -> list[float]:
    """Of each token of a chain, that it stands."""
    found, now = [], 1.0
    guesses = {decision.offset: decision.chance for decision in one.decisions}
    for offset in range(len(one.tokens)):
        now = guesses.get(offset, now)
        found.append(now)
    return found


def kept(one: Chain, threshold: float, most: int) -> int:
    size = 0
    for chance in chances(one)[:most]:
        if chance < threshold:
            break
        size += 1
    return size


def rows(one: Chain, size: int) -> int:
    """One, and one for each guess that runs."""
    return 1 + sum(decision.offset < size for decision in one.decisions)


def plain_search(shapes: Shapes, chains: list[Chain]) -> list[tuple[float, Shape, list[int]]]:
    """All steps with guesses, each with its tokens a second."""
    many, found = shapes.many, []
    assert many is not None
    count = next((batch for batch in shapes.batches if batch >= len(chains)), len(chains))

    def add(shape: Shape, cuts: list[int], seconds: float) -> None:
        tokens = len(chains) + sum(sum(chances(one)[:cut]) for one, cut in zip(chains, cuts, strict=True))
        more = sum(map(rows, chains, cuts)) - len(chains)
        found.append((tokens / (host_s(len(chains)) + seconds + many.row_s * more), shape, cuts))

    for width in shapes.widths[1:]:
        if len(chains) * width <= 512:
            for threshold in sorted(THRESHOLDS):
                cuts = [kept(one, threshold, width - 1) for one in chains]
                if sum(map(rows, chains, cuts)) <= many.most:
                    add(Shape(width), cuts, many.uniform.step_s(count * width))
                    break
    for threshold in THRESHOLDS if many.tiers else ():
        cuts = [kept(one, threshold, shapes.ragged_width - 1) for one in chains]
        inputs = len(chains) + sum(cuts)
        if inputs <= many.tiers[-1] and sum(map(rows, chains, cuts)) <= many.most:
            tier = next(tier for tier in many.tiers if tier >= inputs)
            if tier <= len(chains) * shapes.ragged_width:
                assert many.ragged is not None
                add(Shape(max(cuts) + 1, tier), cuts, many.ragged.step_s(tier))
    return found


def check(shapes: Shapes, chains: list[Chain]) -> Chosen:
    chosen = choose(shapes, chains)
    without = shapes.best_of([one.num_certain + 1 for one in chains])
    assert chosen.without == without
    options = [] if all(one.is_certain for one in chains) else plain_search(shapes, chains)
    best = max((rate for rate, _, _ in options), default=0.0)
    assert chosen.step.rate == pytest.approx(max(best, without.rate))
    for one, cut in zip(chains, chosen.cuts, strict=True):
        assert cut <= min(len(one.tokens), chosen.shape.width - 1)
    tokens = len(chains) + sum(sum(chances(one)[:cut]) for one, cut in zip(chains, chosen.cuts, strict=True))
    assert chosen.step.tokens == pytest.approx(tokens)
    needed = sum(one.cut(cut).num_rows for one, cut in zip(chains, chosen.cuts, strict=True))
    guessed = any(not one.cut(cut).is_certain for one, cut in zip(chains, chosen.cuts, strict=True))
    assert needed <= (MANY.most if guessed else len(chains))
    inputs = sum(cut + 1 for cut in chosen.cuts)
    assert inputs <= (chosen.shape.num_inputs or len(chains) * chosen.shape.width)
    return chosen


@pytest.mark.parametrize(
    "shapes", [ALL, replace(ALL, tiers=(), ragged=None, many=replace(MANY, tiers=(), ragged=None))]
)
def test_the_best_step_is_the_best_of_all(shapes: Shapes) -> None:
    source = random.Random(4)
    guessing = 0
    for _ in range(60):
        chains = [random_chain(source) for _ in range(source.choice((1, 2, 3, 8, 20, 64, 128, 200)))]
        chosen = check(shapes, chains)
        guessing += chosen.step is not chosen.without
    assert guessing > 20


def test_guesses_are_nearly_free_alone_and_must_be_likely_among_many() -> None:
    unlikely, likely = chain(9, (0.1, 12)), chain(9, (0.95, 12))
    assert check(ALL, [unlikely]).cuts == [22]
    assert max(check(ALL, [unlikely] * 128).cuts) <= 9
    assert check(ALL, [likely] * 88).cuts == [22] * 88
    mixed = check(ALL, [likely] * 72 + [unlikely] * 37)
    assert list(mixed.cuts) == [22] * 72 + [9] * 37


def test_without_rows_for_guesses_none_run() -> None:
    assert choose(replace(ALL, many=None), [chain(3, (1.0, 4))]).cuts == [3]
    few = replace(ALL, many=replace(MANY, most=4))
    assert choose(few, [chain(3, (1.0, 4))] * 5).cuts == [3] * 5
    assert choose(few, [chain(3, (1.0, 4))] * 2).cuts == [8] * 2


def test_certain_chains_have_the_shape_that_they_always_had() -> None:
    source = random.Random(2)
    for _ in range(60):
        chains = [chain(source.choice((0, 3, 30, 100))) for _ in range(source.randrange(1, 99))]
        chosen = choose(ALL, chains)
        assert chosen.shape == ALL.best([len(one.tokens) + 1 for one in chains])
        assert list(chosen.cuts) == [min(len(one.tokens), chosen.shape.width - 1) for one in chains]


def test_a_step_brings_tokens_a_second() -> None:
    assert Candidate(Shape(1), 3.0, 0.5).rate == 6.0

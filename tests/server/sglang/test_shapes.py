"""Shapes: the best of few, told by a plain search; wide at small batches, ragged at large ones."""

import random

import pytest

from factorspec_server.drafting import CostModel
from factorspec_server.sglang.shapes import Shape, Shapes, cost_of, host_s

# milliseconds of a verify step by its inputs, as measured on an H200 with an 8B model
COST = CostModel(((1, 5.5e-3), (128, 6.3e-3), (512, 12.5e-3), (1024, 23e-3), (4096, 90e-3)))
WIDTHS = (1, 8, 16, 32, 64, 128)
TIERS = (16, 64, 128, 256, 512, 1024, 2048, 4096)
UNIFORM = Shapes(widths=WIDTHS, uniform=COST)
BOTH = Shapes(widths=WIDTHS, uniform=COST, tiers=TIERS, ragged=COST, ragged_width=128)


def test_a_small_batch_runs_wide_and_a_large_one_narrow() -> None:
    assert UNIFORM.best([100]) == Shape(128)
    assert UNIFORM.best([60] * 4).width >= 64
    assert UNIFORM.best([*[8] * 120, *[64] * 8]).width == 8


def test_a_large_batch_of_unequal_requests_runs_ragged() -> None:
    best = BOTH.best([*[5] * 100, *[40] * 28])
    assert best == Shape(40, 2048)


def test_one_token_each_is_a_plain_step() -> None:
    assert BOTH.best([1, 1, 1]) == Shape(1)


def test_more_than_the_largest_tier_is_cut() -> None:
    wanted = [120] * 128
    best = BOTH.best(wanted)
    assert best.num_inputs is None or sum(min(want, best.width) for want in wanted) <= TIERS[-1]
    assert BOTH.best([1] * 5000 + [2]).num_inputs is None


def test_the_best_shape_is_the_best_of_all() -> None:
    source = random.Random(1)
    for _ in range(200):
        wanted = [source.choice((1, 2, 9, 30, 77, 128)) for _ in range(source.randrange(1, 40))]
        best = BOTH.best(wanted)
        rates = {}
        for width in WIDTHS:
            tokens = sum(min(want, width) for want in wanted)
            rates[Shape(width)] = tokens / (host_s(len(wanted)) + COST.step_s(len(wanted) * width))
        total = sum(wanted)
        tier = next(tier for tier in TIERS if tier >= min(total, TIERS[-1]))
        if total <= TIERS[-1]:
            rates[Shape(max(wanted), tier)] = total / (host_s(len(wanted)) + COST.step_s(tier))
        if max(wanted) > 1:
            assert rates[best] == pytest.approx(max(rates.values()))


def test_steps_of_equal_size_count_once() -> None:
    cost = cost_of([(16, 3.0), (8, 1.0), (16, 5.0), (1, 1.0)])
    assert cost.points == ((1, 1.0), (8, 1.0), (16, 4.0))


@pytest.mark.parametrize("widths", [(), (8, 16), (1, 16, 8), (1, 1)])
def test_widths_that_do_not_ascend_from_one_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="widths must"):
        Shapes(widths=widths, uniform=COST)

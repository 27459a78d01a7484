"""The cost model of a step, and the size of a plan that pays best."""

import random
from collections.abc import Sequence
from itertools import accumulate, product

import pytest

from factorspec_server.drafting import CostModel, best_size


def test_costs_are_linear_between_measured_sizes_and_beyond() -> None:
    model = CostModel(((1, 2.0), (11, 3.0), (21, 7.0)))
    assert [model.step_s(size) for size in (1, 6, 11, 16, 21, 31)] == [2.0, 2.5, 3.0, 5.0, 7.0, 11.0]
    assert model.step_s(0) == 2.0
    assert model.for_batch(3)(7) == model.step_s(21)


def test_noisy_times_are_made_to_ascend() -> None:
    assert CostModel.of([(8, 1.5), (1, 2.0), (32, 4.0)]).points == ((1, 1.75), (8, 1.75), (32, 4.0))
    assert CostModel.of([(1, 1.0), (4, 6.0), (16, 4.0), (64, 2.0)]).points == (
        (1, 1.0),
        (4, 4.0),
        (16, 4.0),
        (64, 4.0),
    )


def test_the_fit_is_the_nearest_that_ascends() -> None:
    source, grid = random.Random(5), range(1, 6)
    for _ in range(30):
        times = [source.choice(grid) for _ in range(4)]
        fitted = [seconds for _, seconds in CostModel.of(list(zip((1, 2, 4, 8), times, strict=True))).points]
        assert fitted == sorted(fitted)

        def distance(other: Sequence[float], times: Sequence[int] = times) -> float:
            return sum((one - time) ** 2 for one, time in zip(other, times, strict=True))

        nearest = min(distance(other) for other in product(grid, repeat=4) if list(other) == sorted(other))
        assert distance(fitted) <= nearest + 1e-9


def test_more_tokens_than_were_measured_are_never_free() -> None:
    noisy = CostModel.of([(1, 0.448), (4, 3.98), (16, 2.9)])
    assert noisy.step_s(240) == pytest.approx(15 * noisy.step_s(16))
    flat = CostModel(((1, 1.0), (64, 1.0)))
    assert [flat.step_s(size) for size in (64, 128, 640)] == [1.0, 2.0, 10.0]
    assert best_size([1.0] * 200, flat.step_s) == 63
    steep = CostModel(((1, 1.0), (4, 1.0), (8, 9.0)))
    assert steep.step_s(9) == 11.0


def test_one_size_is_no_curve_and_no_guess_pays_by_it() -> None:
    one = CostModel(((1, 2.0),))
    assert not one.is_curve and one.step_s(100) == 200.0
    assert best_size([0.99] * 50, one.step_s) == 0
    assert CostModel(((1, 2.0), (4, 2.0))).is_curve


@pytest.mark.parametrize("points", [(), ((2, 1.0), (2, 2.0)), ((1, 2.0), (2, 1.0)), ((0, 1.0),), ((1, 0.0),)])
def test_impossible_points_are_refused(points: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match="must"):
        CostModel(points)


def test_the_best_size_brings_most_tokens_a_second() -> None:
    source = random.Random(3)
    for _ in range(200):
        chances = sorted((source.random() for _ in range(source.randrange(20))), reverse=True)
        points, seconds = [], 0.1
        for size in (1, 4, 9, 30):
            seconds += source.random()
            points.append((size, seconds))
        cost = CostModel(tuple(points)).step_s
        rates = [
            (1 + brought) / cost(1 + size) for size, brought in enumerate(accumulate(chances, initial=0.0))
        ]
        assert rates[best_size(chances, cost)] == max(rates)


def test_wide_plans_pay_where_tokens_are_free_and_not_where_they_cost() -> None:
    chances = [0.9**at for at in range(30)]
    assert best_size(chances, lambda size: 1.0) == 30
    assert best_size(chances, lambda size: float(size)) == 0
    assert 0 < best_size(chances, lambda size: 1.0 + 0.1 * size) < 30

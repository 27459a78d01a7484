"""The cost model of a step, and the size of a plan that pays best."""

import random
from itertools import accumulate

import pytest

from factorspec_server.drafting import CostModel, best_size


def test_costs_are_linear_between_measured_sizes_and_beyond() -> None:
    model = CostModel(((1, 2.0), (11, 3.0), (21, 7.0)))
    assert [model.step_s(size) for size in (1, 6, 11, 16, 21, 31)] == [2.0, 2.5, 3.0, 5.0, 7.0, 11.0]
    assert model.step_s(0) == 2.0
    assert CostModel(((4, 2.0),)).step_s(100) == 2.0
    assert model.for_batch(3)(7) == model.step_s(21)


def test_noisy_times_are_made_to_ascend() -> None:
    assert CostModel.of([(8, 1.5), (1, 2.0), (32, 4.0)]).points == ((1, 2.0), (8, 2.0), (32, 4.0))


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

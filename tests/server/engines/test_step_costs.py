"""What a step costs is measured within a budget, and decides how long steps and how wide passes may be."""

from collections.abc import Callable

import pytest

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import CostModel
from factorspec_server.engines import step_costs
from factorspec_server.engines.step_costs import measure_costs, split_tokens, step_tokens


class Clock:
    """Time passes only while a step runs: ``cost`` seconds for its tokens, more for the first of a size."""

    def __init__(self, cost: Callable[[int], float], cold_s: float) -> None:
        self.cost = cost
        self.cold_s = cold_s
        self.now = 0.0
        self.steps: list[int] = []

    def __call__(self) -> float:
        return self.now

    def run(self, num_tokens: int) -> None:
        is_cold = num_tokens not in self.steps
        self.steps.append(num_tokens)
        self.now += self.cost(num_tokens) + is_cold * self.cold_s


def measured(monkeypatch: pytest.MonkeyPatch, cost: Callable[[int], float], **options: float) -> CostModel:
    clock = Clock(cost, options.pop("cold_s", 0.0))
    model = ScriptedModel(64, max_positions=int(options.pop("max_positions", 4096)))
    open_batch = model.open

    def open_timed() -> object:
        batch = open_batch()
        extend = batch.extend

        def timed(tokens: list[list[int]], *arguments: object) -> object:
            clock.run(len(tokens[0]))
            return extend(tokens, *arguments)  # type: ignore[arg-type]

        batch.extend = timed  # type: ignore[assignment, method-assign]
        return batch

    model.open = open_timed  # type: ignore[assignment, method-assign]
    monkeypatch.setattr(step_costs, "perf_counter", clock)
    found = measure_costs(model, **options)
    assert clock.steps == sorted(clock.steps)
    return found


def of_cpu(num_tokens: int) -> float:
    return 0.03 + 0.002 * num_tokens


def of_gpu(num_tokens: int) -> float:
    return 0.02 + 0.00003 * max(0, num_tokens - 128)


def test_a_quick_model_is_measured_up_to_wide_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = measured(monkeypatch, of_gpu)
    assert [size for size, _ in costs.points] == [1, 4, 16, 64, 256, 1024]
    assert all(seconds == pytest.approx(of_gpu(size)) for size, seconds in costs.points)


def test_the_first_step_of_a_size_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    cold, warm = measured(monkeypatch, of_gpu, cold_s=0.05), measured(monkeypatch, of_gpu)
    assert [size for size, _ in cold.points] == [size for size, _ in warm.points]
    assert [seconds for _, seconds in cold.points] == pytest.approx([seconds for _, seconds in warm.points])


def test_a_slow_model_is_measured_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = measured(monkeypatch, of_cpu)
    assert [size for size, _ in costs.points] == [1, 4, 16, 64, 256]
    assert costs.step_s(300) >= of_cpu(300)


@pytest.mark.parametrize("token_s", [0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_budget_is_kept_however_slow_the_model_is(
    monkeypatch: pytest.MonkeyPatch, token_s: float, share: float
) -> None:
    sizes: list[int] = []

    def cost(size: int) -> float:
        sizes.append(size)
        return token_s * (1.0 + share * (size - 1))

    costs = measured(monkeypatch, cost)
    taken_s = sum(token_s * (1.0 + share * (size - 1)) for size in sizes[1:])  # without the first
    assert taken_s <= 2.0 * max(1.0, token_s)
    assert sizes[0] == 1 and {size for size, _ in costs.points} == set(sizes)


def test_a_model_that_is_too_slow_is_asked_twice_and_has_no_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = measured(monkeypatch, lambda size: 5.0 + size)
    assert costs.points == ((1, 6.0),) and not costs.is_curve


def test_sizes_end_where_the_context_does(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = measured(monkeypatch, of_gpu, max_positions=64)
    assert [size for size, _ in costs.points] == [1, 4, 16]


def points(cost: Callable[[int], float]) -> CostModel:
    return CostModel.of([(size, cost(size)) for size in (1, 4, 16, 64, 256, 1024)])


def test_steps_keep_nobody_waiting_for_long() -> None:
    assert step_tokens(points(of_cpu)) == 64
    assert step_tokens(points(of_gpu)) == 2048
    assert step_tokens(points(lambda size: 9.0 * size)) == 64


def test_passes_are_split_where_padding_costs_more_than_another() -> None:
    assert split_tokens(points(of_cpu)) == 16
    assert split_tokens(points(of_gpu)) == 512

"""What steps cost is learnt where no graphs can be timed."""

import random
from types import SimpleNamespace

from factorspec_server.sglang.eager_costs import EagerCosts
from factorspec_server.sglang.graphs import Graphs
from factorspec_server.sglang.guess_choice import choose
from factorspec_server.sglang.speculation import Speculation
from tests.server.sglang.test_guess_choice import chain


def seconds(inputs: int) -> float:
    return 0.03 + 0.005 * inputs


def test_a_line_is_learnt_from_noisy_steps() -> None:
    source, costs = random.Random(2), EagerCosts()
    before = costs.model
    assert before is None
    for size in range(1, 65):
        for _ in range(4):
            costs.ran(size, seconds(size) * source.uniform(0.9, 1.1))
    model = costs.model
    assert model is not None
    for size in (1, 2, 5, 12, 30, 60):
        assert abs(model.step_s(size) / seconds(size) - 1.0) < 0.25


def test_a_slow_first_step_is_forgotten_and_few_sizes_are_no_curve() -> None:
    costs = EagerCosts()
    for took_s in (9.0, 0.1, 0.1):
        for size in (1, 4):
            costs.ran(size, took_s)
    before = costs.model
    assert before is None
    for _ in range(3):
        costs.ran(16, 0.2)
    model = costs.model
    assert model is not None
    assert model.points == ((1, 0.1), (4, 0.1), (16, 0.2))


def test_on_a_cpu_unlikely_guesses_end_once_it_is_known_what_they_cost() -> None:
    runner = SimpleNamespace(device="cpu")
    graphs = Graphs(runner, None, Speculation(), 64, guesses=True)
    unlikely, likely = chain(3, (0.1, 8)), chain(3, (0.95, 8))
    assert list(choose(graphs.shapes, [unlikely]).cuts) == [12]
    for at in range(64):
        inputs = (1, 4, 16, 48)[at % 4]
        graphs.ran(inputs, seconds(inputs))
    assert list(choose(graphs.shapes, [unlikely]).cuts) == [3]
    assert list(choose(graphs.shapes, [likely]).cuts) == [12]
    gpu = Graphs(SimpleNamespace(device="cuda"), None, Speculation(), 64)
    shapes = gpu.shapes
    for _ in range(64):
        gpu.ran(4, 1.0)
    assert gpu.shapes is shapes

"""Which shapes are captured, and that a step finds what was captured for it in place."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from factorspec_server.drafting import CostModel
from factorspec_server.sglang import graphs as graphs_module
from factorspec_server.sglang import many_rows
from factorspec_server.sglang.graphs import Graphs
from factorspec_server.sglang.shapes import Shape
from factorspec_server.sglang.speculation import Speculation

COST = CostModel(((1, 5e-3), (128, 6e-3), (1024, 25e-3)))


class Captured:
    """Stands for a runner and its attention backend."""

    def __init__(self, name: str) -> None:
        self.attention, self.graphs, self.name = f"attention {name}", self, name
        self.capture_bs, self.capture_num_tokens = [1, 2, 4, 8], [16, 64, 512]
        self.max_bs = 8
        self.many_sizes = [16, 64] if "ragged" in name else [] if name.endswith(" 1") else [1, 2, 4]
        self.rows: object = None
        self.has_many = False

    def point_at(self, rows: object, *, many: bool) -> None:
        self.rows, self.has_many = rows, many

    def put_in_place(self, model_runner: Any) -> None:
        model_runner.attn_backend, model_runner.decode_cuda_graph_runner = self.attention, self.graphs


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def build(
        _: Any, __: Any, width: int, *, many: object, many_inputs: int, ragged: bool = False
    ) -> Captured:
        made.append(f"{'ragged' if ragged else 'uniform'} {width}")
        captured = Captured(made[-1])
        if many is None:
            captured.many_sizes = []
        else:
            assert many == [0] * 256
            assert many_inputs == (2000 if ragged else 500)
        return captured

    runners = ModuleType("runners")

    def costs(found: list[Captured], *, many: bool = False) -> CostModel:
        assert found
        assert not many or all(one.many_sizes for one in found)
        assert "uniform 1" not in {one.name for one in found}  # a decode's graph does not run by itself
        return COST

    vars(runners).update(build=build, costs=costs, MOST_INPUTS=256, MANY_UNIFORM=500, MANY_RAGGED=2000)
    monkeypatch.setattr(many_rows, "logits_of", lambda _, rows: [0] * rows)
    monkeypatch.setattr(many_rows, "row_s", lambda _: 3e-6)
    monkeypatch.setitem(sys.modules, "factorspec_server.sglang.runners", runners)
    monkeypatch.setattr(
        graphs_module, "compile_layouts", lambda graphs: made.append(f"laid out {graphs.name}")
    )
    config = ModuleType("config")
    vars(config).update(Backend=SimpleNamespace(DISABLED="disabled"))
    monkeypatch.setitem(sys.modules, "sglang.srt.model_executor.cuda_graph_config", config)
    return made


def model_runner(*, ragged: bool = True, device: str = "cuda", no_graphs: bool = False) -> Any:
    attention = SimpleNamespace(supports_ragged_verify_graph=ragged)
    backend = "disabled" if no_graphs else "full"
    config = SimpleNamespace(decode=SimpleNamespace(backend=backend))
    return SimpleNamespace(
        attn_backend=attention,
        decode_cuda_graph_runner="own",
        device=device,
        server_args=SimpleNamespace(cuda_graph_config=config, override=None),
    )


def test_each_width_is_captured_and_ragged_steps_where_the_backend_has_them(built: list[str]) -> None:
    graphs = Graphs(model_runner(), None, Speculation((1, 8, 32, 64)), 32)
    graphs.capture()
    assert built == ["uniform 32", "uniform 8", "uniform 1", "ragged 32", "laid out ragged 32"]
    assert graphs.shapes.many is None
    shapes = graphs.shapes
    assert (shapes.widths, shapes.tiers, shapes.most_inputs) == ((1, 8, 32), (16, 64, 512), 256)
    assert shapes.most == 32


def test_where_guesses_may_run_there_are_steps_with_many_rows(built: list[str]) -> None:
    runner = model_runner()
    graphs = Graphs(runner, None, Speculation((1, 8, 32)), 32, guesses=True)
    graphs.allow_branches(5, 20)
    graphs.capture()
    assert built == ["uniform 32", "uniform 8", "uniform 1", "ragged 32", "laid out ragged 32"]
    many = graphs.shapes.many
    assert many is not None
    assert (many.most, many.requests, many.tiers, many.row_s) == (256, {8: 4, 32: 4}, (16, 64), 3e-6)
    assert (many.branches, many.entries) == (5, 8)
    with graphs.in_place(Shape(8), "rows", many=True):
        assert runner.decode_cuda_graph_runner.has_many
    with graphs.in_place(Shape(8), "rows"):
        assert not runner.decode_cuda_graph_runner.has_many


@pytest.mark.parametrize("settings", [Speculation((1, 8), ragged=False), Speculation((1, 8))])
def test_without_ragged_steps_widths_are_all(built: list[str], settings: Speculation) -> None:
    graphs = Graphs(model_runner(ragged=settings.ragged is False), None, settings, 64)
    graphs.capture()
    assert built == ["uniform 8", "uniform 1"]
    assert graphs.shapes.tiers == ()


def test_branches_need_ragged_steps() -> None:
    graphs = Graphs(model_runner(device="cpu"), None, Speculation((1, 8), ragged=False), 8, guesses=True)
    graphs.allow_branches(5, 20)
    assert graphs.shapes.many is not None
    assert graphs.shapes.many.branches == 0
    graphs = Graphs(model_runner(device="cpu"), None, Speculation((1, 8)), 8, guesses=True)
    graphs.allow_branches(5, 20)
    assert graphs.shapes.many is not None
    assert graphs.shapes.many.branches == 5
    assert graphs.shapes.many.entries == 20


def test_with_width_1_alone_nothing_is_measured(built: list[str]) -> None:
    graphs = Graphs(model_runner(), None, Speculation((1,), ragged=False), 64)
    graphs.capture()
    assert built == ["uniform 1"]
    assert graphs.shapes.best([9, 1]) == Shape(1)


def test_a_step_finds_its_graphs_in_place_and_prefills_the_model_s_own(built: list[str]) -> None:
    runner = model_runner()
    own = runner.attn_backend
    graphs = Graphs(runner, None, Speculation((1, 8)), 64)
    graphs.capture()
    with graphs.in_place(Shape(8), "rows"):
        assert runner.attn_backend == "attention uniform 8"
        assert runner.decode_cuda_graph_runner.rows == "rows"
    with graphs.in_place(Shape(40, 64), "others"):
        assert runner.decode_cuda_graph_runner.name == "ragged 64"
    assert (runner.attn_backend, runner.decode_cuda_graph_runner) == (own, "own")


@pytest.mark.parametrize(("ragged", "best"), [(True, Shape(9, 10)), (False, Shape(1))])
def test_without_graphs_only_shapes_run_that_attention_is_right_for(
    built: list[str], ragged: bool, best: Shape
) -> None:
    runner = model_runner(ragged=ragged, no_graphs=True)
    graphs = Graphs(runner, None, Speculation(), 64)
    graphs.capture()
    assert not built
    assert graphs.shapes.best([9, 1]) == best


def test_on_a_cpu_nothing_is_captured_and_any_size_runs(built: list[str]) -> None:
    runner = model_runner(device="cpu")
    graphs = Graphs(runner, None, Speculation(), 64)
    graphs.capture()
    assert not built
    assert graphs.shapes.best([3, 50, 1]) == Shape(50, 54)
    with graphs.in_place(Shape(50, 54), None):
        assert runner.decode_cuda_graph_runner == "own"
    uniform = Graphs(runner, None, Speculation(ragged=False), 64)
    assert uniform.shapes.best([3, 50, 1]) == Shape(64)

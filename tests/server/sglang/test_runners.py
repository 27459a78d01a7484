"""Which graphs are captured and replayed, on the CPU's tensors: a stand-in for SGLang's runner keeps book."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from factorspec_server.sglang import compat

OURS = ("factorspec_server.sglang.runners", "factorspec_server.sglang.verify_input")
VOCAB, HIDDEN = 6, 3


class Runner:
    """As much of SGLang's runner as ours changes, in its order of calls."""

    def __init__(self, sizes: list[int], width: int, *, ragged: bool = False) -> None:
        self.capture_bs, self.captured_req_width = sizes, width
        self.max_bs, self.device = max(sizes), "cpu"
        self.capture_forward_mode = SimpleNamespace(is_decode=lambda: False)
        self.buffers = SimpleNamespace(seq_lens=torch.zeros(self.max_bs))
        self.model_runner = SimpleNamespace(model=SimpleNamespace(forward=self._model))
        self.ragged_verify_mode = ragged
        self.capture_num_tokens = self._build_ragged_verify_token_buckets() if ragged else None
        self.captured: dict[tuple[int, str | None], Any] = {}
        self._capture_one_stream()

    def _build_ragged_verify_token_buckets(self) -> list[int]:
        raise AssertionError

    def _ragged_capture_slots(self, num_tokens: int) -> int:
        return min(num_tokens, self.max_bs)

    def _capture_ragged_verify_layout(self, num_tokens: int) -> tuple[int, int]:
        return num_tokens, self.captured_req_width

    def _make_graph_key(self, size: int, stream: object, label: str | None) -> tuple[int, str | None]:
        return size, label

    def _capture_one_stream(self, stream_idx: int | None = None) -> None:
        for size in reversed(self.capture_bs):
            self.capture_one_shape(size, self.model_runner.model.forward, stream_idx, None)

    def capture_prepare(self, size: int, stream_idx: object = None, num_tokens: int = 0) -> Any:
        spec = self.get_spec_info(num_tokens)  # type: ignore[attr-defined]
        batch = SimpleNamespace(spec_info=spec, num_tokens=num_tokens, next_token_logits_buffer=None)
        return batch, None, None

    def capture_one_shape(self, size: int, forward: Any, stream_idx: object, label: str | None) -> None:
        num_tokens = size * self.captured_req_width
        batch, _, _ = self.capture_prepare(size, stream_idx=stream_idx, num_tokens=num_tokens)
        self.captured[self._make_graph_key(size, stream_idx, label)] = batch, forward

    def _model(self, batch: Any, hidden: torch.Tensor) -> torch.Tensor:
        return hidden[batch.spec_info.select_index]

    def replay(self, size: int, hidden: torch.Tensor) -> torch.Tensor:
        batch, forward = self.captured[self._make_graph_key(size, None, self._resolve_lora_variant(None))]
        assert len(hidden) == batch.num_tokens
        found: torch.Tensor = forward(batch, hidden)
        return found

    def _resolve_lora_variant(self, batch: object) -> str | None:
        raise AssertionError


@pytest.fixture
def runners(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    input_kind = type("NgramVerifyInput", (SimpleNamespace,), {})
    kinds: dict[str, Any] = {
        "CaptureHiddenMode": SimpleNamespace(NULL=0),
        "NgramVerifyInput": input_kind,
        "DecodeCudaGraphRunner": Runner,
    }
    known: dict[str, str] = vars(compat)["_MODULES"]
    for name, kind in kinds.items():
        module = ModuleType(known[name])
        vars(module)[name] = kind
        monkeypatch.setitem(sys.modules, known[name], module)
    taken = {name: sys.modules.pop(name) for name in OURS if name in sys.modules}
    yield import_module("factorspec_server.sglang.runners")
    for name in OURS:
        sys.modules.pop(name, None)
        package, _, own = name.rpartition(".")
        vars(sys.modules[package]).pop(own, None)
    sys.modules.update(taken)


def kind_of(base: Any, most_rows: int, many_inputs: int) -> Any:
    return type("Kind", (base,), {"many": torch.zeros(most_rows, VOCAB), "many_inputs": many_inputs})


def rows_of(runner: Any) -> dict[tuple[int, str | None], int]:
    return {key: len(batch.spec_info.select_index) for key, (batch, _) in runner.captured.items()}


def test_a_width_has_a_row_for_each_request_and_small_batches_many(runners: Any) -> None:
    runner = kind_of(runners.ChainRunner, 12, 16)([1, 2, 4, 8], 4)
    label = "many rows"
    assert rows_of(runner) == {
        (1, None): 1, (2, None): 2, (4, None): 4, (8, None): 8,
        (1, label): 4, (2, label): 8, (4, label): 12,
    }  # fmt: skip
    assert runner.many_sizes == [1, 2, 4]
    assert not runner.has_many
    for (_, name), (batch, _) in runner.captured.items():
        buffer = batch.next_token_logits_buffer
        assert (buffer is None) == (name is None)
        assert buffer is None or buffer.shape == (len(batch.spec_info.select_index), VOCAB)
        assert buffer is None or buffer.data_ptr() == runner.many.data_ptr()


def test_without_guesses_nothing_is_captured_twice(runners: Any) -> None:
    runner = runners.ChainRunner([1, 2, 4], 4)
    assert rows_of(runner) == {(1, None): 1, (2, None): 2, (4, None): 4}
    assert len(runner.row_index) == 4
    assert kind_of(runners.ChainRunner, 12, 16)([1, 2], 1).many_sizes == []


def test_ragged_steps_have_as_many_rows_as_inputs_up_to_a_number(
    runners: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "TIERS", (2, 4, 8, 16, 32, 64))
    runner = kind_of(runners.RaggedRunner, 10, 16)([1, 2, 4], 8, ragged=True)
    found = rows_of(runner)
    assert {size: rows for (size, name), rows in found.items() if name is None} == {
        2: 2, 4: 4, 8: 4, 16: 4, 32: 4,
    }  # fmt: skip
    assert {size: rows for (size, name), rows in found.items() if name} == {2: 2, 4: 4, 8: 8, 16: 10}
    layouts = {batch.spec_info.ragged_verify_layout for batch, _ in runner.captured.values()}
    assert layouts == {(size, 8) for size in (2, 4, 8, 16, 32)}
    assert runner.captured_req_width == 8


def test_a_step_reads_the_rows_that_are_wanted_and_forgets_earlier_ones(runners: Any) -> None:
    runner = kind_of(runners.ChainRunner, 12, 16)([1, 2, 4, 8], 4)
    large, small = torch.arange(16 * HIDDEN).view(16, HIDDEN), torch.arange(8 * HIDDEN).view(8, HIDDEN)
    wanted = torch.tensor([0, 2, 3, 5, 9, 11, 15])
    runner.point_at(wanted, many=True)
    assert torch.equal(runner.replay(4, large)[:7], large[wanted])
    runner.point_at(torch.tensor([3, 7]), many=False)
    assert torch.equal(runner.replay(2, small), small[[3, 7]])
    runner.point_at(torch.tensor([1, 2, 7]), many=True)
    assert torch.equal(runner.replay(2, small)[:3], small[[1, 2, 7]])
    assert not runner.row_index[3:].any()

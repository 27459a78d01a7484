"""Steps in which nothing is constrained: what the model is handed, when lengths are told, what comes back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from factorspec_server.sglang import compat
from factorspec_server.sglang.step_log import StepLog
from factorspec_server.sglang.step_sharing import StepSharing
from factorspec_server.sglang.steps_running import StepsRunning

VOCAB = 16
OURS = ("factorspec_server.sglang.worker", "factorspec_server.sglang.verify_input")


class Recorded(SimpleNamespace):
    """Stands for a class of SGLang's that holds what it was made with."""

    device = "cpu"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As much of SGLang as the worker's module imports."""
    kinds: dict[str, Any] = {
        "ForwardMode": SimpleNamespace(DECODE="decode", TARGET_VERIFY="verify"),
        "CaptureHiddenMode": SimpleNamespace(NULL=0),
        "record_stream_for_v2_verify": lambda *_: None,
        "BaseSpecWorker": type("BaseSpecWorker", (), {}),
        "BaseGrammarObject": type("BaseGrammarObject", (), {}),
        "NgramVerifyInput": type("NgramVerifyInput", (Recorded,), {}),
        "GenerationBatchResult": type("GenerationBatchResult", (Recorded,), {}),
    }
    known: dict[str, str] = vars(compat)["_MODULES"]
    for name, kind in kinds.items():
        module = sys.modules.get(known[name])
        if module is None or not hasattr(module, "is_ours"):
            module = ModuleType(known[name])
            vars(module)["is_ours"] = True
            monkeypatch.setitem(sys.modules, known[name], module)
        vars(module)[name] = kind
    taken = {name: sys.modules.pop(name) for name in OURS if name in sys.modules}
    yield
    for name in OURS:
        sys.modules.pop(name, None)
    sys.modules.update(taken)


class Batch(SimpleNamespace):
    """A running batch of three requests; the model is asked for ``positions + 1`` behind each last token."""

    def __init__(self, **changes: Any) -> None:
        lengths = torch.tensor([3, 5, 4])
        pool = torch.arange(40, dtype=torch.int32).view(4, 10)
        held: dict[str, Any] = {
            "forward_mode": SimpleNamespace(is_decode=lambda: True),
            "reqs": [SimpleNamespace(grammar=None)] * 3,
            "has_grammar": False,
            "return_logprob": False,
            "seq_lens": lengths,
            "seq_lens_cpu": lengths.clone(),
            "seq_lens_sum": 12,
            "req_pool_indices": torch.tensor([2, 0, 3]),
            "req_to_token_pool": SimpleNamespace(req_to_token=pool),
            "spec_info": SimpleNamespace(last_tokens=torch.tensor([7, 8, 9])),
            "sampling_info": SimpleNamespace(vocab_mask=None, apply_logits_bias=lambda logits: None),
        }
        super().__init__(**held | changes)


def worker_of(events: list[str], seen: list[Any]) -> Any:
    """The worker, with a model whose logits prefer a token by the request's length."""

    def forward(batch: Any, *, is_verify: bool = False) -> Any:
        events.append("forward")
        seen.append(SimpleNamespace(**vars(batch)))
        logits = torch.zeros(5, VOCAB)  # a graph for more requests than there are
        logits[torch.arange(3), batch.seq_lens] = 1.0
        output = SimpleNamespace(next_token_logits=logits)
        tokens = None if is_verify else torch.tensor([1, 2, 3], dtype=torch.int32)
        return SimpleNamespace(logits_output=output, can_run_cuda_graph=True, next_token_ids=tokens)

    def sampler(output: Any, info: Any, *rest: Any) -> torch.Tensor:
        assert len(output.next_token_logits) == 3
        seen.append(rest[-1])
        drawn: torch.Tensor = output.next_token_logits.argmax(-1)
        return drawn.to(torch.int32)

    @contextmanager
    def in_place(shape: Any, rows: Any, *, many: bool) -> Iterator[None]:
        seen.append((shape, rows))
        yield

    kind: Any = import_module(OURS[0]).FactorSpecWorker
    worker = object.__new__(kind)
    vars(worker).update(
        _device="cpu",
        _target_worker=SimpleNamespace(forward_batch_generation=forward),
        _model_runner=SimpleNamespace(sampler=sampler, war_fastpath_read_done_event="set by a decode"),
        _log=StepLog(None),
        _write_tokens=None,
        _running=StepsRunning(),
        _sharing=StepSharing(),
        _graphs=SimpleNamespace(in_place=in_place, ran=lambda inputs, seconds: None),
    )
    return worker


@pytest.mark.usefixtures("modules")
def test_a_plain_step_is_a_decode_whose_lengths_are_known_before_it_runs() -> None:
    events: list[str] = []
    seen: list[Any] = []
    published: list[torch.Tensor] = []
    worker = worker_of(events, seen)

    def publish(lengths: torch.Tensor) -> None:
        events.append("publish")
        published.append(lengths)

    batch = Batch()
    result = worker.forward_batch_generation(batch, publish)
    assert events == ["publish", "forward"]
    (shape, rows), ran, positions = seen
    assert shape.is_decode and rows is None
    assert (ran.forward_mode, ran.spec_info) == ("decode", None)
    assert ran.input_ids.tolist() == [7, 8, 9]
    assert ran.out_cache_loc.tolist() == [23, 5, 34]
    assert ran.out_cache_loc.dtype == torch.int64
    assert ran.seq_lens.tolist() == ran.seq_lens_cpu.tolist() == [4, 6, 5]
    assert ran.seq_lens_sum is None  # counted anew
    assert positions.tolist() == [3, 5, 4]
    assert published[0].tolist() == result.new_seq_lens.tolist() == [4, 6, 5]
    assert (result.next_token_ids.tolist(), result.speculative_num_draft_tokens) == ([4, 6, 5], 1)
    assert (result.accept_lens.tolist(), result.accept_lens.dtype) == ([1, 1, 1], torch.int32)
    assert result.next_draft_input.last_tokens.tolist() == [4, 6, 5]
    assert worker._model_runner.war_fastpath_read_done_event is None
    worker.on_verify_complete_cpu([0, 0, 0])
    assert not len(worker._running)


@pytest.mark.usefixtures("modules")
def test_a_prefill_tells_its_lengths_before_it_runs() -> None:
    events: list[str] = []
    worker = worker_of(events, [])
    batch = Batch(forward_mode=SimpleNamespace(is_decode=lambda: False))
    result = worker.forward_batch_generation(batch, lambda lengths: events.append(str(lengths.tolist())))
    assert events == ["[3, 5, 4]", "forward"]
    assert result.next_token_ids.tolist() == [1, 2, 3]
    assert result.accept_lens.tolist() == [1, 1, 1]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("changes", [{"has_grammar": True}, {"return_logprob": True}])
def test_what_wants_rows_or_logprobs_is_no_plain_step(changes: dict[str, Any]) -> None:
    worker = worker_of([], [])
    vars(worker)["_verify"] = lambda batch, on_publish: "verified"
    assert worker.forward_batch_generation(Batch(**changes)) == "verified"

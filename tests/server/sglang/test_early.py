"""A step's tokens stand before its results are looked at: once, and only where that is the same."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_server.sglang import compat
from factorspec_server.sglang.early import EarlyTokens, prefill_processed

OURS, THEIRS = object(), object()


class Results:
    """Writes tokens to grammars as SGLang does, and says what was done in which order."""

    def __init__(self, early: EarlyTokens) -> None:
        self.done: list[str] = []
        self.goes_ahead = False
        self.model_worker = SimpleNamespace(
            tokens_stand=lambda reqs: self.done.append(f"told {reqs}"), launches_ahead=self.launches_ahead
        )
        self._early = early

    def launches_ahead(self, batch: Any, write_tokens: Callable[[], None]) -> bool:
        self.write_tokens = write_tokens
        return self.goes_ahead

    def _resolve_spec_v2_tokens(self, result: Any, batch: Any) -> Any:
        return self._early.resolve(type(self).original, self, result, batch)

    def original(self, result: Any, batch: Any) -> list[list[int]]:
        self.done.append(f"tokens {result.name}")
        return [[1, 2]]


def step(name: str, *, decodes: bool = True, algorithm: object = OURS) -> tuple[Any, Any]:
    """A batch and its result, which is copied to the host."""
    batch = SimpleNamespace(
        reqs=[name], spec_algorithm=algorithm, forward_mode=SimpleNamespace(is_decode=lambda: decodes)
    )
    return batch, SimpleNamespace(name=name, copy_done=None)


@pytest.fixture
def early() -> EarlyTokens:
    return EarlyTokens(lambda algorithm: algorithm is OURS)


def scheduler(early: EarlyTokens, *waiting: tuple[Any, Any]) -> Any:
    return SimpleNamespace(result_queue=[*waiting], batch_result_processor=Results(early))


def test_the_next_step_is_launched_before_results_are_looked_at(early: EarlyTokens) -> None:
    (last, result), (batch, _) = step("one"), step("two")
    copied: list[bool] = []
    result.copy_done = SimpleNamespace(synchronize=lambda: copied.append(True))
    found = scheduler(early, (last, result))
    assert early.results_first(True, found, batch, last_batch=last) is False
    done = found.batch_result_processor.done
    assert (copied, done) == ([True], ["tokens one", "told ['one']"])
    # later SGLang looks at the results, which asks for the tokens once more
    assert found.batch_result_processor._resolve_spec_v2_tokens(result, last) == [[1, 2]]
    assert done == ["tokens one", "told ['one']"]
    # another step's are written as ever
    other, later = step("three")
    assert found.batch_result_processor._resolve_spec_v2_tokens(later, other) == [[1, 2]]
    assert done[2:] == ["tokens three", "told ['three']"]


def test_a_step_that_is_launched_ahead_has_the_tokens_written_itself(early: EarlyTokens) -> None:
    (last, result), (batch, _) = step("one"), step("two")
    found = scheduler(early, (last, result))
    processor = found.batch_result_processor
    processor.goes_ahead = True
    assert early.results_first(True, found, batch, last_batch=last) is False
    assert processor.done == []
    processor.write_tokens()  # the worker does, once the step is launched
    assert processor.done == ["tokens one", "told ['one']"]
    assert processor._resolve_spec_v2_tokens(result, last) == [[1, 2]]
    assert processor.done == ["tokens one", "told ['one']"]


@pytest.mark.parametrize(
    "case", ["no need", "no batch", "another algorithm", "behind a prefill", "a prefill", "nothing waits"]
)
def test_all_else_is_left_as_it_is(early: EarlyTokens, case: str) -> None:
    last = step("one", decodes=case != "behind a prefill")
    batch, _ = step("two", decodes=case != "a prefill", algorithm=THEIRS if "another" in case else OURS)
    found = scheduler(early, *(() if case == "nothing waits" else (last,)))
    wanted = None if case == "no batch" else batch
    assert early.results_first(case != "no need", found, wanted, last_batch=last[0]) is None
    assert found.batch_result_processor.done == []


def test_releases_that_write_tokens_early_themselves_are_left_alone(early: EarlyTokens) -> None:
    last, (batch, _) = step("one"), step("two")
    batch.grammar_needs_sync = lambda: True
    assert early.results_first(True, scheduler(early, last), batch) is None


def test_hooks_tell_the_worker_whose_tokens_stand(early: EarlyTokens) -> None:
    found = Results(early)
    batch, result = step("one")
    prefill_processed(None, found, batch, result)
    assert found.done == ["told ['one']"]
    found.model_worker = SimpleNamespace()  # of a server without the algorithm
    prefill_processed(None, found, batch, result)
    assert early.resolve(Results.original, found, result, batch) == [[1, 2]]


@pytest.mark.parametrize(("looked_at", "committed", "found"), [(3, 12, 3), (3, 15, 6), (0, 9, 0)])
def test_tokens_whose_results_wait_count_as_written(looked_at: int, committed: int, found: int) -> None:
    request = SimpleNamespace(output_ids=[0] * looked_at, origin_input_ids=[0] * 10)
    request.kv_committed_len = committed
    assert compat.num_written(request) == found
    del request.kv_committed_len
    request.kv = SimpleNamespace(kv_committed_len=committed)
    assert compat.num_written(request) == found

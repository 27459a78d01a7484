"""A plugin for SGLang that forces the answers of requests: every engine writes the same gold tokens.

A request brings its tokens in ``custom_params`` (``{"gold": [...]}``). Behind each forward pass the logit of
the token that stands at a row's position is raised above all others, before masks and sampling: every engine
does its whole work, and what it writes is known. Rows behind wrong drafts are raised too and never looked at.

Weights may then be random (``--load-format dummy``): times are those of real ones, text is the gold text.

Where ``FACTORSPEC_BENCHMARK_STEPS`` names a file, each forward pass writes a line to it: when it was prepared
and when it was launched (seconds of ``perf_counter``), its mode and its number of requests.
"""

from __future__ import annotations

import os
from time import perf_counter
from typing import Any

import torch

from factorspec_server.sglang.compat import is_first_rank
from tests.benchmarks.serving_steps import STEPS_VARIABLE

#: most tokens of an answer; a logit that no other reaches
_MOST, _HIGH = 2048, 1e4
_NO_GOLD = -1


class Answers:
    """The tokens of the requests that run, by their places in SGLang's pool."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._gold: torch.Tensor | None = None
        self._starts: torch.Tensor | None = None
        #: of each entry of a step with branches the first of its request; None: there are no branches
        self._owners: torch.Tensor | None = None

    def note(self, batch: Any) -> None:
        """Take over the answers of requests that are new."""
        first = {id(request): at for at, request in reversed([*enumerate(batch.reqs)])}
        self._owners = None
        if len(first) < len(batch.reqs):
            owners = [first[id(request)] for request in batch.reqs]
            self._owners = torch.tensor(owners).to(batch.device, non_blocking=True)
        for request in batch.reqs:
            if request.req_pool_idx is None:
                continue  # it has ended while the step was prepared
            place = int(request.req_pool_idx)
            if self._known.get(place) != request.rid:
                self._known[place] = request.rid
                gold = (request.sampling_params.custom_params or {}).get("gold", [])[:_MOST]
                self._write(batch, place, len(request.origin_input_ids), gold)

    def _write(self, batch: Any, place: int, start: int, gold: list[int]) -> None:
        if self._gold is None or self._starts is None:
            size = batch.req_to_token_pool.req_to_token.shape[0]
            self._gold = torch.full((size, _MOST), _NO_GOLD, dtype=torch.int64, device=batch.device)
            self._starts = torch.zeros(size, dtype=torch.int64, device=batch.device)
        row = torch.full((_MOST,), _NO_GOLD, dtype=torch.int64)
        row[: len(gold)] = torch.tensor(gold, dtype=torch.int64)
        self._gold[place] = row.to(batch.device)
        self._starts[place] = start

    def force(self, forward_batch: Any, logits: torch.Tensor | None) -> None:
        """Raise the logits of the tokens that come next."""
        if (
            self._gold is None
            or self._starts is None
            or logits is None
            or forward_batch.req_pool_indices is None
        ):
            return
        requests = forward_batch.req_pool_indices
        if self._owners is not None and forward_batch.forward_mode.is_target_verify():
            requests = requests[self._owners]
        places, positions = _rows(forward_batch, requests)
        count = len(places)
        at = positions + 1 - self._starts[places]
        token = self._gold[places, at.clamp(0, _MOST - 1)]
        token = torch.where((at >= 0) & (at < _MOST), token, _NO_GOLD)
        chosen = token.clamp(min=0)[:, None]
        raised = torch.where(token[:, None] >= 0, _HIGH, logits[:count].gather(1, chosen).float())
        logits[:count].scatter_(1, chosen, raised.to(logits.dtype))


def _rows(forward_batch: Any, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row of logits the request's place, and the position of the token before the row's; ``places``:
    of each of the step's requests.
    """
    if not forward_batch.forward_mode.is_target_verify():
        return places, forward_batch.seq_lens - 1
    info = forward_batch.spec_info
    rows = getattr(info, "select_index", None)
    if rows is None:
        width = len(info.positions) // len(places)
        return places.repeat_interleave(width), info.positions
    return places[_owners(info, rows, len(places))], info.positions[rows]


def _owners(info: Any, rows: torch.Tensor, num_requests: int) -> torch.Tensor:
    """The request of each input: one behind the other in a ragged step, else each has as many."""
    layout = getattr(info, "ragged_verify_layout", None)
    if layout is None:
        return rows // (len(info.positions) // num_requests)
    counts = getattr(layout, "verify_lens", None)
    if counts is None:
        counts = torch.tensor(layout.verify_lens_cpu, device=rows.device)
    return torch.searchsorted(counts.to(torch.int64).cumsum(0), rows, right=True)


class PassLog:
    """Writes the lines of forward passes.

    Args:
        path: the file; None: nothing is written.
    """

    def __init__(self, path: str | None) -> None:
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._begin_s = 0.0

    def begin(self) -> None:
        """A pass is prepared."""
        if self._file is not None:
            self._begin_s = perf_counter()

    def end(self, forward_batch: Any) -> None:
        """It is launched. Passes that were never prepared, as those of captures, count not."""
        if self._file is not None and self._begin_s:
            mode, requests = forward_batch.forward_mode.name, forward_batch.batch_size
            os.write(self._file, f"{self._begin_s:.6f} {perf_counter():.6f} {mode} {requests}\n".encode())
            self._begin_s = 0.0


def register() -> None:
    """Entry point of the group ``sglang.srt.plugins``."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    answers, passes = Answers(), PassLog(os.environ.get(STEPS_VARIABLE))

    def noted(*arguments: Any, **options: Any) -> None:
        if is_first_rank():
            passes.begin()
        batch = options.get("batch") or arguments[1]
        if batch is not None:
            answers.note(batch)

    def forced(output: Any, _: Any, forward_batch: Any, *__: Any, **___: Any) -> Any:
        passes.end(forward_batch)
        answers.force(forward_batch, getattr(output.logits_output, "next_token_logits", None))
        return output

    HookRegistry.register(
        "sglang.srt.managers.tp_worker.TpModelWorker.forward_batch_generation", noted, HookType.BEFORE
    )
    HookRegistry.register(
        "sglang.srt.model_executor.model_runner.ModelRunner.forward", forced, HookType.AFTER
    )

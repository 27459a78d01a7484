"""Running a static batch of requests: the loop that joins sessions, drafting, model and sampling.

Each round, for every open row: commit what is certain; feed pending tokens and the drafted chain in one
forward pass, with logits at the choices only; sample at the choices in order and keep the chain as far as it
agrees. A record with n choice points takes at most n model steps, and none if it is wholly determined.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from factorspec_server.engines.errors import ModelFailed
from factorspec_server.engines.requests import Completion, Request
from factorspec_server.engines.row import Row
from factorspec_server.engines.seam import Batch, Model


def generate_batch(model: Model, requests: Sequence[Request]) -> list[Completion]:
    """Run requests together until each has ended.

    An error of one request (its session, its callback, its logits) ends that request alone; an error of the
    model ends all that are still open. Nothing is raised: errors stand in the completions.

    Returns:
        One completion for each request, in order.
    """
    rows = [_start(model, request) for request in requests]
    active = [row for row in rows if row.completion is None]
    try:
        _run(model, active)
    except Exception as error:  # noqa: BLE001 - errors must reach the requests
        failure = ModelFailed(f"the model failed while running: {error}")
        failure.__cause__ = error
        for row in active:
            row.finish("error", failure)
    return [_completion(row) for row in rows]


def _start(model: Model, request: Request) -> Row:
    row = Row(model, request)
    _guarded_advance(row)
    return row


def _run(model: Model, active: list[Row]) -> None:
    """Step until every row has ended; raises only what the model raises."""
    if not active:
        return
    batch = model.open(len(active))
    while True:
        _step(batch, active)
        still = [index for index, row in enumerate(active) if row.completion is None]
        if not still:
            return
        if len(still) < len(active):
            batch.keep(still)
            active = [active[index] for index in still]


def _step(batch: Batch, rows: Sequence[Row]) -> None:
    """One forward pass for all rows; raises only what the model raises."""
    feeds = [row.feed() for row in rows]
    started = perf_counter()
    outputs = batch.extend([tokens for tokens, _ in feeds], [wanted for _, wanted in feeds])
    step_s = perf_counter() - started
    for index, (row, logits) in enumerate(zip(rows, outputs, strict=True)):
        row.count_step(step_s)
        try:
            row.settle(logits)
        except Exception as error:  # noqa: BLE001 - one request's session must not end the others
            row.finish("error", error)
        else:
            batch.truncate(index, row.cached)
            _guarded_advance(row)


def _guarded_advance(row: Row) -> None:
    try:
        row.advance()
    except Exception as error:  # noqa: BLE001 - one request's session must not end the others
        row.finish("error", error)


def _completion(row: Row) -> Completion:
    assert row.completion is not None
    return row.completion

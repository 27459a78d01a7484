"""NATURAL PLAN trips, meetings and calendars as workloads; records are drawn from FactorSpec's own masks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.tokens import Canonical
from tests.benchmarks.masks_samples import text
from tests.benchmarks.masks_workload import Options, Task, Workload, compiled
from tests.benchmarks.natural_plan_cases import read_cases

_KINDS = {
    "trips_loose": ("trip", "loose"),
    "trips_open": ("trip", "open"),
    "meetings_plain": ("meeting", "plain"),
    "meetings_optimal": ("meeting", "optimal"),
    "calendars": ("calendar", "plain"),
}
_NOTE = 80


def workloads() -> list[Workload]:
    """One for each task and variant."""
    return [Workload(name, True, partial(_read, *kind)) for name, kind in _KINDS.items()]


def _read(kind: str, variant: str, options: Options) -> Sequence[Task] | str:
    if options.data is None or not (options.data / f"{kind}.jsonl").is_file():
        return f"no {kind}.jsonl: pass --data DIR"
    cases = read_cases(kind, variant, options.data, options.limit)
    return [
        Task(case.identifier, case.document, partial(_record, _Lazy(case.document, options.canonical)))
        for case in cases
    ]


class _Lazy:
    """A decoder that is made when it is needed."""

    def __init__(self, document: Any, canonical: Canonical) -> None:
        self._document = document
        self._canonical = canonical
        self._decoder: Decoder | None = None

    def decoder(self) -> Decoder:
        if self._decoder is None:
            spec = compiled(Task("", self._document, lambda number: number))
            vocabulary = self._canonical.vocabulary
            self._decoder = Decoder(spec.program, spec.feasibility, vocabulary, canonical=self._canonical)
        return self._decoder


def _record(lazy: _Lazy, number: int) -> Any:
    """A record drawn uniformly, token by token; its notes are replaced by English."""
    random, session = Random(number), lazy.decoder().session()
    while session.state == "open":
        _step(session, random)
    return _with_notes(json.loads(session.text), random)


def _step(session: Session, random: Random) -> None:
    plan = session.plan()
    session.commit(plan.tokens)
    if plan.choices:
        ids = plan.choices[0].allowed.ids()
        session.commit([int(ids[random.randrange(len(ids))])])


def _with_notes(record: Any, random: Random) -> Any:
    if isinstance(record, dict):
        return {
            key: text(random, 0, _NOTE) if key == "note" else _with_notes(part, random)
            for key, part in record.items()
        }
    return [_with_notes(part, random) for part in record] if isinstance(record, list) else record

"""A step thread and a worker in one process, each of which goes on when the test says so."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest

from factorspec_sdk.decoding import Plan, Session
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.constraint_service import DraftingSpec, RemoteRecord, ServiceOptions, worker
from factorspec_server.constraint_service.guess_words import guess_all
from factorspec_server.constraint_service.kept_record import KeptRecord
from factorspec_server.constraint_service.link import Link
from factorspec_server.constraint_service.memory import GUESSES, Layout, Memory
from factorspec_server.constraint_service.questions import Questions
from factorspec_server.constraint_service.record import Place
from factorspec_server.constraint_service.stats import Waits
from factorspec_server.constraint_service.step_words import PACKET_BYTES, drafting_packet
from factorspec_server.constraint_service.worker import Worker, WorkerSetup
from factorspec_server.settings import Budgets
from tests.constraint_service.pairs import Document, compiler_of

TREE = DraftingSpec(name="tree", width=24, patience_s=None, earlier=False)


class _Paused(Exception):
    """The worker stands between its certain plans and its guesses."""


@dataclass
class Stepped:
    """See above.

    Attributes:
        is_slow: the worker stands still in front of its guesses, until ``guess``.
    """

    vocabulary: Vocabulary
    memory: Memory
    rows: int
    is_slow: bool = False
    waits: Waits = field(default_factory=Waits)
    _later: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.compiler = compiler_of(self.vocabulary)
        self.link = Link(0, 0, self.memory)
        step, control = self.link.ends
        setup = WorkerSetup(0, Canonical(self.vocabulary), self.memory, step, control, Budgets())
        self.worker = Worker(setup)
        options = ServiceOptions(workers=1, deadline_s=60.0)
        self.questions = Questions(self.memory, options, cast(Any, self), self.waits)

    def draft(self, spec: DraftingSpec) -> None:
        """As ``ConstraintService.draft``."""
        self.questions.guesses = spec.is_guessing
        self.questions.looks_ahead = spec.name != "off"
        self.link.send_packet(drafting_packet(spec))

    def open(self, document: Document, slot: int, serial: int) -> tuple[RemoteRecord, Session]:
        """A record, and another session of its spec."""
        compiled, _ = self.compiler.compile(document)
        place = Place(slot, serial, self.link)
        kept = KeptRecord((slot, serial), compiled, compiled.decoder.session(), (), self.rows)
        self.worker._records[slot] = kept
        record = RemoteRecord(cast(Any, SimpleNamespace()), cast(Any, None), place)
        return record, compiled.decoder.session()

    def serve(self) -> None:
        """The worker takes what it is sent; a slow one stands still in front of the guesses."""
        step = self.worker._step
        while select.select((step,), (), (), 0)[0]:
            with suppress(_Paused):
                self.worker._take(step.recv(PACKET_BYTES))

    def guess(self) -> None:
        """The slow worker goes on."""
        later, self._later = self._later, []
        for each in later:
            each()

    def plans(self, *records: RemoteRecord) -> list[Plan | FactorspecError | None]:
        """Read what is there; nothing is waited for. None: not even a certain plan is."""
        missing = self.questions.collect(records, monotonic(), monotonic())
        return [None if record in missing else record.place.answer for record in records]

    def step(self, *records: RemoteRecord) -> list[Plan | FactorspecError | None]:
        """Ask, let the worker answer, read."""
        self.questions.ask(records)
        self.serve()
        return self.plans(*records)

    def told(self, record: RemoteRecord, kind: str, /, *, tokens: Sequence[int]) -> bytes:
        """Rows that are asked for."""
        assert kind == "row"
        row = self.memory.rows[0, 0].copy()
        self.worker._records[record.place.slot].row_behind(tokens).write_row(row)
        return bytes(row.tobytes())

    def guess_all(self, *asked: Any) -> None:
        """In place of the worker's own."""
        if not self.is_slow:
            guess_all(*asked)
            return
        step = self.link.asked

        def later() -> None:
            guess_all(*asked)
            self.worker._ring(GUESSES, step)

        self._later.append(later)
        raise _Paused


@contextmanager
def stepped(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, *, rows: int = 4) -> Iterator[Stepped]:
    """Both, with room for four records."""
    layout = Layout(workers=1, records=4, rows=rows, row_words=vocabulary.row_words, most_tokens=512)
    memory, fd = Memory.create(layout)
    made = Stepped(vocabulary, memory, rows)
    monkeypatch.setattr(worker, "guess_all", made.guess_all)
    try:
        yield made
    finally:
        ours = made.worker._wake, made.worker._woken
        for each in (*ours, made.link.step_socket, made.link.control_socket, *made.link.ends):
            each.close()
        memory.close()
        os.close(fd)

"""The service as an engine sees it.

::

    any thread    open ── document ──► worker (compiles) ──► RemoteRecord
    step thread   ask ── tokens, questions ──► workers       one packet for each worker
                  …
                  plans ◄── shared memory ──┘                one wait for all workers, and a short one for
                                                             the same plans with guesses
                  fill_row, Choice.allowed.write_row ◄── shared memory, written while the step runs
    any thread    record.finish, record.close

Where a worker dies or does not answer, ``plans`` opens its records at others, with what they have written.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple

from factorspec_sdk.decoding import OnBudget, Plan
from factorspec_sdk.errors import EngineError, FactorspecError, JsonValue, Overloaded, Problem
from factorspec_server.constraint_service.failures import WorkerLost
from factorspec_server.constraint_service.keeper import Keeper
from factorspec_server.constraint_service.link import Link
from factorspec_server.constraint_service.memory import IS_IN_ORDER, Layout, Memory
from factorspec_server.constraint_service.openings import Openings, WrittenDocument
from factorspec_server.constraint_service.options import ServiceOptions, VocabularySource
from factorspec_server.constraint_service.plan_words import cut_plan
from factorspec_server.constraint_service.questions import Questions
from factorspec_server.constraint_service.record import Opening, RemoteRecord
from factorspec_server.constraint_service.slots import Slots
from factorspec_server.constraint_service.stats import ServiceStats, Waits
from factorspec_server.constraint_service.step_words import drafting_packet
from factorspec_server.drafting import DraftingSpec
from factorspec_server.engines.errors import failure_of

#: times that a record is opened anew while one plan is waited for
_MOST_REBUILDS = 2


class Wanted(NamedTuple):
    """A record for which a plan is wanted; ``most``: tokens of the plan."""

    record: RemoteRecord
    most: int


class ConstraintService:
    """Worker processes that keep the sessions of one engine.

    ``ask`` and ``plans``, and what a record does but ``finish`` and ``close``, belong to one thread, the step
    thread; the rest may be called from any. Linux only.
    """

    def __init__(self, tokenizer: VocabularySource, options: ServiceOptions) -> None:
        """Returns at once; the vocabulary's tables are made meanwhile.

        Raises:
            EngineError: the platform has no memory that processes share without a name.
        """
        self.options = options
        self.row_words = tokenizer.row_words
        layout = Layout(
            workers=options.workers,
            records=options.records,
            rows=options.rows,
            row_words=self.row_words,
            most_tokens=options.most_tokens,
        )
        self._memory, self._memory_fd = Memory.create(layout)
        self._slots = Slots(options.records)
        self._lock = threading.Lock()
        self._drafting = DraftingSpec(name="certain")
        self._graves: list[Link] = []
        self._opening = 0
        self._is_closed = False
        self._keeper = Keeper(
            tokenizer, options, (self._memory, self._memory_fd), greet=self._greet, bury=self._graves.append
        )
        self._openings = Openings(self._keeper, options.deadline_s / 2)
        self._waits = Waits()
        self._questions = Questions(self._memory, options, self, self._waits)

    def draft(self, drafting: DraftingSpec) -> None:
        """Draft so from now on, records that are open already included: they begin anew."""
        with self._lock:
            self._drafting = drafting
            self._questions.reads_prompts = drafting.is_of_prompt
            self._questions.looks_ahead = IS_IN_ORDER and drafting.name != "off"
            self._questions.guesses = drafting.is_guessing
            for link in self._keeper.links:
                link.send_packet(drafting_packet(drafting))

    def forget(self) -> None:
        """Forget what finished records wrote, of which others guess. Any thread; does not wait."""
        for link in self._keeper.links:
            with suppress(WorkerLost):
                link.call("forget")

    def written(self, document: dict[str, JsonValue]) -> WrittenDocument:
        """A document as ``open`` takes it, for any number of records. Any thread; O(size).

        Raises:
            DocumentError: it is too large or too deep, or JSON does not hold it.
        """
        return WrittenDocument.of(document, self.options.budgets.body_bytes)

    def open(
        self,
        document: dict[str, JsonValue] | WrittenDocument,
        *,
        token_limit: int | None = None,
        on_budget: OnBudget = "narrow",
        salt: str | None = None,
    ) -> RemoteRecord:
        """A new record, as ``Decoder.session`` has it. Any thread; waits until it is compiled, at most
        ``open_deadline_s``.

        Raises:
            DocumentError: the document cannot be enforced; places are pointers into it.
            InfeasibleError: no record can satisfy it, or none within the token limit.
            DeclarationError: ``on_budget`` is none of these.
            Overloaded: all slots are taken, or too many documents wait to be compiled.
            EngineError: the tokenizer's tokens cannot be predicted exactly, no worker starts, or none opens
                the record in time.
        """
        written = document if isinstance(document, WrittenDocument) else self.written(document)
        opening = Opening(written.text, written.spec, token_limit, on_budget, salt)
        until = monotonic() + self.options.open_deadline_s
        self._begin_opening()
        try:
            slot = self._slots.take(monotonic() + self.options.deadline_s)
            try:
                return RemoteRecord(self, opening, self._openings.open(opening, slot, until))
            except BaseException:
                self._free(slot)
                raise
        finally:
            with self._lock:
                self._opening -= 1

    def ask(self, wanted: Sequence[Wanted]) -> None:
        """Send what was committed and ask for plans; returns at once.

        Asking for the same state again sends nothing. About 3 µs a record.
        """
        self._clear_graves()
        self._questions.ask([record for record, _ in wanted])

    def plans(
        self, wanted: Sequence[Wanted], *, guess_s: float | None = None
    ) -> list[Plan | FactorspecError]:
        """The plans, in order; asks what was not asked, and waits, at most ``deadline_s``.

        A record that cannot go on, or cannot be opened again after its worker died, has its error in its
        place; the others have their plans.

        Args:
            wanted: records.
            guess_s: seconds from now until which guesses are waited for, where any are drafted: a plan that
                has them later is taken without. None: until all are there, at most half of ``deadline_s``.
        """
        began, deadline_s = monotonic(), self.options.deadline_s
        until = began + deadline_s
        guesses_until = began + (deadline_s / 2 if guess_s is None else guess_s)
        records = [record for record, _ in wanted]
        self.ask(wanted)
        missing = self._questions.collect(records, began + deadline_s / 2, guesses_until)
        for _ in range(_MOST_REBUILDS):
            missing = [record for record in missing if not record.place.is_closed]
            if not missing:
                break
            missing = self._rebuild(missing, until, guesses_until)
        for record in missing:
            self._questions.fail(record, _lost(record))
        return [_cut(record, most) for record, most in wanted]

    @property
    def waited_s(self) -> float:
        """Seconds that the step thread has stood waiting for plans and rows so far."""
        return self._waits.total_s

    @property
    def waited_for_guesses_s(self) -> float:
        """Seconds of ``waited_s`` in which certain plans were there already."""
        return self._waits.guesses_s

    @property
    def worker_pids(self) -> list[int]:
        """Processes of the workers that serve now."""
        return [link.pid for link in self._keeper.links if link.pid is not None]

    def late(self, wanted: Sequence[Wanted], until: float) -> list[RemoteRecord]:
        """Those whose plan, with its guesses, is not there by ``until`` (of ``monotonic``); asks what was not
        asked.

        Unlike ``plans`` nothing is done about workers that are dead or silent.
        """
        self.ask(wanted)
        records = [record for record, _ in wanted]
        missing = self._questions.collect(records, until, until)
        return missing + self._questions.guessed_later(records)

    def await_workers(self, timeout_s: float) -> None:
        """Wait until one serves.

        Raises:
            FactorspecError: none will, or none does in time.
        """
        self._keeper.ready_links(monotonic() + timeout_s)

    def stats(self) -> ServiceStats:
        """A snapshot of what it counts."""
        keeper = self._keeper
        return ServiceStats(
            workers_alive=sum(link.ready for link in keeper.links),
            workers_replaced=keeper.replaced,
            nurseries=keeper.nurseries,
            records_open=self.options.records - self._slots.num_free,
            records_rebuilt=self._openings.rebuilt,
            asks_waiting=self._questions.num_waiting,
            compiles_waiting=self._opening,
            waits=self._waits.counts(),
            waited_s=self._waits.total_s,
        )

    def close(self) -> None:
        """End the processes. Records fail from then on. The second time nothing happens."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._keeper.close()
        self._clear_graves()
        self._memory.close()
        os.close(self._memory_fd)

    # for records

    def plan_of(self, record: RemoteRecord, /) -> Plan:
        """See ``Host``."""
        answer = self.plans([Wanted(record, self.options.most_tokens)])[0]
        if isinstance(answer, FactorspecError):
            raise answer
        return answer

    def told(self, record: RemoteRecord, kind: str, /, **fields: Any) -> Any:
        """See ``Host``."""
        value, body = self._told(record, kind, fields)
        return value if kind != "row" else body

    def text_of(self, tokens: Sequence[int], /) -> str:
        """See ``Host``."""
        until = monotonic() + self.options.deadline_s
        while True:
            link = self._keeper.ready_links(until)[0]
            with suppress(WorkerLost):
                future = link.call("text", tokens=[*tokens])
                return str(_result(future, link, until)[0])
            self._keeper.look()

    def twin_of(self, record: RemoteRecord, /) -> RemoteRecord:
        """See ``Host``."""
        until = monotonic() + self.options.deadline_s
        slot = self._slots.take(until)
        try:
            place = self._openings.reopened(slot, record, until)
        except BaseException:
            self._free(slot)
            raise
        twin = RemoteRecord(self, record.opening, place)
        twin.prompt = record.prompt
        return twin

    def release(self, record: RemoteRecord, /) -> None:
        """See ``Host``."""
        place = record.place
        with self._lock:
            if place.is_closed:
                return
            place.is_closed = True
        self._questions.forget(record)
        self._slots.leave()
        link = place.link
        link.records.discard(place.serial)
        # who reports on a record has told its tokens already
        is_news = self._drafting.remembers and not record.is_told
        told: dict[str, Any] = {"tokens": [*record.tokens]} if is_news else {}
        try:
            future = link.call("close", slot=place.slot, serial=place.serial, **told)
        except WorkerLost:
            self._slots.give_back(place.slot)
        else:
            future.add_done_callback(lambda _: self._slots.give_back(place.slot))

    def rebuild(self, record: RemoteRecord) -> None:
        """Open a record of a dead worker at another, and ask the same again.

        Raises:
            FactorspecError: that fails.
        """
        until = monotonic() + self.options.deadline_s
        failed = self._openings.reopen([record], until)
        if failed:
            raise _reason(failed[record])

    # within

    def _told(self, record: RemoteRecord, kind: str, fields: dict[str, Any]) -> Any:
        until = monotonic() + self.options.deadline_s
        for _ in range(1 + _MOST_REBUILDS):
            place = record.place
            if place.is_closed:
                raise FactorspecError("the record is closed")
            with suppress(WorkerLost):
                future = place.link.call(kind, slot=place.slot, serial=place.serial, **fields)
                return _result(future, place.link, until)
            self._keeper.look()
            self.rebuild(record)
        raise _lost(record)

    def _begin_opening(self) -> None:
        most = self.options.budgets.compile_waiting + self.options.workers
        with self._lock:
            if self._opening >= most:
                problem = Problem("compile_waiting", "too many documents wait", str(self._opening))
                raise Overloaded("no room to compile another document; try again later", [problem])
            self._opening += 1

    def _free(self, slot: int) -> None:
        self._slots.leave()
        self._slots.give_back(slot)

    def _greet(self, link: Link) -> None:
        """A new worker begins with what is drafted now."""
        with self._lock:
            link.send_packet(drafting_packet(self._drafting))

    def _rebuild(self, missing: list[RemoteRecord], until: float, guesses_until: float) -> list[RemoteRecord]:
        """Open records anew whose worker is dead, or must be killed since it does not answer."""
        for link in {record.place.link for record in missing}:
            link.kill()
        self._keeper.look()
        failed = self._openings.reopen(missing, until)
        for record, error in failed.items():
            if not isinstance(error, WorkerLost):
                self._questions.fail(record, _reason(error))
        again = [record for record in missing if record not in failed]
        self._questions.ask(again)
        still = self._questions.collect(again, until, guesses_until)
        return still + [record for record, error in failed.items() if isinstance(error, WorkerLost)]

    def _clear_graves(self) -> None:
        """The sockets of dead workers are the step thread's to close: it may wait for them."""
        while self._graves:
            self._graves.pop().step_socket.close()


def _cut(record: RemoteRecord, most: int) -> Plan | FactorspecError:
    place = record.place
    answer = place.answer
    if place.is_closed or answer is None:
        return FactorspecError("the record is closed")
    if isinstance(answer, FactorspecError) or len(answer.tokens) <= most:
        return answer
    return cut_plan(answer, most)


def _reason(error: Exception) -> FactorspecError:
    if isinstance(error, WorkerLost):
        return EngineError("the record's worker died, and so did the next ones")
    return failure_of(error)


def _lost(record: RemoteRecord) -> FactorspecError:
    problem = Problem("", f"{record.num_tokens} tokens were written", hint="ask for the record again")
    return EngineError("the record's constraint worker died and it could not be opened elsewhere", [problem])


def _result(future: Any, link: Link, until: float) -> Any:
    """An answer. A worker that has none in time is taken for dead.

    Raises:
        WorkerLost: it is dead.
        FactorspecError: the answer.
    """
    try:
        return future.result(max(0.0, (until - monotonic()) / 2))
    except TimeoutError:
        link.kill()
        raise WorkerLost from None

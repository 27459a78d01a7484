"""A constraint worker: a process that keeps sessions, forked from the nursery with the vocabulary's tables.

Three threads share it::

    main      questions of a step: tokens in, certain plans out, the bell, mask rows, the bell; then the same
              plans with guesses, where these are drafted, until the next question or for a while, the bell;
              then it looks behind choices, until the next question; then what was asked through messages
    reader    messages of the engine, in their order
    compiler  documents, one after the other; gives way to the main thread often

It ends when one of its sockets does, and is killed by the system when the nursery dies.
"""

from __future__ import annotations

import json
import logging
import os
import select
import socket
import sys
import threading
from array import array
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from factorspec_sdk.errors import DocumentError, FactorspecError, JsonValue, Problem
from factorspec_sdk.explaining.spec_report import certificate_json
from factorspec_sdk.tokens import Allowed, Canonical
from factorspec_server.constraint_service.encoded_plans import EncodedPlans
from factorspec_server.constraint_service.failures import failure_json
from factorspec_server.constraint_service.guess_words import Answered, guess_all, write_rows
from factorspec_server.constraint_service.kept_record import KeptRecord, place_record
from factorspec_server.constraint_service.looking_ahead import LookingAhead
from factorspec_server.constraint_service.memory import GUESSES, PLANS, ROWS, Memory
from factorspec_server.constraint_service.messages import BrokenMessage, Unpacker, packed
from factorspec_server.constraint_service.opening_queue import Asked, OpeningQueue
from factorspec_server.constraint_service.step_words import (
    ASK,
    DRAFT,
    PACKET_BYTES,
    PROMPT,
    Question,
    drafting_of,
    is_last,
    questions,
)
from factorspec_server.drafting import DraftingSpec
from factorspec_server.engines.errors import failure_of
from factorspec_server.engines.precedence import go_first, go_last
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.settings import Budgets

_logger = logging.getLogger(__name__)
#: the compiler lets the main thread go on after so many seconds
_GIVE_WAY_S = 0.00002
_RECEIVED_BYTES = 1 << 16
_CERTAIN = DraftingSpec(name="certain")


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What a worker is forked with.

    Attributes:
        number: of its bells.
        canonical: the vocabulary's tables.
        memory: shared with the engine.
        step: socket of the step thread's questions (packets) and of the bells.
        control: socket of messages.
        budgets: what is kept of compiled specs.
    """

    number: int
    canonical: Canonical
    memory: Memory
    step: socket.socket
    control: socket.socket
    budgets: Budgets


class Worker:
    """See above."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._number = setup.number
        self._memory = setup.memory
        self._step, self._control = setup.step, setup.control
        self._vocabulary = setup.canonical.vocabulary
        budgets = setup.budgets
        #: sweeps would stop all steps, and copy the tables
        self._housekeeping = Housekeeping(sweeps=False)
        self._compiler = Compiler(
            setup.canonical,
            max_entries=budgets.cached_specs,
            max_bytes=budgets.cached_bytes,
            housekeeping=self._housekeeping,
        )
        self._records: dict[int, KeptRecord] = {}
        self._drafting = _CERTAIN
        #: of the step whose packets come now
        self._answered: list[Answered] = []
        self._sending = threading.Lock()
        self._placing = threading.Lock()
        self._remembering = threading.Lock()
        #: how often all records were forgotten
        self._num_forgotten = 0
        self._openings = OpeningQueue(self._knows, self._open)
        self._told: deque[dict[str, Any]] = deque()
        self._wake, self._woken = socket.socketpair()
        self._ahead = LookingAhead(setup.memory, self._is_wanted)
        self._encoded = EncodedPlans(setup.memory.layout)

    def run(self) -> None:
        """Serve until the engine is gone; does not return."""
        sys.setswitchinterval(_GIVE_WAY_S)
        for task in (self._read, self._openings.open_known, self._openings.compile):
            threading.Thread(target=self._work, args=(task,), daemon=True).start()
        go_first()
        self._send({"hello": os.getpid()})
        self._guarded(self._serve)

    def _work(self, task: Callable[[], None]) -> None:
        """A thread beside the main one."""
        go_last()
        self._guarded(task)

    def _guarded(self, task: Callable[[], None]) -> None:
        """What ends a thread ends the worker: it is replaced."""
        try:
            task()
        except (ConnectionError, BrokenPipeError):
            os._exit(0)
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)

    # main thread

    def _serve(self) -> None:
        waiting = select.poll()
        waiting.register(self._step, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        step = self._step.fileno()
        while True:
            ready = dict(waiting.poll(0 if self._told else None))
            if step in ready:
                packet = self._step.recv(PACKET_BYTES)
                if not packet:
                    return
                self._take(packet)
            elif ready:
                with suppress(BlockingIOError):
                    self._woken.recv(4096, socket.MSG_DONTWAIT)
            elif self._told:  # a step comes first
                self._answer(self._told.popleft())
            self._housekeeping.look_around(is_at_rest=not self._records)

    def _take(self, packet: bytes) -> None:
        kind = packet[0]
        if kind == DRAFT:
            self._drafting = drafting_of(packet)
            return
        words = array("I", packet)
        if kind == PROMPT:
            record = self._record(words[1], words[2])
            if record is not None:
                record.add_prompt(words[3:])
        elif kind == ASK:
            self._step_over(words)

    def _step_over(self, words: array[int]) -> None:
        """Answer a step, as the bells say: plans, rows, guesses; then look behind choices."""
        step = words[1]
        drafting = self._planned_at_first
        answered: list[Answered] = []
        for slot, serial, number, most, kept, tokens in _in_turn([*questions(words)], step):
            record = self._record(slot, serial)
            if record is None:
                continue
            try:
                record.write(kept, tokens)
                plan = record.plan(drafting, most)
            except Exception as error:  # noqa: BLE001 - one record must not end the others
                plan = failure_of(error)
            record.question = number
            encoded, held = self._encoded.of(plan)
            self._memory.publish(self._memory.plan_at(slot), number, serial, encoded)
            if not isinstance(plan, FactorspecError):
                answered.append(Answered(record, number, most, held))
        if is_last(words):
            self._ring(PLANS, step)
        for each in answered:
            write_rows(self._memory, each.record, each.held)
        self._answered += answered
        if not is_last(words):
            return
        all_answered, self._answered = self._answered, []
        if self._drafting.is_guessing:
            self._ring(ROWS, step)
            records = self._records
            here = [each for each in all_answered if records.get(each.record.slot) is each.record]
            guess_all(self._memory, here, self._drafting, self._step_thread_waits)
            self._ring(GUESSES, step)
        else:
            self._memory.ring(self._number, GUESSES, step)
            self._ring(ROWS, step)
        publishes = self._drafting.name != "off"
        self._ahead.behind([each.record for each in answered], publishes=publishes)

    @property
    def _planned_at_first(self) -> DraftingSpec:
        """What a step's first answer is planned with."""
        return _CERTAIN if self._drafting.guesses else self._drafting

    def _record(self, slot: int, serial: int) -> KeptRecord | None:
        record = self._records.get(slot)
        return record if record is not None and record.serial == serial else None

    def _ring(self, which: int, step: int) -> None:
        self._memory.ring(self._number, which, step)
        if not self._memory.must_wake(self._number):
            return
        with suppress(BlockingIOError):  # bells enough lie there to wake whoever waits
            self._step.send(b"b", socket.MSG_DONTWAIT)

    def _is_wanted(self) -> bool:
        return bool(self._told) or self._has_packet()

    def _step_thread_waits(self) -> bool:
        """True if there is another step, or a row is wanted now; what else was asked has time."""
        if any(header["kind"] == "row" for header in [*self._told]):
            return True
        return self._has_packet()

    def _has_packet(self) -> bool:
        return bool(select.select((self._step,), (), (), 0)[0])

    def _answer(self, header: dict[str, Any]) -> None:
        record = self._record(header["slot"], header["serial"])
        if header["kind"] == "close":
            if record is not None:
                del self._records[record.slot]
                if "tokens" in header:
                    self._remember(record, header)
            self._send({"id": header["id"]})
            return
        try:
            if record is None:
                raise FactorspecError("the record is closed")
            if header["kind"] == "row":
                row = self._memory.rows[0, 0].copy()
                Allowed.write_row(record.row_behind(header["tokens"]), row)
                self._send({"id": header["id"]}, row.tobytes())
                return
            record.write_all(header["tokens"])
            told = record.finish(origins=header["origins"], judge=header["judge"])
            self._send({"id": header["id"], "value": told})
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            self._fail(header["id"], error)
        else:
            self._remember(record, header)

    def _remember(self, record: KeptRecord, header: dict[str, Any]) -> None:
        """Remember a record, unless all were to be forgotten since its end was told."""
        if not self._drafting.remembers:
            return
        try:
            record.write_all(header["tokens"])
            with self._remembering:
                if header["forgotten"] == self._num_forgotten:
                    record.remember()
        except FactorspecError:
            pass  # it is refused, and so not complete
        except Exception:  # nothing depends on it
            _logger.exception("a record is not remembered")

    # reader thread

    def _read(self) -> None:
        unpacker = Unpacker()
        while data := self._control.recv(_RECEIVED_BYTES):
            try:
                for header, body in unpacker.feed(data):
                    self._sort(header, body)
            except BrokenMessage:
                return

    def _sort(self, header: dict[str, Any], body: bytes) -> None:
        match header["kind"]:
            case "open":
                self._openings.put(Asked(header, body))
            case "ping":
                self._send({"id": header["id"]})
            case "forget":
                with self._remembering:
                    self._num_forgotten += 1
                    self._compiler.forget_records()
                self._send({"id": header["id"]})
            case "text":
                text = self._vocabulary.decode(header["tokens"], errors="replace")
                self._send({"id": header["id"], "value": text})
            case _:
                header["forgotten"] = self._num_forgotten
                self._told.append(header)
                self._wake.send(b"w")

    # opening threads

    def _knows(self, document: bytes) -> bool:
        return self._compiler.find_text(document) is not None

    def _open(self, asked: Asked) -> None:
        try:
            opened = self._opened(asked.header, asked.document)
        except Exception as error:  # noqa: BLE001 - told to whoever opens
            self._fail(asked.header["id"], error)
        else:
            self._send({"id": asked.header["id"], "value": opened})

    def _opened(self, header: dict[str, Any], document: bytes) -> dict[str, JsonValue]:
        known = self._compiler.find_text(document)
        compiled, was_cached = (known, True) if known else self._compiler.compile(_read_document(document))
        compiled.decoder.prepare()
        options = {name: header[name] for name in ("on_budget", "salt")}
        session = compiled.decoder.session(header["token_limit"], **options)
        slot, serial = header["slot"], header["serial"]
        record = KeptRecord((slot, serial), compiled, session, header["prompt"], self._memory.layout.rows)
        record.write(0, header["tokens"])
        self._prepare(record)
        with self._placing:
            place_record(self._records, record)
        return _facts(compiled, was_cached=was_cached)

    def _prepare(self, record: KeptRecord) -> None:
        """Work out the plan that a new record is asked for first, its words and rows, so that the step which
        asks finds all. Nothing is written to the slot: if the engine waits no more, it may be another's.
        """
        memory = self._memory
        with suppress(Exception):  # the session says so itself when it is asked
            plan = record.prepare(self._planned_at_first, memory.layout.most_tokens)
            _, held = self._encoded.of(plan)
            row = np.empty(memory.layout.row_words, dtype=np.int32)
            for allowed in held:
                allowed.write_row(row)
            memory.touch(record.slot, len(held))

    # any thread

    def _fail(self, number: int, error: Exception) -> None:
        self._send({"id": number, "error": failure_json(failure_of(error))})

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        with self._sending:
            self._control.sendall(packed(header, body))


def _in_turn(asked: list[Question], step: int) -> list[Question]:
    """The questions of a step, beginning with another one each time: the last ones get fewer guesses."""
    start = step % len(asked) if asked else 0
    return asked[start:] + asked[:start]


def _read_document(text: bytes) -> dict[str, JsonValue]:
    try:
        document: dict[str, JsonValue] = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = Problem("", f"the document cannot be read: {error}")
        raise DocumentError("the document is not well formed", [problem]) from error
    return document


def _facts(compiled: CompiledSpec, *, was_cached: bool) -> dict[str, JsonValue]:
    certificates: list[JsonValue] = [certificate_json(each) for each in compiled.certificates]
    return {
        "spec_hash": compiled.spec.hash,
        "was_cached": was_cached,
        "compile_s": compiled.compile_s,
        "certificates": certificates,
    }

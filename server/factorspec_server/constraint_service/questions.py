"""Questions of the step thread and their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Protocol

import numpy as np

from factorspec_sdk.decoding import Choice, Plan
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row
from factorspec_server.constraint_service.ahead_words import plan_ahead, words_ahead
from factorspec_server.constraint_service.failures import failure_from
from factorspec_server.constraint_service.guess_words import guessed_words
from factorspec_server.constraint_service.link import Link, wait_for
from factorspec_server.constraint_service.memory import GUESSES, IS_IN_ORDER, PLANS, ROWS, Memory
from factorspec_server.constraint_service.options import ServiceOptions
from factorspec_server.constraint_service.plan_words import ASK, CERTAIN, HEAD, decode
from factorspec_server.constraint_service.record import RemoteRecord
from factorspec_server.constraint_service.remote_row import RemoteRow
from factorspec_server.constraint_service.stats import Waits
from factorspec_server.constraint_service.step_words import Asking, prompt_packets

_MOST_NUMBER = 1 << 30
_MOST_KNOWN = 1024


class Teller(Protocol):
    """The service, as far as rows need it."""

    def told(self, record: RemoteRecord, kind: str, /, *, tokens: Sequence[int]) -> bytes:
        """What a record's worker answers."""


class Questions:
    """Asks workers about records and reads what they answer. For the step thread alone.

    Attributes:
        reads_prompts: workers need the records' prompts.
        guesses: workers answer again, with guesses, once all have their certain plans.
        looks_ahead: what workers work out ahead are the certain plans that they would answer with.
    """

    def __init__(self, memory: Memory, options: ServiceOptions, teller: Teller, waits: Waits) -> None:
        self._memory = memory
        self._options = options
        self._teller = teller
        self._waits = waits
        self._step = 0
        #: certain plans without rows by their words
        self._known: dict[bytes, Plan] = {}
        #: certain plans whose one choice has the first row, by their words
        self._alike: dict[bytes, Plan] = {}
        self._waiting: set[RemoteRecord] = set()
        self.reads_prompts = self.guesses = False
        self.looks_ahead = IS_IN_ORDER

    @property
    def num_waiting(self) -> int:
        """Records whose answers were not read yet."""
        return len(self._waiting)

    def ask(self, records: Sequence[RemoteRecord]) -> None:
        """Ask about those of which nobody has asked in the state that they are in."""
        new = self._unasked(records)
        if not new:
            return
        self._step = step = self._step % _MOST_NUMBER + 1
        for link, some in _by_link(new).items():  # the first ones plan while the others are written to
            asking = self._asking(step, some)
            link.asked = step
            for words in asking.packets:
                link.send_packet(words)

    def _asking(self, step: int, records: Sequence[RemoteRecord]) -> Asking:
        """What a worker is asked about its records."""
        asking = Asking(step)
        looks_ahead, reads_prompts, guesses = self.looks_ahead, self.reads_prompts, self.guesses
        most, waiting = self._options.most_tokens, self._waiting
        for record in records:
            place = record.place
            sent, version = place.sent, record.version
            tokens = record.tokens_from(sent)
            if looks_ahead:
                self._look_up(record, tokens)
            if reads_prompts and not place.has_prompt and record.prompt:
                _send_prompt(record)
            place.question = question = place.question % _MOST_NUMBER + 1
            asking.add(place.slot, place.serial, question, most, sent, tokens)
            place.sent, place.asked, place.step = sent + len(tokens), version, step
            place.is_guessed = guesses
            if place.answered != version:
                waiting.add(record)
        return asking

    def _unasked(self, records: Sequence[RemoteRecord]) -> list[RemoteRecord]:
        new = []
        for record in records:
            place = record.place
            if place.is_closed:
                self.fail(record, FactorspecError("the record is closed"))
            elif place.asked != record.version and place.link.alive:
                new.append(record)
        return new

    def _look_up(self, record: RemoteRecord, tokens: Sequence[int]) -> None:
        """Answer from what the worker has worked out ahead, if it has. It is asked all the same: so it goes
        along, and looks ahead again.
        """
        place, plan = record.place, record.place.answer
        if place.answered != place.asked or not isinstance(plan, Plan):
            return
        if not plan.choices or plan.choices[0].free:
            return  # behind text nobody looks
        size = plan.choices[0].node + 1
        if len(tokens) != size + 1 or tuple(tokens[:-1]) != plan.tokens[:size]:
            return
        words = words_ahead(self._memory, place.slot, place.serial, place.question, tokens[-1])
        if words is None:
            return
        key = words.tobytes()
        found = self._known.get(key)
        if found is None:
            found = plan_ahead(words)
            if found is None:
                return
            self._keep(key, found)
        place.answer, place.answered = found, record.version
        record.follow(found)

    def collect(
        self, records: Sequence[RemoteRecord], until: float, guesses_until: float
    ) -> list[RemoteRecord]:
        """Wait for the answers of records, and read them: those of each worker as soon as they are out.

        Args:
            records: were asked about.
            until: moment of ``monotonic`` until which plans are waited for.
            guesses_until: the same of guesses; a record without has its certain plan.

        Returns:
            Those without an answer: their worker is dead, or silent at ``until``.
        """
        missing: list[RemoteRecord] = []
        open_ones = []
        for record in records:
            place, version = record.place, record.version
            if place.answered == version or place.is_closed:
                continue
            if place.asked == version:
                open_ones.append(record)
            else:
                missing.append(record)

        def read(some: Sequence[RemoteRecord]) -> None:
            missing.extend([record for record in some if not self._read(record)])

        waited_s = _each_in_time(open_ones, PLANS, until, read)
        guessed = self.guessed_later(records)
        if guessed:
            guesses_s = _each_in_time(guessed, GUESSES, guesses_until, self._read_all_guesses)
            self._waits.guesses_s += guesses_s
            waited_s += guesses_s
        self._waits.add(waited_s)
        return missing

    def guessed_later(self, records: Sequence[RemoteRecord]) -> list[RemoteRecord]:
        """Those with a certain plan whose guesses may still come."""
        later = []
        for record in records:
            place, version = record.place, record.version
            is_waited_for = place.is_guessed and not place.is_closed
            if is_waited_for and place.asked == place.answered == version and isinstance(place.answer, Plan):
                later.append(record)
        return later

    def _read_all_guesses(self, records: Sequence[RemoteRecord]) -> None:
        for record in records:
            self._read_guesses(record)

    def _read_guesses(self, record: RemoteRecord) -> bool:
        """Take the answer with guesses, if it is there. The bell, looked at first, tells of the block."""
        place = record.place
        link, step = place.link, place.step
        are_all_out = link.shows(GUESSES, step) if IS_IN_ORDER else link.has(GUESSES, step)
        if not are_all_out and not IS_IN_ORDER:
            place.is_guessed = link.alive
            return False
        block = guessed_words(self._memory, place.slot, place.serial, place.question)
        place.is_guessed = block is None and not are_all_out and link.alive
        if block is None:
            return False
        found = self._decoded(record, block, b"")
        assert isinstance(found, Plan)
        self._take(record, found)
        return True

    def fail(self, record: RemoteRecord, error: FactorspecError) -> None:
        """The answer of a record in this state is an error."""
        record.place.answer, record.place.answered = error, record.version
        self._waiting.discard(record)

    def forget(self, record: RemoteRecord) -> None:
        """A record is closed. Any thread."""
        self._waiting.discard(record)

    def _read(self, record: RemoteRecord) -> bool:
        place = record.place
        memory = self._memory
        words, at = memory.words, memory.plan_at(place.slot)
        if words[at] != place.question or words[at + 1] != place.serial:
            return False
        if place.is_guessed and self._read_guesses(record):
            return True
        block = words[at + 2 : at + HEAD + words[at + HEAD - 1]]
        key = block.tobytes() if block[0] == CERTAIN else b""
        found = self._known.get(key) or self._decoded(record, block, key)
        if isinstance(found, bytes):
            self.fail(record, failure_from(json.loads(found)))
        else:
            self._take(record, found)
        return True

    def _take(self, record: RemoteRecord, plan: Plan) -> None:
        self._waiting.discard(record)
        record.place.answer, record.place.answered = plan, record.version
        record.follow(plan)

    def _decoded(self, record: RemoteRecord, block: memoryview, key: bytes) -> Plan | bytes:
        """What the words of an answer say. Text goes on for long under plans with the same words, each of
        which has a row of its own.
        """
        rows = _Rows(self, record, record.place.question)
        alike = self._alike.get(key)
        if alike is not None:
            plan, (choice,) = alike, alike.choices
            allowed = RemoteRow(choice.allowed.count, rows, choice.node, 0)
            choices = (Choice(choice.node, allowed, choice.free),)
            found = Plan(plan.tokens, plan.parents, plan.certain, choices, plan.complete, plan.kinds)
            rows.tokens, rows.parents = plan.tokens, plan.parents
            return found
        decoded = decode(block, rows.make)
        if isinstance(decoded, bytes):
            return decoded
        rows.tokens, rows.parents = decoded.tokens, decoded.parents
        if key and rows.are_none:
            self._keep(key, decoded)
        elif key and rows.is_first_alone and len(decoded.choices) == 1:
            if len(self._alike) >= _MOST_KNOWN:
                self._alike.clear()
            self._alike[key] = _without_row(decoded)
        return decoded

    def _keep(self, key: bytes, plan: Plan) -> None:
        """Records of one spec have many plans in common."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = plan

    def shared_row(self, record: RemoteRecord, question: int, serial: int, row: int) -> Row | None:
        """A row of the answer to a question, if it is still there; waits until it is written."""
        place = record.place
        if place.question != question or place.serial != serial:
            return None
        link = place.link
        if not link.has(ROWS, place.step):
            began = monotonic()
            wait_for({link: place.step}, ROWS, began + self._options.deadline_s / 2)
            self._waits.add(monotonic() - began)
            if not link.has(ROWS, place.step):
                link.kill()
                return None
        found: Row = self._memory.rows[place.slot, row]
        return found

    def asked_row(self, record: RemoteRecord, tokens: Sequence[int]) -> Row:
        """What is allowed behind tokens, asked of the record's worker. Raises as ``Host.told``."""
        data = self._teller.told(record, "row", tokens=tokens)
        return np.frombuffer(data, dtype=np.int32)


def _by_link(records: Sequence[RemoteRecord]) -> dict[Link, list[RemoteRecord]]:
    """The records of each worker."""
    found: dict[Link, list[RemoteRecord]] = {}
    for record in records:
        some = found.get(record.place.link)
        if some is None:
            found[record.place.link] = [record]
        else:
            some.append(record)
    return found


def _each_in_time(
    records: Sequence[RemoteRecord], which: int, until: float, read: Callable[[Sequence[RemoteRecord]], None]
) -> float:
    """Read the records of each worker when its bell rings, all by a moment of ``monotonic``.

    Returns:
        Seconds that it stood waiting.
    """
    by_link = _by_link(records)
    steps = {link: max(record.place.step for record in some) for link, some in by_link.items()}
    waited_s = 0.0
    while steps:
        began = monotonic()
        done = wait_for(steps, which, until) or [*steps]
        waited_s += monotonic() - began
        for link in done:  # while the others work
            del steps[link]
            read(by_link[link])
    return waited_s


def _send_prompt(record: RemoteRecord) -> None:
    place = record.place
    place.has_prompt = True
    for packet in prompt_packets(place.slot, place.serial, record.prompt):
        place.link.send_packet(packet)


def _without_row(plan: Plan) -> Plan:
    """The plan with a choice that only says how many are allowed."""
    (choice,) = plan.choices
    return replace(plan, choices=(replace(choice, allowed=Allowed(frozenset(), None, choice.allowed.count)),))


class _Rows:
    """The rows of one answer; see ``RowSource``."""

    __slots__ = (
        "_question",
        "_questions",
        "_record",
        "_serial",
        "_size",
        "_version",
        "are_none",
        "is_first_alone",
        "parents",
        "tokens",
    )

    def __init__(self, questions: Questions, record: RemoteRecord, question: int) -> None:
        self._questions = questions
        self._record = record
        self._question, self._serial = question, record.place.serial
        self._size, self._version = record.num_tokens, record.rolled_back
        #: of the plan; not itself, which holds these rows
        self.tokens: tuple[int, ...] = ()
        self.parents: tuple[int, ...] = ()
        self.are_none, self.is_first_alone = True, False

    def make(self, node: int, count: int, row: int) -> Allowed:
        self.are_none, self.is_first_alone = False, row == 0
        return RemoteRow(count, self, node, None if row == ASK else row)

    def shared(self, row: int, /) -> Row | None:
        return self._questions.shared_row(self._record, self._question, self._serial, row)

    def asked(self, node: int, /) -> Row:
        if self._record.rolled_back != self._version:
            raise ValueError("the plan is of a state that was taken back; ask for another")
        path: list[int] = []
        while node >= 0:
            path.append(self.tokens[node])
            node = self.parents[node]
        return self._questions.asked_row(self._record, [*self._record.tokens[: self._size], *reversed(path)])

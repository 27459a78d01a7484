"""Questions of the step thread and their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

import numpy as np

from factorspec_sdk.decoding import Plan
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row
from factorspec_server.constraint_service.ahead_words import IS_IN_ORDER, read_ahead
from factorspec_server.constraint_service.failures import failure_from
from factorspec_server.constraint_service.link import Link, wait_for
from factorspec_server.constraint_service.memory import Memory
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
        looks_ahead: what workers work out ahead is what would be planned.
    """

    def __init__(self, memory: Memory, options: ServiceOptions, teller: Teller, waits: Waits) -> None:
        self._memory = memory
        self._options = options
        self._teller = teller
        self._waits = waits
        self._step = 0
        #: certain plans without rows by their words
        self._known: dict[bytes, Plan] = {}
        self._waiting: set[RemoteRecord] = set()
        self.reads_prompts = False
        self.looks_ahead = IS_IN_ORDER

    @property
    def num_waiting(self) -> int:
        """Records whose answers were not read yet."""
        return len(self._waiting)

    def ask(self, records: Sequence[RemoteRecord]) -> None:
        """Ask about those of which nobody has asked in the state that they are in."""
        new = [record for record in records if self._must_ask(record)]
        if not new:
            return
        if self.looks_ahead:
            for record in new:
                self._look_up(record)
        self._step = step = self._step % _MOST_NUMBER + 1
        asking: dict[Link, Asking] = {}
        for record in new:
            place, link = record.place, record.place.link
            if self.reads_prompts and not place.has_prompt and record.prompt:
                place.has_prompt = True
                for packet in prompt_packets(place.slot, place.serial, record.prompt):
                    link.send_packet(packet)
            asked = asking.get(link)
            if asked is None:
                asked = asking[link] = Asking(step)
            place.question = place.question % _MOST_NUMBER + 1
            most = self._options.most_tokens
            asked.add(
                place.slot, place.serial, place.question, most, place.sent, record.tokens_from(place.sent)
            )
            place.sent, place.asked, place.step = record.num_tokens, record.version, step
        for link, asked in asking.items():
            link.asked = step
            for words in asked.packets:
                link.send_packet(words)
        self._waiting.update(record for record in new if record.place.answered != record.version)

    def _look_up(self, record: RemoteRecord) -> None:
        """Answer from what the worker has worked out ahead, if it has. It is asked all the same: so it goes
        along, and looks ahead again.
        """
        place, plan = record.place, record.place.answer
        if place.answered != place.asked or not isinstance(plan, Plan) or not plan.choices:
            return
        tokens = record.tokens_from(place.sent)
        if len(tokens) != len(plan.tokens) + 1 or tuple(tokens[:-1]) != plan.tokens:
            return
        found = read_ahead(self._memory, place.slot, place.serial, place.question, tokens[-1])
        if found is not None:
            place.answer, place.answered = found, record.version
            record.follow(found)

    def _must_ask(self, record: RemoteRecord) -> bool:
        place = record.place
        if place.is_closed:
            self.fail(record, FactorspecError("the record is closed"))
            return False
        return place.asked != record.version and place.link.alive

    def collect(self, records: Sequence[RemoteRecord], until: float) -> list[RemoteRecord]:
        """Wait for the answers of records, and read them.

        Returns:
            Those without: their worker is dead, or silent at ``until``.
        """
        open_ones = [
            record
            for record in records
            if record.place.answered != record.version and not record.place.is_closed
        ]
        steps: dict[Link, int] = {}
        for record in open_ones:
            place = record.place
            if place.asked == record.version:
                steps[place.link] = max(steps.get(place.link, 0), place.step)
        began = monotonic()
        wait_for(steps, Link.has_plans, until)
        self._waits.add(monotonic() - began)
        return [record for record in open_ones if not self._read(record)]

    def fail(self, record: RemoteRecord, error: FactorspecError) -> None:
        """The answer of a record in this state is an error."""
        record.place.answer, record.place.answered = error, record.version
        self._waiting.discard(record)

    def forget(self, record: RemoteRecord) -> None:
        """A record is closed. Any thread."""
        self._waiting.discard(record)

    def _read(self, record: RemoteRecord) -> bool:
        place = record.place
        words, at = self._memory.words, self._memory.plan_at(place.slot)
        if place.asked != record.version or words[at] != place.question or words[at + 1] != place.serial:
            return False
        block = words[at + 2 : at + HEAD + words[at + HEAD - 1]]
        key = block.tobytes() if block[0] == CERTAIN else b""
        rows = _Rows(self, record, place.question)
        found = self._known.get(key) or decode(block, rows.make)
        self._waiting.discard(record)
        place.answered = record.version
        if isinstance(found, bytes):
            place.answer = failure_from(json.loads(found))
            return True
        if rows.are_none and key:
            self._keep(key, found)
        rows.plan = found
        place.answer = found
        record.follow(found)
        return True

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
        if not link.has_rows(place.step):
            began = monotonic()
            wait_for({link: place.step}, Link.has_rows, began + self._options.deadline_s / 2)
            self._waits.add(monotonic() - began)
            if not link.has_rows(place.step):
                link.kill()
                return None
        found: Row = self._memory.rows[place.slot, row]
        return found

    def asked_row(self, record: RemoteRecord, tokens: Sequence[int]) -> Row:
        """What is allowed behind tokens, asked of the record's worker. Raises as ``Host.told``."""
        data = self._teller.told(record, "row", tokens=tokens)
        return np.frombuffer(data, dtype=np.int32)


class _Rows:
    """The rows of one answer; see ``RowSource``."""

    __slots__ = ("_question", "_questions", "_record", "_serial", "_size", "_version", "are_none", "plan")

    def __init__(self, questions: Questions, record: RemoteRecord, question: int) -> None:
        self._questions = questions
        self._record = record
        self._question, self._serial = question, record.place.serial
        self._size, self._version = record.num_tokens, record.rolled_back
        self.plan: Plan | None = None
        self.are_none = True

    def make(self, node: int, count: int, row: int) -> Allowed:
        self.are_none = False
        return RemoteRow(count, self, node, None if row == ASK else row)

    def shared(self, row: int, /) -> Row | None:
        return self._questions.shared_row(self._record, self._question, self._serial, row)

    def asked(self, node: int, /) -> Row:
        if self._record.rolled_back != self._version:
            raise ValueError("the plan is of a state that was taken back; ask for another")
        path: list[int] = []
        plan = self.plan
        assert plan is not None
        while node >= 0:
            path.append(plan.tokens[node])
            node = plan.parents[node]
        return self._questions.asked_row(self._record, [*self._record.tokens[: self._size], *reversed(path)])

"""Opening records: documents as bytes, the choice of a worker, and opening again what a dead one had."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from hashlib import sha256
from time import monotonic
from typing import NamedTuple

from factorspec_sdk.errors import DocumentError, EngineError, JsonValue, Problem, RequestTooLarge
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.limits import Limits
from factorspec_server.constraint_service.failures import WorkerLost
from factorspec_server.constraint_service.keeper import Keeper
from factorspec_server.constraint_service.link import Answer, Link
from factorspec_server.constraint_service.record import Opening, Place, RemoteRecord

#: workers at which a record is tried that others die of
_MOST_TRIES = 3
#: a worker that has the spec is preferred up to this load, against the least one: times, and plus
_PREFERRED_TIMES, _PREFERRED_PLUS = 1.5, 4


class WrittenDocument(NamedTuple):
    """A document as it goes to workers: made once, good for any number of records.

    Attributes:
        text: its JSON.
        spec: by which equal documents are told.
    """

    text: bytes
    spec: bytes

    @classmethod
    def of(cls, document: dict[str, JsonValue], most_bytes: int) -> WrittenDocument:
        """Raises as ``document_bytes``."""
        text = document_bytes(document, most_bytes)
        return cls(text, spec_key(text))


def document_bytes(document: dict[str, JsonValue], most_bytes: int) -> bytes:
    """The document as JSON.

    Raises:
        RequestTooLarge: it has more bytes.
        DocumentError: as ``parse_document``, of what JSON does not hold.
    """
    try:
        if _is_deep(document):
            raise RecursionError("nested too deeply")
        text = json.dumps(document).encode()
    except (RecursionError, TypeError, ValueError) as error:
        parse_document(document)
        raise DocumentError("the document cannot be written", [Problem("", str(error))]) from error
    if len(text) > most_bytes:
        problem = Problem("", f"at most {most_bytes} bytes are taken", f"{len(text)} bytes")
        raise RequestTooLarge("the document is too large", [problem])
    return text


def _is_deep(document: object) -> bool:
    """True if values nest more deeply than any document may."""
    level = [document]
    for _ in range(Limits().depth + 1):
        level = [
            each
            for value in level
            if isinstance(value, dict | list)
            for each in (value.values() if isinstance(value, dict) else value)
            if isinstance(each, dict | list)
        ]
        if not level:
            return False
    return True


class Openings:
    """Opens records at workers. Methods may be called from any thread."""

    def __init__(self, keeper: Keeper, silence_s: float) -> None:
        """``silence_s``: between questions to a worker that opens a record, and for each answer."""
        self._keeper = keeper
        self._silence_s = silence_s
        self._serials = itertools.count(1)
        #: held while a worker is chosen and counted as one that opens
        self._choosing = threading.Lock()
        self.rebuilt = 0

    def open(self, opening: Opening, slot: int, until: float) -> Place:
        """A place for a new record.

        Raises:
            FactorspecError: what the document is refused with, or no worker opens it in time.
        """
        for _ in range(_MOST_TRIES):
            place = self._placed(slot, opening, until)
            try:
                place.facts = self._wait(place.link, self._begin(place, opening, (), ()), until)
            except WorkerLost:
                continue
            except BaseException:
                place.is_closed = True
                raise
            return place
        raise EngineError(f"the record cannot be opened: {_MOST_TRIES} workers died of it")

    def reopen(self, records: list[RemoteRecord], until: float) -> dict[RemoteRecord, Exception]:
        """Open records of dead workers at others, with what they have written; together.

        Returns:
            Why, of those for which that fails.
        """
        begun: list[tuple[RemoteRecord, Place, Future[Answer]]] = []
        failed: dict[RemoteRecord, Exception] = {}
        for record in records:
            old = record.place
            try:
                place = self._placed(old.slot, record.opening, until)
                future = self._begin(place, record.opening, record.tokens, record.prompt)
                begun.append((record, place, future))
            except (WorkerLost, EngineError) as error:
                failed[record] = error
        for record, place, future in begun:
            try:
                place.facts = {**self._wait(place.link, future, until), **_first(record.place.facts)}
            except Exception as error:  # noqa: BLE001 - told as the record's failure
                failed[record] = error
                continue
            place.sent, place.has_prompt = record.num_tokens, True
            place.is_closed = record.place.is_closed
            record.place = place
            self.rebuilt += 1
        return failed

    def reopened(self, slot: int, record: RemoteRecord, until: float) -> Place:
        """Another place for what a record has written. Raises as ``open``."""
        place = self._placed(slot, record.opening, until)
        try:
            future = self._begin(place, record.opening, record.tokens, record.prompt)
            place.facts = {**self._wait(place.link, future, until), **_first(record.place.facts)}
        except WorkerLost as error:
            raise EngineError("the record cannot be copied: the worker died") from error
        place.sent, place.has_prompt = record.num_tokens, True
        return place

    def _begin(
        self, place: Place, opening: Opening, tokens: tuple[int, ...], prompt: tuple[int, ...]
    ) -> Future[Answer]:
        link = place.link
        try:
            future = link.call(
                "open",
                opening.document,
                spec=opening.spec,
                slot=place.slot,
                serial=place.serial,
                token_limit=opening.token_limit,
                on_budget=opening.on_budget,
                salt=opening.salt,
                tokens=tokens,
                prompt=prompt,
            )
        except WorkerLost:
            with self._choosing:
                link.opening -= 1
            self._keeper.look()
            raise
        future.add_done_callback(lambda done: self._opened(place, done))
        return future

    def _opened(self, place: Place, done: Future[Answer]) -> None:
        with self._choosing:
            place.link.opening -= 1
        if done.exception() is not None:
            return
        if place.is_closed:  # nobody waits for it any more
            with suppress(WorkerLost):
                place.link.call("close", slot=place.slot, serial=place.serial)
            return
        place.link.records.add(place.serial)

    def _wait(self, link: Link, future: Future[Answer], until: float) -> dict[str, JsonValue]:
        while True:
            left = max(0.0, until - monotonic())
            try:
                facts: dict[str, JsonValue] = future.result(min(left, self._silence_s))[0]
            except FutureTimeout:
                if not gives_sign(link, self._silence_s):
                    link.kill()
                    self._keeper.look()
                    raise WorkerLost from None
            else:
                return facts
            if monotonic() >= until:
                raise EngineError("the record was not opened in time: compiling it takes too long")

    def _placed(self, slot: int, opening: Opening, until: float) -> Place:
        """A place at a worker that has the spec, or else at the one with the least to do."""
        links = self._keeper.ready_links(until)
        with self._choosing:
            serial = self._next_serial()
            link = _chosen(links, opening.spec)
            link.opening += 1
            link.latest = serial
        return Place(slot, serial, link)

    def _next_serial(self) -> int:
        return next(self._serials) & 0x7FFFFFFF


def _chosen(links: Sequence[Link], spec: bytes) -> Link:
    """Those with as much to do take turns."""
    least = min(link.load for link in links)
    most = _PREFERRED_TIMES * least + _PREFERRED_PLUS
    known = [link for link in links if link.knows(spec) and link.load <= most]
    return min(known or links, key=lambda link: (link.load, link.latest))


def spec_key(document: bytes) -> bytes:
    """By which documents are told to be the same."""
    return sha256(document).digest()


def gives_sign(link: Link, timeout_s: float) -> bool:
    """True if the worker answers at all."""
    with suppress(WorkerLost, FutureTimeout):
        link.call("ping").result(timeout_s)
        return True
    return False


def _first(facts: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What is said about how a record was opened the first time."""
    return {name: facts[name] for name in ("was_cached", "compile_s") if name in facts}

"""What the masks benchmark asks of an engine; FactorSpec as one.

A record is written like this, the same for all engines::

    tokens   c c c c  *  c c c  *  *  c c       c known without a mask (skip), * a row is filled, then advance
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from time import thread_time_ns
from typing import Any, Protocol

import numpy as np

from factorspec_sdk.decoding import Decoder, Session, placed_rules
from factorspec_sdk.graph.collector import collector_paused
from factorspec_sdk.tokens import Allowed, Canonical, Vocabulary
from factorspec_sdk.tokens.masks import Row
from tests.benchmarks.masks_workload import Task, Tokens, compiled


class Walk(Protocol):
    """One record being written."""

    def skip(self, tokens: Tokens, at: int) -> int:
        """Write the tokens from ``at`` on that need no row; how many there were."""

    def fill(self, row: Row) -> None:
        """The mask of the next position, in place."""

    def advance(self, token: int) -> bool:
        """Write a token; False if it is not allowed."""

    def is_complete(self) -> bool:
        """The record may end here."""


class Spec(Protocol):
    """A compiled task."""

    notes: tuple[str, ...]

    def walk(self) -> Walk:
        """A new record."""

    def memory_bytes(self) -> int | None:
        """What the engine says that it holds, with one session; None if it does not say."""


class Engine(Protocol):
    """One library, or one way to use it.

    left_out: by task, keywords that the engine does not get; None for one that gets the document as it is.
    """

    name: str
    left_out: dict[str, Sequence[str]] | None

    def prepare(self) -> None:
        """Drop all that is kept from specs. What belongs to the vocabulary stays."""

    def compile(self, task: Task) -> Spec:
        """Compile as a server does: what the engine shares between specs is shared."""


class Refused(Exception):
    """An engine does not take a schema, or not all of its records."""


def write(walk: Walk, tokens: Tokens, row: Row) -> None:
    """Write a record: rows where one is needed."""
    at, size = walk.skip(tokens, 0), len(tokens)
    while at < size:
        walk.fill(row)
        walk.advance(tokens[at])
        at += 1
        at += walk.skip(tokens, at)


def write_timed(walk: Walk, tokens: Tokens, row: Row, rows_ns: list[int]) -> int:
    """``write``; the time of each row in ns goes to ``rows_ns``. The time of all else, in ns.

    A row's time is all that lies between the token before and the row in the buffer, with what is skipped.
    """
    at, size, other = 0, len(tokens), 0
    while True:
        began = thread_time_ns()
        at += walk.skip(tokens, at)
        if at == size:
            return other + thread_time_ns() - began
        walk.fill(row)
        filled = thread_time_ns()
        walk.advance(tokens[at])
        other += thread_time_ns() - filled
        rows_ns.append(filled - began)
        at += 1


def verify(spec: Spec, tokens: Tokens, row: Row) -> None:
    """Each token is in its row and taken, and the record is complete behind the last and not before.

    Raises:
        Refused: with the place.
    """
    walk = spec.walk()
    at = walk.skip(tokens, 0)
    while at < len(tokens):
        walk.fill(row)
        token = tokens[at]
        if not (int(row[token >> 5]) >> (token & 31)) & 1:
            raise Refused(f"token {at} of {len(tokens)} is not in its row")
        if not walk.advance(token):
            raise Refused(f"token {at} of {len(tokens)} is not taken")
        at += 1
        at += walk.skip(tokens, at)
    if not walk.is_complete():
        raise Refused("the record is not complete")


def empty_row(vocabulary: Vocabulary) -> Row:
    """(row_words,) int32: a buffer."""
    return np.zeros(vocabulary.row_words, dtype=np.int32)


class FactorspecWalk:
    """A session, driven by plans: certain runs are committed, rows are filled at choice points only.

    What the buffer holds is passed on, as an engine does for each of its rows.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._holds: Allowed | None = None

    def skip(self, tokens: Tokens, at: int) -> int:
        certain = self._session.plan().tokens
        assert certain == tokens[at : at + len(certain)], "a certain run is what the record goes on with"
        self._session.commit(certain)
        return len(certain)

    def fill(self, row: Row) -> None:
        self._holds = self._session.fill_row(row, self._holds)

    def advance(self, token: int) -> bool:
        return self._session.commit((token,)) == 1

    def is_complete(self) -> bool:
        return self._session.state == "complete"


class FactorspecSpec:
    """A decoder."""

    notes: tuple[str, ...] = ()

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder

    def walk(self) -> Walk:
        return FactorspecWalk(self.decoder.session())

    def memory_bytes(self) -> int | None:
        return None


class Factorspec:
    """FactorSpec. Free text is split as the model likes (the canonical filter is off)."""

    name = "factorspec"
    left_out: dict[str, Sequence[str]] | None = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._canonical = Canonical(vocabulary)

    def prepare(self) -> None:
        # Encoded words, literals and tails are kept beside the vocabulary, grammars of free parts by content.
        # The tables of free numbers hang on the vocabulary alone, as its bytes and digits do: they stay.
        kept = self._canonical
        for memo in (kept._words, kept._tails, kept.literal_ends, kept.digit_groups):
            memo.clear()
        placed_rules._rules.cache_clear()

    def compile(self, task: Task) -> FactorspecSpec:
        with collector_paused():
            spec = compiled(task)
            made = Decoder(spec.program, spec.feasibility, self._vocabulary, canonical=self._canonical)
            made.prepare()
        return FactorspecSpec(made)


def schema_text(task: Task, without: Sequence[str]) -> str:
    """The task's schema for a library, without some keywords."""
    return json.dumps(_without(task.schema, frozenset(without)), ensure_ascii=False)


def _without(schema: Any, keywords: frozenset[str]) -> Any:
    """Drops keywords of subschemas (a property may have the name of one)."""
    if isinstance(schema, list):
        return [_without(part, keywords) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without(part, keywords) for name, part in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)
        else _without(value, keywords)
        for key, value in schema.items()
        if key not in keywords
    }

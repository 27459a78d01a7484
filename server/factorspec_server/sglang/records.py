"""Records that requests write: sessions of this process, or of the constraint service's workers.

Both answer to the same calls (``Record``). Those of the service hold a place there (``Held``) until they are
closed; whoever hears that a request has ended asks for their counts and gives the place back.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from queue import SimpleQueue
from typing import Protocol, Self, cast, runtime_checkable

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row
from factorspec_server import drafting
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.engines.precedence import go_last
from factorspec_server.http.opening import SessionOpener, SessionOptions
from factorspec_server.http.report import written_counts
from factorspec_server.sglang.envelope import Envelope, RequestOptions

Counts = dict[str, JsonValue]

_logger = logging.getLogger(__name__)


class Record(drafting.Session, Protocol):
    """What a grammar object needs of a record; see ``factorspec_sdk.decoding.Session``."""

    @property
    def tokens(self) -> Sequence[int]:
        """The committed tokens."""

    @property
    def num_tokens(self) -> int:
        """How many."""

    @property
    def text(self) -> str:
        """Their text."""

    def commit(self, token_ids: Sequence[int], /) -> int:
        """Write tokens up to the first that is not allowed; how many were written."""

    def fill_row(self, out: Row, /) -> Allowed:
        """Write what may come next into ``out``: (row_words,) int32."""

    def rollback(self, num_tokens: int, /) -> None:
        """Take back the last tokens."""

    def copy(self) -> Self:
        """An independent record in the same state."""


@runtime_checkable
class Held(Protocol):
    """A record that somebody else keeps. Both calls may come from any thread."""

    def finish(self, *, origins: bool) -> Counts:
        """``session_counts``, ``text``, ``complete``, and ``origins`` where they are asked for; nobody writes
        any more.

        Raises:
            FactorspecError: whoever keeps it does not answer in time.
        """

    def close(self) -> None:
        """Give its place back. Does nothing the second time, never waits."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A record for one request, and what is known of its spec.

    Attributes:
        record: in which nothing is written yet.
        options: of the request.
        compile_s: seconds that compiling the spec took.
        was_cached: it was compiled for an earlier request.
        certificates: of the spec's objective (``certificate_json``).
        tool_certificates: of those of an answer's tools, by their names.
    """

    record: Record
    options: RequestOptions
    compile_s: float
    was_cached: bool
    certificates: Sequence[JsonValue] = ()
    tool_certificates: Mapping[str, Sequence[JsonValue]] = field(default_factory=dict)


def opened_here(opener: SessionOpener, envelope: Envelope) -> Opened:
    """A session in this process. Raises as ``SessionOpener.open``."""
    options = envelope.options
    wanted = SessionOptions(
        token_limit=options.token_limit,
        most_tokens=options.most_tokens,
        on_budget=options.on_budget,
        salt=envelope.salt,
    )
    found = opener.open(envelope.document, options.answer, wanted)
    return Opened(
        found.session,
        options,
        found.compile_s,
        found.was_cached,
        found.certificates,
        found.tool_certificates,
    )


def counts_of(record: Record, *, origins: bool) -> Counts:
    """What a report needs of a record that nobody writes any more, as ``Held.finish``; O(tokens).

    Raises:
        FactorspecError: whoever keeps the record does not answer in time.
    """
    if isinstance(record, Held):
        return record.finish(origins=origins)
    session = cast("Session | AnswerSession", record)
    vocabulary = session.vocabulary if isinstance(session, AnswerSession) else session.decoder.vocabulary
    return written_counts(session, vocabulary, origins=origins)


def is_cut(record: Record) -> bool:
    """True of text that ends where its token limit does; see ``AnswerSession.is_cut``."""
    return isinstance(record, AnswerSession) and record.is_cut


def has_ended(record: Record) -> bool:
    """True if a record that is complete holds the end token itself; see ``AnswerSession.has_ended``."""
    return isinstance(record, AnswerSession) and record.has_ended


def give_back(record: object) -> None:
    """Close a record that somebody else keeps, soon. May be called by destructors, which run anywhere."""
    if isinstance(record, Held) and not sys.is_finalizing():
        _closing().put(record)


@cache
def _closing() -> SimpleQueue[Held]:
    """Records for a thread to close: closing takes locks, which a destructor's thread may have."""
    waiting: SimpleQueue[Held] = SimpleQueue()
    threading.Thread(target=_close, args=(waiting,), name="factorspec-closing", daemon=True).start()
    return waiting


def _close(waiting: SimpleQueue[Held]) -> None:
    go_last()
    while True:
        try:
            waiting.get().close()
        except Exception:  # the thread must outlive whatever one record does
            _logger.exception("a record is not closed")

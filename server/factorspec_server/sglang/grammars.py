"""Grammar objects for documents with relations, as SGLang's scheduler expects them on this rank."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Protocol

from factorspec_server.sglang import compat
from factorspec_server.sglang.envelope import Envelope
from factorspec_server.sglang.ranks import Ranks
from factorspec_server.sglang.relations import OpensRecords
from factorspec_server.sglang.reports import ReportSender
from factorspec_server.sglang.session_grammar import SessionGrammar
from factorspec_server.sglang.shared_grammar import FollowingGrammar, LeadingGrammar


class Grammars(Protocol):
    """Makes grammar objects. May be called from any thread."""

    def of(self, envelope: Envelope, /) -> Any:
        """A grammar object for a request. Raises as ``OpensRecords.open``."""

    def forget_records(self) -> None:
        """See ``OpensRecords``."""


class OwnGrammars:
    """Of records that this rank opens; see ``Grammars``.

    Args:
        relations: opens them.
        reports: sends how they ended; None: nobody wants to know.
        ranks: that follow this one; None: there are none.
    """

    def __init__(
        self, relations: OpensRecords, reports: ReportSender | None = None, ranks: Ranks | None = None
    ) -> None:
        self._relations = relations
        self._reports = reports
        self._ranks = ranks

    def of(self, envelope: Envelope, /) -> Any:
        """See ``Grammars``."""
        opened = self._relations.open(envelope)
        ended = None if self._reports is None else partial(self._reports.send, opened)
        named: dict[str, Any] = {"request_id": envelope.options.id, "ended": ended}
        end_ids = self._relations.end_ids
        if self._ranks is None:
            grammar: Any = _type_of(SessionGrammar)(opened.record, end_ids[0], **named)
        else:
            grammar = _type_of(LeadingGrammar)(opened.record, end_ids, self._ranks, **named)
        grammar.grammar_stats = compat.GrammarStats(dispatch_type="json", is_cache_hit=opened.was_cached)
        return grammar

    def forget_records(self) -> None:
        """See ``OpensRecords``."""
        self._relations.forget_records()


class FollowingGrammars:
    """Of records that the first rank opens; see ``Grammars``."""

    def __init__(self, end_ids: tuple[int, ...], ranks: Ranks) -> None:
        """``end_ids``: tokens that end an answer."""
        self._end_ids = end_ids
        self._ranks = ranks

    def of(self, envelope: Envelope, /) -> Any:
        """See ``Grammars``."""
        grammar: Any = _type_of(FollowingGrammar)(self._end_ids, self._ranks)
        grammar.grammar_stats = compat.GrammarStats(dispatch_type="json", is_cache_hit=False)
        return grammar

    def forget_records(self) -> None:
        """Here there are none."""


@cache
def _type_of(grammar: type[Any]) -> type[Any]:
    """A grammar with what else SGLang expects of its grammar objects."""
    return type(f"Factorspec{grammar.__name__}", (grammar, compat.BaseGrammarObject), {})

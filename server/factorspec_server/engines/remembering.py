"""Finished records, remembered for those of the same spec that come after them (``Decoder.memories``).

Those of the same salt share records, and with no others. Calls of tools are remembered with the set of
tools that they are made under, not with other sets that share some of them. What an answer says beside its
calls, and records that may stand in place of calls, are not.
"""

from __future__ import annotations

from factorspec_sdk.decoding import Earlier, Session
from factorspec_server.engines.answer_session import AnswerSession


def earlier_of(session: object) -> Earlier | None:
    """What was remembered that a session may write again; None: nothing ever is."""
    if isinstance(session, AnswerSession):
        rules = session.rules
        decoders = rules.records if rules.calls is None else (rules.calls.first,)
        return decoders[0].memories.of(rules.salt) if decoders else None
    return session.decoder.memories.of(session.salt) if isinstance(session, Session) else None


def remember(session: object) -> None:
    """Remember what a session has written, if it is complete. O(tokens)."""
    earlier = earlier_of(session)
    if earlier is None:
        return
    if isinstance(session, Session):
        if session.state == "complete":
            earlier.remember(session.tokens)
    elif isinstance(session, AnswerSession) and session.state == "complete":
        for start, size in _remembered(session):
            earlier.remember(session.tokens[start : start + size])


def _remembered(session: AnswerSession) -> list[tuple[int, int]]:
    """Where an answer has what is remembered of it: where it begins, and how many tokens."""
    rules = session.rules
    return [
        (writing.start, writing.num_tokens)
        for writing in session.writings
        if writing.state == "complete"
        and (
            writing.session.decoder is rules.records[0]
            if rules.calls is None
            else rules.calls.writes(writing.session)
        )
    ]

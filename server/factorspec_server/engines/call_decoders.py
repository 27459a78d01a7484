"""What writes a tool call: decoders of its record, and the tokens that stand around it.

The record of a call is one of several (``graph/alternatives.py``), the tool's name and the text around its
arguments included. Tags that are added tokens of the model cannot stand in it; they are tokens around it::

    tags are text       ⟨<tool_call>\\n{"name": "book", "arguments": {…}}\\n</tool_call>⟩
    tags are tokens      <tool_call> ⟨\\n{"name": "book", "arguments": {…}}\\n⟩ </tool_call>      ⟨ record ⟩
"""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import EngineError
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.opener_watch import Opener, OpenerWatch


@dataclass(frozen=True, slots=True)
class CallTokens:
    """The fixed tokens of calls; empty where they are part of the record's text.

    Attributes:
        opening: in front of a call.
        closing: behind it.
        between: between two calls.
    """

    opening: tuple[int, ...] = ()
    closing: tuple[int, ...] = ()
    between: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallDecoders:
    """Decoders of calls, shared by requests with equal tools.

    Attributes:
        first: of a call with which an answer begins.
        inside: of one that follows other text; the same one, unless records have a leading mark.
        tokens: what stands around them.
        watch: finds the opener in text.
        num_given: tokens of the record that the opener spells.
        num_needed: tokens behind the opener with which some call surely ends.
    """

    first: Decoder
    inside: Decoder
    tokens: CallTokens
    watch: OpenerWatch
    num_given: int
    num_needed: int

    @classmethod
    def of(
        cls, first: Decoder, inside: Decoder, tokens: CallTokens, begun: str, watch: OpenerWatch
    ) -> CallDecoders:
        """Work out how much of a call the opener spells, and how long a call is.

        Args:
            first: see the attributes, as ``inside``, ``tokens`` and ``watch``.
            inside: likewise.
            tokens: likewise.
            begun: the text with which the record of every call begins, up to its name.
            watch: likewise.

        Raises:
            EngineError: the opener is spelled by no certain tokens.
        """
        sure = inside.bounds.sure(inside.opener.start()) + len(tokens.closing)
        if tokens.opening:
            return cls(first, inside, tokens, watch, 0, sure + len(tokens.opening) - 1)
        given = opener_tokens(inside.vocabulary, begun, watch.opener)
        if inside.session().plan().tokens[: len(given)] != given:
            raise EngineError(f"tool calls cannot begin with {begun!r}: its tokens are not certain")
        return cls(first, inside, tokens, watch, len(given), sure - len(given))

    @property
    def num_needed_next(self) -> int:
        """Tokens with which one more call behind a call surely ends, what stands between them included."""
        given = 1 if self.tokens.opening else self.num_given
        return len(self.tokens.between) + given + self.num_needed

    def writes(self, session: Session) -> bool:
        """True if a session is of a call."""
        return session.decoder is self.first or session.decoder is self.inside

    @property
    def num_bytes(self) -> int:
        """About the memory that they take now, in bytes."""
        decoders = {id(each): each for each in (self.first, self.inside)}
        return sum(each.num_bytes for each in decoders.values())


def opener_of(vocabulary: Vocabulary, tokens: CallTokens, tag: str, begun: str) -> Opener:
    """What begins a call within text: a token of its own, or the tokens that spell the tag.

    The last of these may reach into what every call goes on with.

    Args:
        vocabulary: of the model.
        tokens: what stands around a call's record.
        tag: the text with which every call begins.
        begun: the text with which its record begins, up to the name; the tag's too where that is no token.
    """
    if tokens.opening:
        return Opener(vocabulary.token_bytes(tokens.opening[0]), tokens.opening[0])
    data = b""
    for token_id in vocabulary.encode_inside(begun):
        if len(data) >= len(tag.encode()):
            break
        data += vocabulary.token_bytes(token_id)
    return Opener(data)


def opener_tokens(vocabulary: Vocabulary, begun: str, opener: Opener) -> tuple[int, ...]:
    """The tokens of a text opener, as they stand within text."""
    found, size = [], 0
    for token_id in vocabulary.encode_inside(begun):
        if size >= len(opener.text):
            break
        found.append(token_id)
        size += len(vocabulary.token_bytes(token_id))
    return tuple(found)

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
        cls, first: Decoder, inside: Decoder, tokens: CallTokens, tag: str, num_tokens: int
    ) -> CallDecoders:
        """Work out where the opener ends and how long a call is.

        Args:
            first: see the attributes, as ``inside`` and ``tokens``.
            inside: likewise.
            tokens: likewise.
            tag: the text with which every call begins.
            num_tokens: ids from there on are never chosen.

        Raises:
            EngineError: the tag is spelled by no certain tokens.
        """
        sure = inside.bounds.sure(inside.opener.start()) + len(tokens.closing)
        if tokens.opening:
            opener = Opener(inside.vocabulary.token_bytes(tokens.opening[0]), tokens.opening[0])
            watch = OpenerWatch(opener, inside.vocabulary, num_tokens)
            return cls(first, inside, tokens, watch, 0, sure + len(tokens.opening) - 1)
        certain = inside.session().plan().tokens
        data, num_given = b"", 0
        while len(data) < len(tag.encode()):
            if num_given == len(certain):
                raise EngineError(f"tool calls cannot begin with {tag!r}: its tokens are not certain")
            data += inside.vocabulary.token_bytes(certain[num_given])
            num_given += 1
        watch = OpenerWatch(Opener(data), inside.vocabulary, num_tokens)
        return cls(first, inside, tokens, watch, num_given, sure - num_given)

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

"""What is held back between two decisions, and what stands after one."""

from __future__ import annotations

from typing import NamedTuple


class Held(NamedTuple):
    """Text after a cut whose tokens may still change, and how many of its tokens are given out already."""

    text: str
    emitted: int


NOTHING_HELD = Held("", 0)


class Continuation(NamedTuple):
    """What stands after a candidate.

    Attributes:
        literal: the text up to the next decision.
        following: the characters of which one comes after the literal; empty: not known.
        final: the record ends after the literal.
    """

    literal: str
    following: str = ""
    final: bool = False


class LiteralEnd(NamedTuple):
    """A literal from its first inner cut on: the same for every candidate before it.

    Attributes:
        begin: the literal up to that cut.
        tokens: certain tokens from there on.
        held: what is held after them.
    """

    begin: str
    tokens: tuple[int, ...]
    held: Held

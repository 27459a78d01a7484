"""What a session tells an engine: the tokens to run next, and where the model decides.

::

    committed | c c c c * g c c * ...        c certain   g guessed   * the model decides here
              node 0 1 2 3   4 5 6

A plan is a chain in this version: the parent of node i is node i - 1, that of node 0 is -1 (what is
committed). ``Choice.node`` is the node after which the model decides; -1 is right after what is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from factorspec_sdk.tokens import Allowed


@dataclass(frozen=True, slots=True)
class Choice:
    """A position where the model decides.

    Attributes:
        node: index into ``Plan.tokens`` of the token before the position; -1: what is committed.
        allowed: the tokens that may come, at least two.
        free: some of them are free text.
    """

    node: int
    allowed: Allowed
    free: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Tokens to run next, as a chain.

    Attributes:
        tokens: certain tokens, and guesses each followed by what is certain after it.
        parents: for each token the node before it; ``parents[i] == i - 1``.
        certain: for each token whether the spec determines it, given the tokens before it.
        choices: one for each position of the chain where the model decides, ascending by node. The last one
            stands after the last token unless the record is complete there.
        complete: all of ``tokens`` are certain, and with them the record is complete.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    certain: tuple[bool, ...]
    choices: tuple[Choice, ...]
    complete: bool

    @property
    def num_certain(self) -> int:
        """How many of the first tokens are certain."""
        return next((at for at, certain in enumerate(self.certain) if not certain), len(self.certain))


class GuessPolicy(Protocol):
    """Proposes what the model may choose. Never changes what is written, only how fast (P3)."""

    def __call__(self, tokens: Sequence[int], allowed: Allowed, free: bool, /) -> int | None:
        """A token of ``allowed`` to draft after ``tokens`` (all of the record so far), or None to stop.

        A token that is not allowed counts as None.
        """

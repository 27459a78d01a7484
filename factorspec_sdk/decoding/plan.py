"""What a session tells an engine: the tokens to run next, and where the model decides.

::

    committed | c c c c *─ b c c *─ b c ...     c certain, given the tokens before it
              |         ├─ b c *                b the first token of a branch: a guess
              |         └─ b c c c              * the model decides here
         node   0 1 2 3    4 5 6 ...

A plan is a tree. Its trunk, the first nodes, is the certain run behind what is committed; each further branch
begins with a guess of what the model decides at some choice and goes on with what is certain behind it.

Invariants:

- ``parents[i] < i``; -1 is what is committed. The trunk's nodes are 0, 1, … each behind the one before.
- A node is either a child of one choice (``certain[i]`` is False) or certain, and then the only node behind
  its parent. A choice's children stand behind ``Choice.node``, have distinct tokens, and all are allowed.
- Choices ascend by node, one for each node at most.
- A leaf has a choice behind it, or completes the record, or is where the width ended.

Verification, lossless: follow the trunk; at a choice sample under the whole ``allowed``; if the token is a
child's, go on there and along its certain run to the next choice, else the token is the last one that stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from factorspec_sdk.tokens import Allowed

#: what brought a node into a plan: the trunk, a guess of a decision, of free text, from an earlier record
DraftKind = Literal["certain", "branch", "text", "earlier"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A position where the model decides.

    Attributes:
        node: index into ``Plan.tokens`` of the token before the position; -1: what is committed.
        allowed: the tokens that may come, at least two.
        free: some of them are free text.
        children: the nodes that are drafted as the decision's token, the likeliest first.
    """

    node: int
    allowed: Allowed
    free: bool = False
    children: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Tokens to run next, as a tree.

    Attributes:
        tokens: certain tokens, and guesses each followed by what is certain after it.
        parents: for each token the node before it; -1: what is committed.
        certain: for each token whether the spec determines it, given the tokens before it.
        choices: the positions where the model decides, ascending by node.
        complete: all of ``tokens`` are certain, and with them the record is complete.
        kinds: for each token what brought it in; a certain token behind a guess has the guess's kind.
        chances: for each token the estimated chance that it stands; empty: no more is known of guesses.
        ends: of a plan with guesses, the nodes with which the record is complete.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    certain: tuple[bool, ...]
    choices: tuple[Choice, ...]
    complete: bool
    kinds: tuple[DraftKind, ...]
    chances: tuple[float, ...] = ()
    ends: tuple[int, ...] = ()

    @property
    def num_certain(self) -> int:
        """How many tokens the trunk has; none of them can fail."""
        return next((at for at, kind in enumerate(self.kinds) if kind != "certain"), len(self.kinds))


class Guess(NamedTuple):
    """A token that may be drafted where the model decides.

    Attributes:
        token: one of the allowed ones.
        weight: the estimated chance that the model takes it there, 0 to 1; those of a position's guesses need
            not add up to 1, and are never made to.
        kind: what is guessed.
        note: whatever the policy wants to find in ``Position.note`` behind this guess.
    """

    token: int
    weight: float
    kind: DraftKind = "branch"
    note: object = None


class Position(Protocol):
    """A place of a plan where the model decides, as a policy sees it."""

    @property
    def allowed(self) -> Allowed:
        """The tokens that may come."""

    @property
    def free(self) -> bool:
        """Some of them are free text."""

    @property
    def note(self) -> object:
        """The note of the last guess before this place; None in front of the first."""

    @property
    def chance(self) -> float:
        """The estimated chance that verification gets here: the product of the weights on the way."""

    def tokens(self) -> Sequence[int]:
        """All of the record's tokens before this place. O(tokens) when first asked."""

    def run(self, token: int) -> Sequence[int] | None:
        """What is certain behind an allowed token; None if a budget or the time ends there. Kept."""


class GuessPolicy(Protocol):
    """Proposes what the model may choose. Never changes what is written, only how fast (P3)."""

    def __call__(self, position: Position, /) -> Sequence[Guess]:
        """The tokens to draft there, if there is room for them; none: nothing is drafted behind.

        Tokens that are not allowed, or come twice, are left out.
        """


class Shape(Protocol):
    """Decides how large a plan is worth being."""

    def __call__(self, chances: Sequence[float], /) -> int:
        """How many of the first nodes are kept.

        Args:
            chances: for each node that there is room for, the estimated chance that it stands; descending.
        """

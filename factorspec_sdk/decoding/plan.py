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
from typing import Literal, Protocol

from factorspec_sdk.tokens import Allowed

#: what brought a node into a plan: the trunk, the guess of a decision, a guess of free text
DraftKind = Literal["certain", "branch", "text"]


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
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    certain: tuple[bool, ...]
    choices: tuple[Choice, ...]
    complete: bool
    kinds: tuple[DraftKind, ...]

    @property
    def num_certain(self) -> int:
        """How many tokens the trunk has; none of them can fail."""
        return next((at for at, kind in enumerate(self.kinds) if kind != "certain"), len(self.kinds))


class GuessPolicy(Protocol):
    """Proposes what the model may choose. Never changes what is written, only how fast (P3)."""

    def __call__(self, tokens: Sequence[int], allowed: Allowed, free: bool, /) -> int | None:
        """A token of ``allowed`` to draft after ``tokens`` (all of the record so far), or None to stop.

        A token that is not allowed counts as None.
        """

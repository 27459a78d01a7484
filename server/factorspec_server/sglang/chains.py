"""What one request runs in a verify step: a chain of tokens behind its last one, and where the model decides.

::

    last │ c c c g c c        c certain, g guessed
         │       ^ decision   ^ decision, or a certain token that did not fit (``then``)
    offset 0 1 2 3 4 5 6

The logits read at offset ``n`` are those behind the last token and the first ``n`` of the chain; they decide
what stands at ``n``. Everything between two decisions is certain and is accepted without a look at logits.

Invariants:

- Decisions ascend by offset. Each but the last has a guess: the chain's token at its offset.
- The last decision stands behind the whole chain, and then there is no ``then``; or there is ``then``, and no
  decision stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from factorspec_server.drafting.seam import Allowed, DraftKind, Plan


class Decision(NamedTuple):
    """A place where the model decides.

    Attributes:
        offset: tokens of the chain before it.
        allowed: what may come there; None: whatever the request's own mask says.
        chance: that the chain's token there stands, and all before it, as estimated; 1 where there is none.
        kind: what brought that token in.
    """

    offset: int
    allowed: Allowed | None
    chance: float = 1.0
    kind: DraftKind = "branch"


@dataclass(frozen=True, slots=True)
class Chain:
    """See above.

    Attributes:
        tokens: certain tokens and guesses.
        decisions: ascending by offset.
        then: the certain token behind the chain; None: the model decides there.
    """

    tokens: tuple[int, ...] = ()
    decisions: tuple[Decision, ...] = (Decision(0, None),)
    then: int | None = None

    def __post_init__(self) -> None:
        ends = bool(self.decisions) and self.decisions[-1].offset == len(self.tokens)
        assert ends != (self.then is not None), "a chain ends with a decision or with a certain token"

    @property
    def num_certain(self) -> int:
        """Tokens in front of the first decision; they stand in any case."""
        return self.decisions[0].offset if self.decisions else len(self.tokens)

    @property
    def num_rows(self) -> int:
        """Rows of logits that the chain takes: one for each decision, and one where there is none."""
        return len(self.decisions) or 1

    @property
    def row_offsets(self) -> Sequence[int]:
        """Tokens of the chain before each of its rows."""
        return [decision.offset for decision in self.decisions] or [len(self.tokens)]

    @property
    def is_certain(self) -> bool:
        """True if nothing in it is a guess."""
        return not self.decisions or self.decisions[0].offset == len(self.tokens)

    def cut(self, most: int) -> Chain:
        """The chain's first ``most`` tokens; what comes behind them is known or decided as before."""
        if len(self.tokens) <= most:
            return self
        kept = tuple(decision for decision in self.decisions if decision.offset <= most)
        is_decided = bool(kept) and kept[-1].offset == most
        return Chain(self.tokens[:most], kept, None if is_decided else self.tokens[most])


#: one token, decided by the request's own mask
ONE_TOKEN = Chain()


def chain_of(plan: Plan, end_token: int) -> Chain:
    """The plan's likeliest path.

    Args:
        plan: of a session; each choice's first child is its likeliest.
        end_token: what is written behind a complete record.
    """
    if False not in plan.certain:  # the usual case, without a walk
        if plan.choices:
            return Chain(plan.tokens, (Decision(len(plan.tokens), plan.choices[0].allowed),))
        if plan.complete:
            return Chain(plan.tokens, (), end_token)
        return _ended(plan.tokens, (), None)  # a run that was cut somewhere
    return _likeliest(plan, end_token)


def _likeliest(plan: Plan, end_token: int) -> Chain:
    decided = {choice.node: choice for choice in plan.choices}
    certain = {plan.parents[node]: node for node, sure in enumerate(plan.certain) if sure}
    tokens: list[int] = []
    decisions: list[Decision] = []
    at: int | None = -1
    last = -1
    while at is not None:
        last = at
        choice = decided.get(at)
        if choice is None:
            at = certain.get(at)
        else:
            at = choice.children[0] if choice.children else None
            decisions.append(_decision(plan, len(tokens), choice.allowed, at))
        if at is not None:
            tokens.append(plan.tokens[at])
    return _ended(tokens, decisions, end_token if plan.complete or last in plan.ends else None)


def _decision(plan: Plan, offset: int, allowed: Allowed, guess: int | None) -> Decision:
    if guess is None:
        return Decision(offset, allowed)
    return Decision(offset, allowed, plan.chances[guess] if plan.chances else 1.0, plan.kinds[guess])


def _ended(tokens: Sequence[int], decisions: Sequence[Decision], then: int | None) -> Chain:
    """The chain of a path that may break off where the plan's width ended: its last token waits then."""
    last = decisions[-1].offset if decisions else -1
    if last == len(tokens) or then is not None:
        return Chain(tuple(tokens), tuple(decisions), then)
    if last == len(tokens) - 1:  # a guess, and nothing is known behind it
        return Chain(tuple(tokens[:-1]), tuple(decisions))
    return Chain(tuple(tokens[:-1]), tuple(decisions), tokens[-1])

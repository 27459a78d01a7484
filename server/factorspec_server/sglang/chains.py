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

Where other tokens than the guess are likely, too, branches run beside the chain: each begins with one of them
and is a chain behind it, as the chain of the request is one behind its last token. All of them together are
the request's entries, numbered from 0, the chain itself; each stands behind the one that it hangs from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
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


class Branch(NamedTuple):
    """What runs for another token than the guess.

    Attributes:
        parent: the entry that it hangs from.
        decision: index of the decision there; the entry goes on behind it.
        token: the other token.
        chain: what is certain and guessed behind it, without branches of its own.
        chance: that the token stands, and all before it, as estimated.
        kind: what brought it in.
    """

    parent: int
    decision: int
    token: int
    chain: Chain
    chance: float = 1.0
    kind: DraftKind = "branch"

    @property
    def size(self) -> int:
        """Tokens that run for it."""
        return 1 + len(self.chain.tokens)


@dataclass(frozen=True, slots=True)
class Chain:
    """See above.

    Attributes:
        tokens: certain tokens and guesses.
        decisions: ascending by offset.
        then: the certain token behind the chain; None: the model decides there.
        branches: of a request's chain, each behind its parent.
    """

    tokens: tuple[int, ...] = ()
    decisions: tuple[Decision, ...] = (Decision(0, None),)
    then: int | None = None
    branches: tuple[Branch, ...] = ()

    def __post_init__(self) -> None:
        ends = bool(self.decisions) and self.decisions[-1].offset == len(self.tokens)
        assert ends != (self.then is not None), "a chain ends with a decision or with a certain token"

    @property
    def entries(self) -> Sequence[Chain]:
        """The chain and those of its branches."""
        return [self, *(branch.chain for branch in self.branches)] if self.branches else (self,)

    @property
    def befores(self) -> Sequence[int]:
        """Of each entry, the tokens of the request's path in front of its first decision or token: 0 of the
        chain, of a branch one more than it shares with the others.
        """
        found, entries = [0], self.entries
        for branch in self.branches:
            found.append(found[branch.parent] + entries[branch.parent].decisions[branch.decision].offset + 1)
        return found

    @property
    def num_drafted(self) -> int:
        """Tokens that run behind the request's last one, branches included."""
        return len(self.tokens) + sum(branch.size for branch in self.branches)

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
        """What runs in ``most`` places: the chain's first tokens, and of its branches what there is room for,
        in order. What comes behind them is known or decided as before.

        Branches run behind the places of the longest path (``step_branches.py``), so that it takes more
        than the tokens' number if one is longer than the chain.
        """
        if not self.branches:
            return self._cut(most)
        longest, left = len(self.tokens), most
        sizes = [most]
        for branch, before in zip(self.branches, self.befores[1:], strict=True):
            shared = before - 1
            size = max(0, min(branch.size, left - longest, (left - shared) // 2))
            longest = max(longest, shared + size)
            left -= size
            sizes.append(size)
        return self.pruned(sizes)

    def pruned(self, sizes: Sequence[int]) -> Chain:
        """Of each entry so many tokens: of a branch its first one included, 0: it does not run.

        What hangs from where nothing runs any more goes with it.
        """
        chain = self._cut(sizes[0])
        if not self.branches:
            return chain
        numbers, entries, branches = {0: 0}, [chain], list[Branch]()
        for at, (branch, size) in enumerate(zip(self.branches, sizes[1:], strict=True), 1):
            parent = numbers.get(branch.parent)
            if size and parent is not None and entries[parent].has_guess(branch.decision):
                numbers[at] = len(entries)
                entries.append(branch.chain._cut(size - 1))  # noqa: SLF001
                branches.append(branch._replace(parent=parent, chain=entries[-1]))
        return Chain(chain.tokens, chain.decisions, chain.then, tuple(branches))

    def has_guess(self, decision: int) -> bool:
        """True if the chain goes on behind that decision."""
        return decision < len(self.decisions) and self.decisions[decision].offset < len(self.tokens)

    def _cut(self, most: int) -> Chain:
        if len(self.tokens) <= most:
            return self if not self.branches else Chain(self.tokens, self.decisions, self.then)
        kept = tuple(decision for decision in self.decisions if decision.offset <= most)
        is_decided = bool(kept) and kept[-1].offset == most
        return Chain(self.tokens[:most], kept, None if is_decided else self.tokens[most])


#: one token, decided by the request's own mask
ONE_TOKEN = Chain()


def chain_of(plan: Plan, end_token: int) -> Chain:
    """What the plan has: its likeliest path, and branches where it guesses several tokens.

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
    walk = _Walk(plan, end_token)
    chain, others = walk.path(-1)
    branches: list[Branch] = []
    waiting = [(-walk.chance(node), 0, decision, node) for decision, node in others]
    heapify(waiting)
    while waiting:  # the likeliest first, so that parents come before what hangs from them
        chance, parent, decision, node = heappop(waiting)
        behind, others = walk.path(node)
        if behind is not None:
            branches.append(Branch(parent, decision, plan.tokens[node], behind, -chance, plan.kinds[node]))
            for at, other in others:
                heappush(waiting, (-walk.chance(other), len(branches), at, other))
    assert chain is not None
    return replace(chain, branches=tuple(branches)) if branches else chain


class _Walk:
    """Paths of a plan with guesses."""

    def __init__(self, plan: Plan, end_token: int) -> None:
        self._plan = plan
        self._end_token = end_token
        self._decided = {choice.node: choice for choice in plan.choices}
        self._certain = {plan.parents[node]: node for node, sure in enumerate(plan.certain) if sure}

    def chance(self, node: int) -> float:
        """That the node stands, and all before it."""
        return self._plan.chances[node] if self._plan.chances else 1.0

    def path(self, node: int) -> tuple[Chain | None, list[tuple[int, int]]]:
        """The likeliest path behind a node, and the other guesses at its decisions: (decision, node).

        None: of what comes behind the node nothing is known, so that it cannot run; behind -1 something is.
        """
        plan = self._plan
        tokens: list[int] = []
        decisions: list[Decision] = []
        others: list[tuple[int, int]] = []
        last, at = node, self._next(node)
        while True:
            choice = self._decided.get(last)
            if choice is not None:
                others += [(len(decisions), other) for other in choice.children[1:]]
                decisions.append(self._decision(len(tokens), choice.allowed, at))
            if at is None:
                break
            tokens.append(plan.tokens[at])
            last, at = at, self._next(at)
        ends = plan.complete or last in plan.ends
        if not (tokens or decisions or ends or node < 0):
            return None, []
        chain = _ended(tokens, decisions, self._end_token if ends else None)
        return chain, [(decision, other) for decision, other in others if chain.has_guess(decision)]

    def _next(self, node: int) -> int | None:
        """The node that comes next: the certain one, or the likeliest guess."""
        choice = self._decided.get(node)
        if choice is None:
            return self._certain.get(node)
        return choice.children[0] if choice.children else None

    def _decision(self, offset: int, allowed: Allowed, guess: int | None) -> Decision:
        if guess is None:
            return Decision(offset, allowed)
        return Decision(offset, allowed, self.chance(guess), self._plan.kinds[guess])


def _ended(tokens: Sequence[int], decisions: Sequence[Decision], then: int | None) -> Chain:
    """The chain of a path that may break off where the plan's width ended: its last token waits then."""
    last = decisions[-1].offset if decisions else -1
    if last == len(tokens) or then is not None:
        return Chain(tuple(tokens), tuple(decisions), then)
    if last == len(tokens) - 1:  # a guess, and nothing is known behind it
        return Chain(tuple(tokens[:-1]), tuple(decisions))
    return Chain(tuple(tokens[:-1]), tuple(decisions), tokens[-1])

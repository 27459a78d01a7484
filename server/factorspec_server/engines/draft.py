"""The part of a plan that a row runs in one step, and the walk along it once the logits are there.

::

    committed, trunk │ *─ b c c *─ b c         choices *, children b, certain c
                     │  └ b c *                only what has a choice behind it runs: not the last ``b c``

The trunk is certain: the row commits it at once, and the draft is what stands behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from factorspec_server.drafting.seam import Choice, DraftKind, FloatArray, Plan

Choose = Callable[[Choice, FloatArray, Sequence[int]], int]
"""The token that stands at a choice, from its logits and the number of drafted tokens before it."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What stands after verification.

    Attributes:
        tokens: the tokens that stand, the last one drawn or drafted.
        nodes: those of them that were drafted, as nodes of the draft.
        decided: the choices on the way.
    """

    tokens: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    decided: list[Choice] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan without its trunk, cut to what there is room for.

    Attributes:
        tokens: drafted tokens, a tree.
        parents: for each the node before it; -1 is the end of the trunk.
        certain: for each whether the spec determines it, given those before it.
        kinds: for each what brought it in.
        choices: where the model decides, ascending; nodes are the draft's own.
        run: the nodes that have a choice at or behind them, ascending: these run, the others need no logits.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    certain: tuple[bool, ...]
    kinds: tuple[DraftKind, ...]
    choices: tuple[Choice, ...]
    run: tuple[int, ...]

    @classmethod
    def of(cls, plan: Plan, trunk: int, room: int, *, as_chain: bool = False) -> Draft:
        """What stands behind the first ``trunk`` tokens, where ``room`` tokens may still be written.

        Args:
            plan: of a session that has not written those tokens yet.
            trunk: certain tokens at the plan's beginning.
            room: most tokens behind them.
            as_chain: keep one child of each choice only.
        """
        first = {child for choice in plan.choices for child in choice.children[:1]}
        place: dict[int, int] = {trunk - 1: -1}  # from the plan's nodes to the draft's
        depths: dict[int, int] = {trunk - 1: 0}  # tokens up to and with the node
        nodes: list[int] = []
        for node in range(trunk, len(plan.tokens)):
            parent = plan.parents[node]
            guessed = not plan.certain[node]
            if parent in place and depths[parent] < room and (not as_chain or not guessed or node in first):
                place[node], depths[node] = len(nodes), depths[parent] + 1
                nodes.append(node)
        choices = tuple(
            Choice(place[choice.node], choice.allowed, choice.free, _placed(choice.children, place))
            for choice in plan.choices
            if choice.node in place and depths[choice.node] < room
        )
        parents = tuple(place[plan.parents[node]] for node in nodes)
        return cls(
            tokens=tuple(plan.tokens[node] for node in nodes),
            parents=parents,
            certain=tuple(plan.certain[node] for node in nodes),
            kinds=tuple(plan.kinds[node] for node in nodes),
            choices=choices,
            run=_leading_to(choices, parents),
        )

    def cut(self, num_run: int) -> Draft:
        """The draft with no more than ``num_run`` tokens to run."""
        if len(self.run) <= num_run:
            return self
        kept = set(self.run[:num_run])
        choices = tuple(choice for choice in self.choices if choice.node == -1 or choice.node in kept)
        return replace(self, choices=choices, run=_leading_to(choices, self.parents))

    def walk(self, logits: Sequence[FloatArray], choose: Choose) -> Walk:
        """Verify: follow what is certain, draw at each choice, and go on where the draw was drafted.

        Args:
            logits: one array for each choice.
            choose: draws a token behind those that the walk has come by.
        """
        decisions = {choice.node: (choice, found) for choice, found in zip(self.choices, logits, strict=True)}
        certain = {self.parents[node]: node for node, sure in enumerate(self.certain) if sure}
        walk, at = Walk(), -1
        while True:
            if at in decisions:
                choice, found = decisions[at]
                token = choose(choice, found, walk.tokens)
                walk.decided.append(choice)
                drafted = next((node for node in choice.children if self.tokens[node] == token), None)
                if drafted is None:
                    walk.tokens.append(token)
                    return walk
            else:
                drafted = certain.get(at)
                if drafted is None:
                    return walk
            walk.tokens.append(self.tokens[drafted])
            walk.nodes.append(drafted)
            at = drafted


def _placed(nodes: Sequence[int], place: dict[int, int]) -> tuple[int, ...]:
    return tuple(place[node] for node in nodes if node in place)


def _leading_to(choices: Sequence[Choice], parents: Sequence[int]) -> tuple[int, ...]:
    """The nodes at or before some choice, ascending."""
    found: set[int] = set()
    for choice in choices:
        node = choice.node
        while node >= 0 and node not in found:
            found.add(node)
            node = parents[node]
    return tuple(sorted(found))

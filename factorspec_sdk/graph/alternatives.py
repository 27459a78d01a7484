"""Several specs as one: a decision between them, and then the record of the one that was taken.

An answer may be one of many records (the arguments of one of several tools), each with text of its own around
it (``envelope.py``). Their programs stand side by side behind one more decision, which is slot 0; what is
feasible behind it is told by the spec that was taken, so that each is compiled once, alone::

      0 Branch ─┬─ <tool_call>\n{"name": "book", "arguments": {  program of book   }}\n</tool_call>   End
                └─ <tool_call>\n{"name": "plan", "arguments": {  program of plan   }}\n</tool_call>   End

    nodes   0 │ nodes of alternative 0 │ nodes of alternative 1 │ ..
    slots   0 │ its slots              │ ..                            of each numbered from ``first_slot``

The texts of all alternatives together must be prefix-free, as those of each are: no text in front of one may
be the beginning of another's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from factorspec_sdk.fields.domains import BranchDomain
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.feasibility import Costs, Feasibility, NodeCost, State
from factorspec_sdk.graph.program import (
    Branch,
    End,
    Hole,
    HoleSpec,
    Length,
    Literal,
    Node,
    Program,
    Slot,
    Value,
)

T = TypeVar("T", Slot, HoleSpec)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the specs.

    Attributes:
        name: what people call it; stands before the paths of its slots.
        program: the layout of its record, with the text around it (``FactorGraph.around``).
        feasibility: which of its values lead to a valid record.
    """

    name: str
    program: Program
    feasibility: Feasibility


class AnyOf(NamedTuple):
    """One layout of several, and what is feasible in it."""

    program: Program
    feasibility: Feasibility


def any_of(alternatives: Sequence[Alternative]) -> AnyOf:
    """The layout of a record of one of the alternatives, at least one. O(nodes of all)."""
    nodes: list[Node] = [End()]  # the decision takes this place
    slots = [Slot(0, "|", BranchDomain(len(alternatives)))]
    holes: list[HoleSpec] = []
    parts: list[_Part] = []
    for each in alternatives:
        program = each.program
        part = _Part(each.feasibility, len(nodes), len(slots), len(nodes) + program.start)
        nodes += (_moved(node, part, len(holes)) for node in program.nodes)
        slots += (replace(_named(slot, each), id=slot.id + part.first_slot) for slot in program.slots)
        holes += (_named(hole, each) for hole in program.holes)
        parts.append(part)
    nodes[0] = Branch(0, tuple(part.start for part in parts))
    return AnyOf(Program(tuple(nodes), 0, tuple(slots), tuple(holes)), _AnyFeasible(tuple(parts)))


class _Part(NamedTuple):
    """Where an alternative stands in the whole; ``start``: the node at which it begins there."""

    feasibility: Feasibility
    first_node: int
    first_slot: int
    start: int


def _moved(node: Node, part: _Part, first_hole: int) -> Node:
    """A node of an alternative as it stands in the whole."""
    by = part.first_node
    match node:
        case End():
            return node
        case Branch():
            return Branch(node.slot + part.first_slot, tuple(target + by for target in node.targets))
        case Literal():
            return replace(node, next=node.next + by)
        case Hole():
            return Hole(node.hole + first_hole, node.next + by)
        case Value() | Length():
            return replace(node, slot=node.slot + part.first_slot, next=node.next + by)


def _named(what: T, alternative: Alternative) -> T:
    path = f"{alternative.name}.{what.path}" if what.path else alternative.name
    return replace(what, path=path)


Taken = tuple[int, State]
"""The alternative that was taken, and its own state; before that the state is None."""


class _AnyFeasible:
    """``Feasibility`` of alternatives: any of them is feasible, since each has a record."""

    def __init__(self, parts: tuple[_Part, ...]) -> None:
        self._parts = parts
        self._first_slots = [part.first_slot for part in parts]
        self._all = IndexSet.full(len(parts))

    def start(self) -> Taken | None:
        """The state before the decision."""
        return None

    def values(self, state: Taken | None, slot: int) -> IndexSet:
        """Feasible values of the next slot."""
        if state is None:
            return self._all
        part = self._parts[state[0]]
        return part.feasibility.values(state[1], slot - part.first_slot)

    def assign(self, state: Taken | None, slot: int, index: int) -> Taken:
        """The state after a feasible value."""
        if state is None:
            return index, self._parts[index].feasibility.start()
        number, inner = state
        part = self._parts[number]
        return number, part.feasibility.assign(inner, slot - part.first_slot, index)

    def reads(self, slot: int) -> bool:
        """The decision is read: what follows hangs on it."""
        if not slot:
            return True
        part = self._parts[bisect_right(self._first_slots, slot) - 1]
        return part.feasibility.reads(slot - part.first_slot)

    def forced(self, state: Taken | None, slot: int) -> tuple[Sequence[int], Taken | None]:
        """The only values from a slot on, as far as they are told at once."""
        if state is None:
            return (), None
        number, inner = state
        part = self._parts[number]
        taken, after = part.feasibility.forced(inner, slot - part.first_slot)
        return taken, (number, after)

    def with_costs(self, cost: NodeCost) -> Costs:
        """Bounds on completions."""
        return _AnyCosts(self._parts, cost)


class _MovedCost(NamedTuple):
    """``NodeCost`` of an alternative, by the places that its nodes have there."""

    whole: NodeCost
    first_node: int

    def of_value(self, pc: int, index: int) -> tuple[int, int]:
        """(least, most) of a value."""
        return self.whole.of_value(pc + self.first_node, index)

    def of_node(self, pc: int) -> tuple[int, int, int]:
        """(least, sure, most) of a node."""
        return self.whole.of_node(pc + self.first_node)


class _AnyCosts:
    """``Costs`` of alternatives: those of the one that was taken, or of the cheapest or dearest of all."""

    def __init__(self, parts: tuple[_Part, ...], cost: NodeCost) -> None:
        self._parts = parts
        self._costs = [part.feasibility.with_costs(_MovedCost(cost, part.first_node)) for part in parts]

    def least(self, state: Taken | None, pc: int) -> int:
        """See ``Costs.least``."""
        if state is None:
            return min(self._costs[at].least(*self._begun(at)) for at in range(len(self._parts)))
        return self._costs[state[0]].least(*self._inside(state, pc))

    def sure(self, state: Taken | None, pc: int) -> int:
        """See ``Costs.sure``."""
        if state is None:
            return min(self._costs[at].sure(*self._begun(at)) for at in range(len(self._parts)))
        return self._costs[state[0]].sure(*self._inside(state, pc))

    def fits(self, state: Taken | None, pc: int, budget: int) -> bool:
        """See ``Costs.fits``."""
        if state is None:
            return any(self._costs[at].fits(*self._begun(at), budget) for at in range(len(self._parts)))
        return self._costs[state[0]].fits(*self._inside(state, pc), budget)

    def likely(self, state: Taken | None, slot: int) -> int | None:
        """See ``Costs.likely``."""
        if state is None:
            return min(range(len(self._parts)), key=lambda at: self._costs[at].sure(*self._begun(at)))
        number, inner = state
        return self._costs[number].likely(inner, slot - self._parts[number].first_slot)

    def most(self, state: Taken | None, pc: int) -> int:
        """See ``Costs.most``."""
        if state is None:
            return max(self._costs[at].most(*self._begun(at)) for at in range(len(self._parts)))
        return self._costs[state[0]].most(*self._inside(state, pc))

    def _begun(self, number: int) -> tuple[State, int]:
        """State and place of an alternative at its beginning, as it knows them itself."""
        part = self._parts[number]
        return part.feasibility.start(), part.start - part.first_node

    def _inside(self, state: Taken, pc: int) -> tuple[State, int]:
        return state[1], pc - self._parts[state[0]].first_node

"""Bounds on what completing a record costs, per state and program counter.

The program's unrelated parts are a shortest path, computed once from the end (``_Bases``). A
related branch is charged what its target costs beyond target 0, so that costs of components and of
the rest add up::

    least(state, pc) = base(pc) + Σ over components of the cheapest rest from their state

The cheapest rest of a component is a memoised search over its live states, under a step budget;
where the budget ends, static bounds stand in (least) and one live path is priced (sure).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from factorspec_sdk.graph.components import Component, ComponentState
from factorspec_sdk.graph.feasibility import UNBOUNDED, NodeCost, State
from factorspec_sdk.graph.program import Branch, End, Hole, Literal, Program, Value

#: states that one cheapest-rest search may visit
COST_STEPS = 300_000
#: domains up to this size are priced value by value where only a bound is needed
SMALL = 64
#: wider slots are not priced value by value: bounds stand in
MAX_PRICED = 4_096
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Bases:
    """Per pc: (least, sure, most) of everything unrelated from there on; related branches take target 0."""

    least: list[int]
    sure: list[int]
    most: list[int]


def compute_bases(program: Program, cost: NodeCost, related: frozenset[int]) -> Bases:
    """Shortest and longest unrelated rest for every node. O(nodes + values of unrelated slots)."""
    size = len(program.nodes)
    bases = Bases([0] * size, [0] * size, [0] * size)
    for pc in topological(program):
        node = program.nodes[pc]
        if isinstance(node, End):
            continue
        if isinstance(node, Branch):
            targets = node.targets[:1] if node.slot in related else node.targets
            bases.least[pc] = min(bases.least[t] for t in targets)
            bases.sure[pc] = min(bases.sure[t] for t in targets)
            bases.most[pc] = max(bases.most[t] for t in targets)
            continue
        least, sure, most = _own_cost(program, cost, pc, related)
        bases.least[pc] = bases.least[node.next] + least
        bases.sure[pc] = min(bases.sure[node.next] + sure, UNBOUNDED)
        bases.most[pc] = min(bases.most[node.next] + most, UNBOUNDED)
    return bases


def _own_cost(program: Program, cost: NodeCost, pc: int, related: frozenset[int]) -> tuple[int, int, int]:
    node = program.nodes[pc]
    assert isinstance(node, Literal | Value | Hole)
    if isinstance(node, Value):
        if node.slot in related:
            return 0, 0, 0
        size = len(program.slots[node.slot].domain)
        if size <= SMALL:
            pairs = [cost.of_value(pc, index) for index in range(size)]
            return min(p[0] for p in pairs), min(p[1] for p in pairs), max(p[1] for p in pairs)
    return cost.of_node(pc)


def topological(program: Program) -> list[int]:
    """Reachable nodes, each after all that follow it. Iterative."""
    order: list[int] = []
    state: dict[int, bool] = {}
    stack = [program.start]
    while stack:
        pc = stack[-1]
        if pc not in state:
            state[pc] = False
            stack.extend(t for t in successors(program, pc) if t not in state)
            continue
        stack.pop()
        if not state[pc]:
            state[pc] = True
            order.append(pc)
    return order


def successors(program: Program, pc: int) -> Sequence[int]:
    """Where the program can go from a node."""
    node = program.nodes[pc]
    if isinstance(node, End):
        return ()
    return node.targets if isinstance(node, Branch) else (node.next,)


class ComponentCosts:
    """(least, sure) of the cheapest rest of one component, per live state."""

    def __init__(self, component: Component, price: Callable[[int, int], Pair]) -> None:
        self.component = component
        self.price = price
        self._memo: list[dict[ComponentState, Pair]] = [{} for _ in range(len(component.slots))]
        self._static: list[int] | None = None

    def cheapest(self, layer: int, state: ComponentState) -> Pair:
        """(least, sure) from a live state before ``layer``."""
        if layer == len(self._memo):
            return 0, 0
        known = self._memo[layer].get(state)
        if known is None:
            wide = max(self.component.sizes) > MAX_PRICED
            known = self._memo[layer][state] = (
                self._fallback(layer, state) if wide else self._search(layer, state)
            )
        return known

    def _search(self, layer: int, state: ComponentState) -> Pair:
        size = len(self._memo)
        stack: list[tuple[int, ComponentState, list[tuple[Pair, int, ComponentState]]]] = [
            (layer, state, self._options(layer, state))
        ]
        visited = 0
        while stack:
            at, here, options = stack[-1]
            waiting = next(((a, s) for _, a, s in options if a < size and s not in self._memo[a]), None)
            if waiting is not None:
                visited += 1
                if visited > COST_STEPS:
                    return self._fallback(layer, state)
                stack.append((*waiting, self._options(*waiting)))
                continue
            least = sure = UNBOUNDED
            for own, after, rest in options:
                inner = self._memo[after][rest] if after < size else (0, 0)
                least, sure = min(least, own[0] + inner[0]), min(sure, own[1] + inner[1])
            self._memo[at][here] = (least, sure)
            stack.pop()
        return self._memo[layer][state]

    def _options(self, layer: int, state: ComponentState) -> list[tuple[Pair, int, ComponentState]]:
        best: dict[tuple[int, ComponentState], Pair] = {}
        for index in self.component.values(layer, state):
            after = self.component.step(layer, state, index)
            own, old = self.price(layer, index), best.get(after)
            best[after] = own if old is None else (min(own[0], old[0]), min(own[1], old[1]))
        return [(own, *after) for after, own in best.items()]

    def _fallback(self, layer: int, state: ComponentState) -> Pair:
        """Static least (negative edges included); the price of the first live path as sure."""
        sure, at, here = 0, layer, state
        while at < len(self._memo):
            index = self.component.values(at, here).first
            sure += self.price(at, index)[1]
            at, here = self.component.step(at, here, index)
        return self._floor(layer), sure

    def _floor(self, layer: int) -> int:
        """Sum of each later slot's least price, 0 for slots that may be skipped."""
        if self._static is None:
            self._static = [min(0, self._least_price(at)) for at in range(len(self._memo))]
        return sum(self._static[layer:])

    def _least_price(self, layer: int) -> int:
        size = self.component.sizes[layer]
        return min(self.price(layer, index)[0] for index in range(size)) if size <= SMALL else 0


class ProgramCosts:
    """``Costs`` of a whole layout: the program's bases and the components' cheapest rests."""

    def __init__(self, program: Program, components: Sequence[Component], cost: NodeCost) -> None:
        self._program = program
        self._components = components
        self._cost = cost
        related = frozenset(slot for component in components for slot in component.slots)
        self._bases = compute_bases(program, cost, related)
        self._places = _places(program, related)
        self._rests = [ComponentCosts(c, self._pricer(c)) for c in components]
        self._most = [self._suffix_most(component) for component in components]

    def least(self, state: State, pc: int) -> int:
        """See ``Costs.least``."""
        return max(0, self._bases.least[pc] + sum(pair[0] for pair in self._cheapest(state)))

    def sure(self, state: State, pc: int) -> int:
        """See ``Costs.sure``."""
        return min(UNBOUNDED, self._bases.sure[pc] + sum(pair[1] for pair in self._cheapest(state)))

    def fits(self, state: State, pc: int, budget: int) -> bool:
        """See ``Costs.fits``. Static bounds first: most questions are asked far from the limit."""
        rest: int = sum(most[layer] for most, (layer, _) in zip(self._most, state, strict=True))
        return self._bases.sure[pc] + rest <= budget or self.sure(state, pc) <= budget

    def most(self, state: State, pc: int) -> int:
        """See ``Costs.most``."""
        rest: int = sum(most[layer] for most, (layer, _) in zip(self._most, state, strict=True))
        return min(UNBOUNDED, self._bases.most[pc] + rest)

    def _cheapest(self, state: State) -> list[Pair]:
        return [rest.cheapest(layer, inner) for rest, (layer, inner) in zip(self._rests, state, strict=True)]

    def _pricer(self, component: Component) -> Callable[[int, int], Pair]:
        return lambda layer, index: self._price(component.slots[layer], index)

    def _price(self, slot: int, index: int) -> Pair:
        least, sure = [], []
        for pc in self._places[slot]:
            node = self._program.nodes[pc]
            if isinstance(node, Branch):
                here, base = node.targets[index], node.targets[0]
                least.append(self._bases.least[here] - self._bases.least[base])
                sure.append(self._bases.sure[here] - self._bases.sure[base])
            else:
                own = self._cost.of_value(pc, index)
                least.append(own[0])
                sure.append(own[1])
        return min(least), max(sure)

    def _suffix_most(self, component: Component) -> list[int]:
        out = [0]
        for slot in reversed(component.slots):
            out.append(min(UNBOUNDED, out[-1] + max(0, self._dearest(slot))))
        return out[::-1]

    def _dearest(self, slot: int) -> int:
        found = 0
        for pc in self._places[slot]:
            node = self._program.nodes[pc]
            if isinstance(node, Branch):
                base = self._bases.most[node.targets[0]]
                found = max(found, *(self._bases.most[t] - base for t in node.targets))
            else:
                found = max(found, self._cost.of_node(pc)[2])
        return found


def _places(program: Program, related: frozenset[int]) -> dict[int, list[int]]:
    """The nodes at which each related slot is decided (two where separators differ)."""
    places: dict[int, list[int]] = {slot: [] for slot in related}
    for pc in topological(program):
        node = program.nodes[pc]
        if isinstance(node, Value | Branch) and node.slot in related:
            places[node.slot].append(pc)
    return places

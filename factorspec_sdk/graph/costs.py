"""Bounds on what completing a record costs, per state and program counter.

The program's unrelated parts are a shortest path, computed once from the end (``_Bases``). A
related branch is charged what its target costs beyond target 0, so that costs of components and of
the rest add up::

    least(state, pc) = base(pc) + Σ over components of the cheapest rest from their state

The cheapest rest of a component is a memoised search over its live states, under a budget;
where the budget ends, static bounds stand in (least) and one live path is priced (sure).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from factorspec_sdk.graph.components import Component, ComponentState
from factorspec_sdk.graph.feasibility import UNBOUNDED, NodeCost, State
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal, Program, Value

#: feasible values that one cheapest-rest search may meet: one to two seconds
COST_STEPS = 50_000
#: slots of solutions that are looked for only to price them: some seconds
FOLLOWED_SLOTS = 10_000
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
    assert isinstance(node, Literal | Value | Hole | Length)
    if isinstance(node, Value | Length):
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
    """(least, sure) of the cheapest rest of one component, per live state.

    A branch-and-bound search: values are tried by rising price, and only where the floor of what follows
    leaves room below the best rest so far.
    """

    def __init__(self, component: Component, prices: Prices) -> None:
        self.component = component
        self._prices = prices
        self._priced: dict[tuple[int, int], Pair] = {}  # of slots of at most MAX_PRICED values
        self._memo: list[dict[ComponentState, Pair]] = [{} for _ in range(len(component.slots))]
        self._budget = COST_STEPS
        self._left_to_follow = FOLLOWED_SLOTS

    def _price(self, layer: int, index: int) -> Pair:
        found = self._priced.get((layer, index))
        if found is None:
            found = self._priced[layer, index] = self._prices.of(self.component.slots[layer], index)
        return found

    def cheapest(self, layer: int, state: ComponentState) -> Pair:
        """(least, sure) from a live state before ``layer``."""
        if layer == len(self._memo):
            return 0, 0
        known = self._memo[layer].get(state)
        if known is None:
            if self._follows and (self._left_to_follow > 0 or self.component.tier == "cp_sat"):
                return self._follow(layer, state)
            if self._follows:
                return self._floors[layer][0], self.dearest[layer]
            found = None if max(self.component.sizes) > MAX_PRICED else self._search(layer, state)
            known = self._memo[layer][state] = self._fallback(layer, state) if found is None else found
        return known

    def least(self, layer: int, state: ComponentState) -> int:
        """``cheapest``, the first of the pair; where that is a floor, without the work for the second."""
        if layer == len(self._memo):
            return 0
        if self._follows or max(self.component.sizes) > MAX_PRICED:
            return self._floors[layer][0]
        return self.cheapest(layer, state)[0]

    @cached_property
    def dearest(self) -> list[int]:
        """Per layer: no rest from there on is dearer."""
        out = [0]
        for slot in reversed(self.component.slots):
            out.append(min(UNBOUNDED, out[-1] + max(0, self._prices.dearest(slot))))
        return out[::-1]

    @cached_property
    def _follows(self) -> bool:
        """True if the component has solutions at hand."""
        return self.component.likely(0, self.component.start) is not None

    def _follow(self, layer: int, state: ComponentState) -> Pair:
        """The floor as least; the price of the solution at hand as sure.

        A price once given to a state stays: the value that leads to it keeps fitting (see ``limit.py``). The
        slots of such solutions are limited (CP-SAT has limits of its own); after that, what has no price yet
        counts as dearest.
        """
        path: list[tuple[int, ComponentState, int]] = []
        at, here = layer, state
        while at < len(self._memo) and here not in self._memo[at]:
            index = self.component.likely(at, here)
            assert index is not None
            path.append((at, here, index))
            at, here = self.component.step(at, here, index)
        self._left_to_follow -= len(path)
        sure = 0 if at == len(self._memo) else self._memo[at][here][1]
        for at, here, index in reversed(path):
            sure += self._prices.of(self.component.slots[at], index)[1]
            self._memo[at][here] = self._floors[at][0], sure
        return self._memo[layer][state]

    @cached_property
    def _floors(self) -> list[Pair]:
        """Per layer: no rest from there on is cheaper, whatever the relations say."""
        floors = [(0, 0)] * (len(self._memo) + 1)
        for layer in reversed(range(len(self._memo))):
            if self.component.sizes[layer] > MAX_PRICED:
                least = self._prices.least_of(self.component.slots[layer])
                floors[layer] = self._sum((least, least), floors[layer + 1])
                continue
            rests = [
                self._sum(self._price(layer, index), floors[self._target(layer, index)])
                for index in range(self.component.sizes[layer])
            ]
            floors[layer] = min(rest[0] for rest in rests), min(rest[1] for rest in rests)
        return floors

    def _target(self, layer: int, index: int) -> int:
        return self.component.layers.move(layer, index).target

    @staticmethod
    def _sum(own: Pair, rest: Pair) -> Pair:
        return own[0] + rest[0], own[1] + rest[1]

    def _search(self, layer: int, state: ComponentState) -> Pair | None:
        """The exact pair, or None once the budget is used up, which then is halved: sessions go on to ask."""
        size, left = len(self._memo), self._budget
        stack = [_Frame(layer, state, self._ordered(layer, state))]
        left -= len(stack[-1].waiting)
        while stack:
            frame = stack[-1]
            while frame.waiting:
                own, floor, index = frame.waiting.pop()
                if floor[0] >= frame.least and floor[1] >= frame.sure:
                    continue
                at, here = self.component.step(frame.layer, frame.state, index)
                rest = (0, 0) if at == size else self._memo[at].get(here)
                if rest is not None:
                    frame.take(self._sum(own, rest))
                    continue
                frame.own = own
                stack.append(_Frame(at, here, self._ordered(at, here)))
                left -= len(stack[-1].waiting)
                break
            else:
                self._memo[frame.layer][frame.state] = frame.least, frame.sure
                stack.pop()
                if stack:
                    stack[-1].take(self._sum(stack[-1].own, (frame.least, frame.sure)))
            if left < 0:
                self._budget //= 2
                return None
        return self._memo[layer][state]

    def _ordered(self, layer: int, state: ComponentState) -> list[tuple[Pair, Pair, int]]:
        """(price, floor of the whole rest, value) of the feasible values, the most promising last."""
        found = []
        for index in self.component.values(layer, state):
            own = self._price(layer, index)
            found.append((own, self._sum(own, self._floors[self._target(layer, index)]), index))
        return sorted(found, key=lambda one: (one[1][1], one[1][0], one[2]), reverse=True)

    def _fallback(self, layer: int, state: ComponentState) -> Pair:
        """The floor as least; the price of one live path, of values that look cheap, as sure."""
        sure, at, here = 0, layer, state
        while at < len(self._memo):
            prices = [
                (self._prices.of(self.component.slots[at], index)[1], index)
                for index in self._probes(at, here)
            ]
            own, index = min(prices)
            sure += own
            at, here = self.component.step(at, here, index)
        return self._floors[layer][0], sure

    def _probes(self, layer: int, state: ComponentState) -> Iterable[int]:
        """Some feasible values: all if they are few, else those next to 0."""
        values = self.component.values(layer, state)
        if len(values) <= SMALL:
            return values
        stride = self.component.layers.domains[layer].stride
        zero = 0 if stride is None else -stride.lo // stride.step
        return [min(max(zero, lo), hi) for lo, hi in values.spans[:SMALL]]


@dataclass(slots=True)
class _Frame:
    """A state whose cheapest rest is being searched; ``own``: price of the value that is being tried."""

    layer: int
    state: ComponentState
    waiting: list[tuple[Pair, Pair, int]]
    own: Pair = (0, 0)
    least: int = UNBOUNDED
    sure: int = UNBOUNDED

    def take(self, rest: Pair) -> None:
        """A rest was found."""
        self.least, self.sure = min(self.least, rest[0]), min(self.sure, rest[1])


class Prices:
    """What the values of related slots cost, branches included."""

    def __init__(self, program: Program, cost: NodeCost, related: frozenset[int]) -> None:
        self.bases = compute_bases(program, cost, related)
        self._program = program
        self._cost = cost
        self._places = _places(program, related)

    def of(self, slot: int, index: int) -> Pair:
        """(least, sure) of a value."""
        least, sure = [], []
        for pc in self._places[slot]:
            node = self._program.nodes[pc]
            if isinstance(node, Branch):
                here, base = node.targets[index], node.targets[0]
                least.append(self.bases.least[here] - self.bases.least[base])
                sure.append(self.bases.sure[here] - self.bases.sure[base])
            else:
                own = self._cost.of_value(pc, index)
                least.append(own[0])
                sure.append(own[1])
        return min(least), max(sure)

    def least_of(self, slot: int) -> int:
        """Lower bound on the cost of every value of a slot that is no branch."""
        return min(self._cost.of_node(pc)[0] for pc in self._places[slot])

    def dearest(self, slot: int) -> int:
        """Upper bound on the cost of every value."""
        found = 0
        for pc in self._places[slot]:
            node = self._program.nodes[pc]
            if isinstance(node, Branch):
                base = self.bases.most[node.targets[0]]
                found = max(found, *(self.bases.most[t] - base for t in node.targets))
            else:
                found = max(found, self._cost.of_node(pc)[2])
        return found


class ProgramCosts:
    """``Costs`` of a whole layout: the program's bases and the components' cheapest rests."""

    def __init__(self, program: Program, components: Sequence[Component], cost: NodeCost) -> None:
        related = frozenset(slot for component in components for slot in component.slots)
        self._prices = Prices(program, cost, related)
        self._bases = self._prices.bases
        self._rests = [ComponentCosts(component, self._prices) for component in components]
        self._most = [rest.dearest for rest in self._rests]
        self._home = {slot: at for at, component in enumerate(components) for slot in component.slots}

    def least(self, state: State, pc: int) -> int:
        """See ``Costs.least``."""
        rests = zip(self._rests, state, strict=True)
        return self._bases.least[pc] + sum(rest.least(layer, inner) for rest, (layer, inner) in rests)

    def sure(self, state: State, pc: int) -> int:
        """See ``Costs.sure``."""
        return min(UNBOUNDED, self._bases.sure[pc] + sum(pair[1] for pair in self._cheapest(state)))

    def fits(self, state: State, pc: int, budget: int) -> bool:
        """See ``Costs.fits``. Static bounds first: most questions are asked far from the limit."""
        rest: int = sum(most[layer] for most, (layer, _) in zip(self._most, state, strict=True))
        return self._bases.sure[pc] + rest <= budget or self.sure(state, pc) <= budget

    def likely(self, state: State, slot: int) -> int | None:
        """See ``Costs.likely``."""
        home = self._home.get(slot)
        return None if home is None else self._rests[home].component.likely(*state[home])

    def most(self, state: State, pc: int) -> int:
        """See ``Costs.most``."""
        rest: int = sum(most[layer] for most, (layer, _) in zip(self._most, state, strict=True))
        return min(UNBOUNDED, self._bases.most[pc] + rest)

    def _cheapest(self, state: State) -> list[Pair]:
        return [rest.cheapest(layer, inner) for rest, (layer, inner) in zip(self._rests, state, strict=True)]


def _places(program: Program, related: frozenset[int]) -> dict[int, list[int]]:
    """The nodes at which each related slot is decided (two where separators differ)."""
    places: dict[int, list[int]] = {slot: [] for slot in related}
    for pc in topological(program):
        node = program.nodes[pc]
        if isinstance(node, Value | Branch | Length) and node.slot in related:
            places[node.slot].append(pc)
    return places

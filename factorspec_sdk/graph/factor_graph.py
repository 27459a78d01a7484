"""The feasibility of a whole spec: its components side by side."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import finalize

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import Component
from factorspec_sdk.graph.costs import ProgramCosts
from factorspec_sdk.graph.cp.backed import BackedSearch
from factorspec_sdk.graph.envelope import enveloped
from factorspec_sdk.graph.feasibility import Costs, NodeCost
from factorspec_sdk.graph.program import Program
from factorspec_sdk.graph.search import Search
from factorspec_sdk.graph.unroll import Unrolled

#: residuals that sessions may add to those of compiling (twice as many, or so many) before they are forgotten
MAX_NODES = 100_000
# Measured, in bytes: a component by itself, a slot of one, a residual with what is remembered of it.
_COMPONENT_BYTES = 2000
_SLOT_BYTES = 1500
_RESIDUAL_BYTES = 850
GraphState = tuple[tuple[int, object], ...]


class FactorGraph:
    """``Feasibility`` of a whole spec: its components side by side."""

    def __init__(
        self,
        unrolled: Unrolled,
        program: Program,
        components: list[Component],
        store: NodeStore,
        life: set[int] | None = None,
    ) -> None:
        """``life``: of the graph whose components and store these are, if another's."""
        self._store = store
        # A set, since objects of compiled classes take no weak references: it is freed with the last graph.
        self._life: set[int] = set() if life is None else life
        if life is None:
            finalize(self._life, store.dissolve)
        self._most_nodes = max(2 * len(store), MAX_NODES)
        self.unrolled = unrolled
        self.program = program
        self.components = components
        self._full = [IndexSet.full(len(slot.domain)) for slot in unrolled.slots]
        self._home = {
            slot: (c, at) for c, comp in enumerate(components) for at, slot in enumerate(comp.slots)
        }
        only = components[0] if len(components) == 1 else None
        self._forcing: Search | None = None
        # Subclasses with states of their own have steps of their own too.
        if isinstance(only, Search) and type(only) in (Search, BackedSearch):
            self._forcing = only if len(only.slots) == len(unrolled.slots) else None

    @property
    def exact(self) -> bool:
        """False once a budget cut an answer."""
        return all(component.exact for component in self.components)

    @property
    def num_bytes(self) -> int:
        """About the memory that the graph takes now, in bytes; it grows while records are written. O(1)."""
        layout = _COMPONENT_BYTES * len(self.components) + _SLOT_BYTES * len(self._home)
        return layout + _RESIDUAL_BYTES * len(self._store)

    def start(self) -> GraphState:
        """The state before the first slot."""
        return tuple((0, component.start) for component in self.components)

    def values(self, state: GraphState, slot: int) -> IndexSet:
        """Feasible values of the next slot."""
        home = self._home.get(slot)
        if home is None:
            return self._full[slot]
        layer, inner = state[home[0]]
        assert layer == home[1], "slots are asked in writing order"
        return self.components[home[0]].values(layer, inner)

    def assign(self, state: GraphState, slot: int, index: int) -> GraphState:
        """The state after a feasible value."""
        home = self._home.get(slot)
        if home is None:
            return state
        if len(self._store) > self._most_nodes:
            self._store.forget()
        number, layer = home
        after = self.components[number].step(layer, state[number][1], index)
        return (*state[:number], after, *state[number + 1 :])

    def reads(self, slot: int) -> bool:
        """False for a slot of no component."""
        return slot in self._home

    def forced(self, state: GraphState, slot: int) -> tuple[Sequence[int], GraphState]:
        """The only values of the slot and of those that follow it, as far as they are told at once.

        They may be fewer than there are. The state is the one behind them.
        """
        search = self._forcing
        if search is None:
            return (), state
        layer, inner = state[0]
        assert self._home[slot] == (0, layer), "slots are asked in writing order"
        assert isinstance(inner, tuple)
        taken, layer, inner = search.forced(layer, inner)
        return taken, ((layer, inner),)

    def around(self, before: str, after: str) -> FactorGraph:
        """The same records with fixed text around them; what is worked out is shared with this graph."""
        program = enveloped(self.program, before, after)
        return FactorGraph(self.unrolled, program, self.components, self._store, self._life)

    def with_costs(self, cost: NodeCost) -> Costs:
        """Bounds on completions (see ``Costs``)."""
        return ProgramCosts(self.program, self.components, cost)

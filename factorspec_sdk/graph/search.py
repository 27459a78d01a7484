"""Exact feasibility of one component by memoised search over residual states.

Plain version: a state is live if some value of its slot leads to a live state; the state after the
last slot is live; a value is feasible if it leads to a live state. Then:

* values are tried only where every open condition allows them (bit masks, ANDed);
* whether a state is live is remembered; equal residuals are one state, so dead ends are met once;
* the search is depth-first and stops at the first live state: a feasible value costs one path;
* a state whose conditions are all slack (20 different ones of 5,000 values) is live as it stands.

Work is counted in steps. ``values`` under a budget keeps only values that are proven feasible and
says so; the state itself stays live, because a path was proven when it was reached.
"""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import ComponentState, OverBudget, Tier
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.layers import Layers, LayerState
from factorspec_sdk.graph.runs import Runs

#: states that may be remembered before the memory is dropped and built anew
MAX_REMEMBERED = 400_000
#: values tried for a mask that cost as much as one step
TRIED_PER_STEP = 2


class Search:
    """Feasibility of one component. Memory is shared by all sessions of a spec.

    exact: False once a budget cut an answer.
    """

    tier: Tier = "search"

    def __init__(self, layers: Layers, step_budget: int) -> None:
        self.layers = layers
        self._steps = 0
        self.exact = True
        self.step_budget = step_budget
        size = len(layers)
        self.slots = layers.slots
        self._size = size
        self.sizes = [len(domain) for domain in layers.domains]
        self.start: ComponentState = layers.start
        self._live: list[dict[LayerState, bool]] = [{} for _ in range(size)]
        self._values: list[dict[LayerState, IndexSet]] = [{} for _ in range(size)]
        self._masks: list[dict[Condition, int]] = [{} for _ in range(size)]
        self._runs = Runs(layers)
        self._full = [(1 << len(domain)) - 1 for domain in layers.domains]

    @property
    def steps(self) -> int:
        """Work so far: steps, and values that masks tried one by one."""
        return self._steps + self.layers.store.num_tried // TRIED_PER_STEP

    def is_satisfiable(self) -> bool:
        """True if the component has a solution.

        Raises:
            OverBudget: the step budget ran out first.
        """
        return self._is_live(0, self.layers.start, self.steps + self.step_budget)

    def values(self, layer: int, state: LayerState) -> IndexSet:
        """Feasible values of the layer's slot (see the module for budgets)."""
        found = self._values[layer].get(state)
        if found is None:
            found = self._feasible(layer, state)
        return found

    def step(self, layer: int, state: LayerState, index: int) -> tuple[int, LayerState]:
        """Layer and state after a feasible value; ``len(slots)`` and the empty state at the end."""
        found = self.layers.step(layer, state, index)
        assert found is not None, "step() takes feasible values only"
        return found

    def forced(self, layer: int, state: LayerState) -> tuple[list[int], int, LayerState]:
        """The only values of the slots from a layer on, and the layer and state where there is a choice.

        Slots that do not occur have no value.
        """
        taken: list[int] = []
        while layer < self._size:
            feasible = self.values(layer, state)
            if not feasible.is_single:
                break
            index = feasible.first
            found = self._stepped(layer, state, index)
            assert found is not None, "the value is feasible"
            layer, state, run = found
            taken += (index, *run)
        return taken, layer, state

    def likely(self, layer: int, state: LayerState) -> int | None:
        """Completions are searched for."""
        return None

    def _feasible(self, layer: int, state: LayerState) -> IndexSet:
        limit = self.steps + self.step_budget
        mask = self._mask(layer, state)
        # the state is live, so its only value is feasible; a slack state keeps all that its masks allow
        if not mask & (mask - 1) or self.layers.is_slack(layer, state):
            return IndexSet.from_mask(mask)
        kept, undecided = 0, 0
        for index in bits(mask):
            if self.steps > limit:
                undecided |= 1 << index
                continue
            after = self._step(layer, state, index)
            if after is None:
                continue
            try:
                if self._is_live(*after, limit):
                    kept |= 1 << index
            except OverBudget:
                undecided |= 1 << index
        result = self._cut(layer, state, kept, undecided) if undecided else IndexSet.from_mask(kept)
        self._values[layer][state] = result
        self._trim()
        return result

    def _cut(self, layer: int, state: LayerState, kept: int, undecided: int) -> IndexSet:
        """The feasible values where the step budget left some undecided: those that are proven."""
        self.exact = False
        return IndexSet(IndexSet.from_mask(kept).spans, complete=False)

    def _step(self, layer: int, state: LayerState, index: int) -> tuple[int, LayerState] | None:
        """One step and all forced ones after it."""
        self._steps += 1
        found = self._stepped(layer, state, index)
        return None if found is None else found[:2]

    def _stepped(
        self, layer: int, state: LayerState, index: int
    ) -> tuple[int, LayerState, tuple[int, ...]] | None:
        """One step and all forced ones after it, and the values of those."""
        if self.layers.is_branch(layer):
            after = self.layers.step(layer, state, index)
            if after is None:
                return None
            wide: Sequence[Condition] = after[1][1:]
            run = self._runs.onwards(after[0], after[1][0])
        else:
            run = self._runs.after(layer, state[0], index)
            if run is None:
                return None
            found = self.layers.wide_step(layer, state, index)
            if found is None:
                return None
            wide = found
        return None if run is None else (run[0], (run[1], *wide), run[2])

    def _mask(self, layer: int, state: LayerState) -> int:
        """Values that no open condition forbids at once."""
        full, domain = self._full[layer], self.layers.domains[layer]
        mask = self._runs.mask(layer, state[0])
        for node in self.layers.wide_readers(layer, state):
            if not mask:
                break
            mask &= self._mask_of(self._masks[layer], node, self.layers.slots[layer], domain, full)
        return mask

    def _mask_of(
        self, masks: dict[Condition, int], node: Condition, slot: int, domain: Domain, full: int
    ) -> int:
        if not node.slots >> slot & 1:
            return full
        found = masks.get(node)
        if found is None:
            found = masks[node] = node.mask(slot, domain)
        return found

    def _is_live(self, layer: int, state: LayerState, limit: int) -> bool:
        known = self._told(layer, state)
        if known is not None:
            return known
        stack = [(layer, state, self._mask(layer, state))]
        while stack:
            at, here, rest = stack[-1]
            if not rest:
                self._live[at][here] = False
                stack.pop()
                continue
            low = rest & -rest
            stack[-1] = (at, here, rest ^ low)
            after = self._step(at, here, low.bit_length() - 1)
            if after is None:
                continue
            known = self._told(*after)
            if known:
                for live_at, live, _ in stack:
                    self._live[live_at][live] = True
                return True
            if known is None:
                if self.steps > limit:
                    raise OverBudget
                stack.append((*after, self._mask(*after)))
        return False

    def _told(self, layer: int, state: LayerState) -> bool | None:
        """Whether a state is live, where that is known without a search."""
        if layer == self._size:
            return True
        known = self._live[layer].get(state)
        if known is None and self.layers.is_completable(layer, state):
            known = self._live[layer][state] = True
        return known

    def _trim(self) -> None:
        if sum(map(len, self._live)) + sum(map(len, self._values)) > MAX_REMEMBERED:
            for memory in (self._live, self._values, self._masks):
                for layer in memory:
                    layer.clear()
            self._runs.clear()

"""The best value of a component, and what keeps it reachable: memoised search with a running objective.

To maximise a value over the solutions of a component, its residual is read along with the conditions. A
number that was added already does not matter for what follows, so it is taken off the residual and off what
is still *needed*::

    state  = (residual conditions, residual value, need)     need: the rest must come to at least so much

Whether a state reaches its need is asked depth-first. Two bounds per (conditions, value) are remembered: the
most that is known to be reached, and the least that is known not to be; so a question is answered by any
earlier one that was harder or easier. The residual's own bounds cut states that cannot reach the need, and
end the counting where nothing can miss it: what is left then is plain feasibility (``search.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.automata.linear import split_constant
from factorspec_sdk.automata.nodes import ABSENT_INDEX, Known, Mark, ValueNode
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import ComponentState, OverBudget
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.layers import Layers, LayerState
from factorspec_sdk.graph.search import MAX_REMEMBERED, Search

#: a need that any number meets
ANY_NUMBER = -(1 << 200)
#: (residual conditions, residual value, need); a need of None is met
BestState = tuple[LayerState, ValueNode, int | None]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The most that a component reaches.

    best: of the solutions found, None if none has a value. bound: no solution has more, None if not known.
    """

    best: int | None
    bound: int | None

    @property
    def proven(self) -> bool:
        """True if ``best`` is the optimum."""
        return self.best == self.bound


class BestSearch(Search):
    """Feasibility of one component among the solutions whose value reaches a need."""

    def __init__(self, layers: Layers, value: ValueNode, step_budget: int) -> None:
        super().__init__(layers, step_budget)
        self._value = value
        self._reached: list[dict[tuple[LayerState, ValueNode], int]] = [{} for _ in self.slots]
        self._missed: list[dict[tuple[LayerState, ValueNode], int]] = [{} for _ in self.slots]
        self._best_values: list[dict[BestState, IndexSet]] = [{} for _ in self.slots]
        self.start = (layers.start, layers.store.known(0), None)

    def optimum(self) -> Optimum:
        """The most that solutions reach; the component must be satisfiable.

        Raises:
            OverBudget: no value was found within the budget.
        """
        best = self._solution(ANY_NUMBER)
        if best is None:
            return Optimum(None, None)
        bound = self._value.hi
        try:
            while best != bound:
                need = best + 1 if bound is None else best + (bound - best + 1) // 2
                found = self._solution(need)
                if found is None:
                    bound = need - 1
                else:
                    best = found
        except OverBudget:
            pass
        return Optimum(best, bound)

    def restrict(self, need: int | None) -> None:
        """Keep only the solutions whose value is at least ``need`` (None: all). There must be one."""
        self.start = self._settled((self.layers.start, self._value, need)) or self.start

    def values(self, layer: int, state: ComponentState) -> IndexSet:
        """Feasible values of the layer's slot."""
        if state[2] is None:
            return super().values(layer, state[0])
        found = self._best_values[layer].get(state)
        return self._feasible_best(layer, state) if found is None else found

    def step(self, layer: int, state: ComponentState, index: int) -> tuple[int, ComponentState]:
        """Layer and state after a feasible value."""
        found = self._best_step(layer, state, index)
        assert found is not None, "step() takes feasible values only"
        return found

    # -- questions --------------------------------------------------------------------------------

    def _solution(self, need: int) -> int | None:
        """The value of some solution with at least ``need``, None if there is none. Raises OverBudget."""
        limit = self.steps + self.step_budget
        here = self._settled((self.layers.start, self._value, need))
        if here is None or not self._reaches(0, here, limit):
            return None
        layer, value = 0, self._value
        while layer < self._size:
            for index in bits(self._mask(layer, here[0])):
                after = self._best_step(layer, here, index)
                if after is not None and self._reaches(*after, limit):
                    value = self._read(layer, value, index)
                    layer, here = after
                    break
        assert isinstance(value, Known) and value.number is not None
        return value.number

    def _feasible_best(self, layer: int, state: BestState) -> IndexSet:
        limit = self.steps + self.step_budget
        kept, complete = 0, True
        for index in bits(self._mask(layer, state[0])):
            after = self._best_step(layer, state, index)
            try:
                if after is not None and self._reaches(*after, limit):
                    kept |= 1 << index
            except OverBudget:
                complete = self.exact = False
        found = IndexSet(IndexSet.from_mask(kept).spans, complete=complete)
        if complete:
            self._best_values[layer][state] = found
            self._trim()
        return found

    def _reaches(self, layer: int, state: BestState, limit: int) -> bool:
        known = self._known(layer, state, limit)
        if known is not None:
            return known
        stack = [(layer, state, self._mask(layer, state[0]))]
        while stack:
            at, here, rest = stack[-1]
            if not rest:
                self._note_missed(at, here)
                stack.pop()
                continue
            low = rest & -rest
            stack[-1] = (at, here, rest ^ low)
            after = self._best_step(at, here, low.bit_length() - 1)
            if after is None:
                continue
            known = self._known(*after, limit)
            if known:
                for reached_at, reached, _ in stack:
                    self._note_reached(reached_at, reached)
                return True
            if known is None:
                if self.steps > limit:
                    raise OverBudget
                stack.append((*after, self._mask(after[0], after[1][0])))
        return False

    def _known(self, layer: int, state: BestState, limit: int) -> bool | None:
        """What is known about a state, None if it must be searched."""
        conditions, value, need = state
        if need is None:
            return self._is_live(layer, conditions, limit)
        if layer == self._size:
            return False  # a known value was settled already
        key = conditions, value
        reached = self._reached[layer].get(key)
        if reached is not None and reached >= need:
            return True
        missed = self._missed[layer].get(key)
        return False if missed is not None and missed <= need else None

    def _note_reached(self, layer: int, state: BestState) -> None:
        need = state[2]
        assert need is not None
        memory, key = self._reached[layer], state[:2]
        memory[key] = max(need, memory.get(key, need))

    def _note_missed(self, layer: int, state: BestState) -> None:
        need = state[2]
        assert need is not None
        memory, key = self._missed[layer], state[:2]
        memory[key] = min(need, memory.get(key, need))

    # -- moves ------------------------------------------------------------------------------------

    def _best_step(self, layer: int, state: BestState, index: int) -> tuple[int, BestState] | None:
        """After one value; None where a condition breaks or the need is out of reach."""
        self._steps += 1
        after = self.layers.step(layer, state[0], index)
        if after is None:
            return None
        if state[2] is None:
            return after[0], (after[1], state[1], None)
        settled = self._settled((after[1], self._read(layer, state[1], index), state[2]))
        return None if settled is None else (after[0], settled)

    def _read(self, layer: int, value: ValueNode, index: int) -> ValueNode:
        value = value.assign(self.slots[layer], index, self.layers.code(layer, index))
        for skipped in self.layers.move(layer, index).skipped:
            value = value.assign(self.slots[skipped], ABSENT_INDEX, Mark.ABSENT)
        return value

    def _settled(self, state: BestState) -> BestState | None:
        """The state with the constant taken off value and need; None if the need cannot be met."""
        conditions, value, need = state
        if need is None:
            return state
        if isinstance(value, Known) and value.number is None:
            return None
        value, constant = split_constant(value)
        need = ANY_NUMBER if need == ANY_NUMBER else need - constant
        if value.hi is not None and value.hi < need:
            return None
        if value.definite and value.lo is not None and value.lo >= need:
            return conditions, self.layers.store.known(0), None
        return conditions, value, need

    def _trim(self) -> None:
        super()._trim()
        if sum(map(len, self._reached)) + sum(map(len, self._missed)) > MAX_REMEMBERED:
            for memory in (self._reached, self._missed, self._best_values):
                for layer in memory:
                    layer.clear()

"""The own search, with CP-SAT behind each question that its step budget cuts.

A component that the search finished when it was compiled may still meet a state, in the middle of a record,
that it does not. Then the rest of the component, as it stands in that state, is put to CP-SAT::

    slots read      | slots to come, their domains
    residuals of    | conditions that enter later         what must not be false
    what was read   |
"""

from __future__ import annotations

from collections.abc import Iterator

from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.errors import MissingExtra
from factorspec_sdk.fields.intervals import Span
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.cp.component import QUESTION_LIMIT, SLOT_LIMIT
from factorspec_sdk.graph.cp.model import NotEncodable
from factorspec_sdk.graph.cp.solving import Solver
from factorspec_sdk.graph.layers import Layers, LayerState
from factorspec_sdk.graph.search import Search
from factorspec_sdk.graph.unroll import Unrolled


class BackedSearch(Search):
    """``Search`` whose undecided values are asked of CP-SAT. Where that has no answer, it cuts as before."""

    def __init__(self, layers: Layers, step_budget: int, unrolled: Unrolled) -> None:
        super().__init__(layers, step_budget)
        self._unrolled = unrolled

    def _cut(self, layer: int, state: LayerState, kept: int, undecided: int) -> IndexSet:
        try:
            proven, complete = self._asked(layer, state, undecided)
        except (NotEncodable, MissingExtra):
            return super()._cut(layer, state, kept, undecided)
        self.exact = self.exact and complete
        return IndexSet(IndexSet.from_mask(kept | proven).spans, complete=complete)

    def _asked(self, layer: int, state: LayerState, undecided: int) -> tuple[int, bool]:
        """(mask of the undecided values that are feasible, whether all of them are known)."""
        slot = self.slots[layer]
        given = self._given(slot)
        slots = sorted({*given, *self.slots[layer:]})
        domains = {number: self._unrolled.slots[number].domain for number in slots}
        solver = Solver(domains, self._unrolled.controllers, self._conditions(layer, state))
        fixed: dict[int, tuple[Span, ...]] = {number: ((index, index),) for number, index in given.items()}
        proven, left = 0, SLOT_LIMIT
        while undecided:
            spans = IndexSet.from_mask(undecided).spans
            answer = solver.solve({**fixed, slot: spans}, min(left, QUESTION_LIMIT))
            left -= answer.spent
            if answer.solution is None:
                return proven, answer.proved
            found = 1 << answer.solution[slots.index(slot)]
            proven, undecided = proven | found, undecided & ~found
            if left <= 0:
                return proven, not undecided
        return proven, True

    def _given(self, slot: int) -> dict[int, int]:
        """What the slots before took that make this one occur: it decides what occurs behind it."""
        given: dict[int, int] = {}
        presence = self._unrolled.controllers[slot]
        while presence is not None:
            given[presence[0]] = presence[1]
            presence = self._unrolled.controllers[presence[0]]
        return given

    def _conditions(self, layer: int, state: LayerState) -> Iterator[Condition]:
        """What a state and the layers from there on hold, slots by number."""
        yield state[0].moved(self.slots[layer])
        yield from state[1:]
        for entering in self.layers.all_entering()[layer:]:
            yield from entering

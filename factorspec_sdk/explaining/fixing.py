"""Whether records exist in which some slots have given values: the question behind every explanation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.logic import negation, occurs
from factorspec_sdk.automata.nodes import Condition, NodeStore
from factorspec_sdk.graph.compile import make_component
from factorspec_sdk.graph.components import Component, OverBudget, TooWide
from factorspec_sdk.graph.contracted import Contracted
from factorspec_sdk.graph.factors import Factor, Group, Origin, connect
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.objective import MAX_ENUMERATED
from factorspec_sdk.graph.search import TRIED_PER_STEP, Search
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.relations.expressions import Const
from factorspec_sdk.relations.intension import Intension

#: origin of the conditions that say what is given
GIVEN = Origin(Intension(name="as given", expr=Const(const=True)), "", "")

#: values of a field that is given: they are not tried, but masks have a bit for each
MAX_MASKED = 1 << 24


def _work(component: Component, tried: int) -> int:
    """Steps of a new component; a search counts in what was ``tried`` in its store before."""
    if isinstance(component, Contracted):
        return sum(_work(part, tried) for part in component.parts)
    return component.steps - (tried if component.tier == "search" else 0)


class Fixing:
    """Factors under fixed decisions, which are conditions like any other.

    Args:
        unrolled: the record.
        store: of the factors' conditions.
        step_budget: for one question on one component.

    Attributes:
        steps: work so far.
    """

    def __init__(self, unrolled: Unrolled, store: NodeStore, step_budget: int) -> None:
        self._unrolled = unrolled
        self._store = store
        self._step_budget = step_budget
        self.steps = 0

    def with_controllers(self, decisions: Mapping[int, int]) -> dict[int, int] | None:
        """The decisions, and those that make their slots occur; None if they contradict each other."""
        whole = dict(decisions)
        for slot in decisions:
            presence = self._unrolled.controllers[slot]
            while presence is not None:
                if whole.setdefault(presence[0], presence[1]) != presence[1]:
                    return None
                presence = self._unrolled.controllers[presence[0]]
        return whole

    def is_satisfiable(
        self, factors: Iterable[Factor], decisions: Mapping[int, int], never: Iterable[int] = ()
    ) -> bool | None:
        """True if a record exists; None where the step budget ran out or a field is too wide."""
        try:
            components = self.components(factors, decisions, never)
        except OverBudget:
            return None
        return components is not None

    def components(
        self, factors: Iterable[Factor], decisions: Mapping[int, int], never: Iterable[int] = ()
    ) -> list[Component] | None:
        """Feasibility under the decisions, component by component, or None if no record has them.

        Args:
            factors: conditions to satisfy.
            decisions: value index by slot; the slots occur.
            never: presence slots whose part does not occur; they may be absent themselves.

        Raises:
            OverBudget: the step budget ran out, or a field is too wide.
        """
        whole = self.with_controllers(decisions)
        if whole is None:
            return None
        conditions = list(factors)
        if any(factor.condition is self._store.false for factor in conditions):
            return None
        conditions += [Factor(self._taken(slot, index), GIVEN) for slot, index in whole.items()]
        out = (negation(self._store, occurs(self._store, (slot, 1))) for slot in never)
        conditions += [Factor(condition, GIVEN) for condition in out]
        found = []
        for group in connect(conditions, self._unrolled):
            component, satisfiable = self._counted(group, whole)
            if not satisfiable:
                return None
            found.append(component)
        return found

    def _taken(self, slot: int, index: int) -> Condition:
        """The slot takes this value; for a number in the form that sets of numbers understand."""
        domain = self._unrolled.slots[slot].domain
        if domain.stride is not None:
            optional = self._unrolled.controllers[slot] is not None
            value = self._store.slot(slot, domain, optional)
            return compare(self._store, "eq", value, self._store.known(domain.code(index)))
        return occurs(self._store, (slot, index))

    def _counted(self, group: Group, whole: Mapping[int, int]) -> tuple[Component, bool]:
        tried = self._store.num_tried // TRIED_PER_STEP
        try:
            found = self._component(group, whole)
        except OverBudget:
            self.steps += self._step_budget
            raise
        self.steps += _work(found[0], tried)
        return found

    def _component(self, group: Group, whole: Mapping[int, int]) -> tuple[Component, bool]:
        try:
            return make_component(self._unrolled, self._store, self._step_budget, group)
        except TooWide:
            sizes = {slot: len(self._unrolled.slots[slot].domain) for slot in group.slots}
            if any(size > (MAX_MASKED if s in whole else MAX_ENUMERATED) for s, size in sizes.items()):
                raise
            search = Search(Layers(group, self._unrolled, self._store), self._step_budget)
            return search, search.is_satisfiable()

"""Pass 5 for components that an objective speaks of: optimise, restrict, repeat.

Before: an objective as wire models, factors. After: components whose solutions are those within the gap of
the optimum at every level, and a certificate per level.

* ``lower_objective`` makes one value per level, to be maximised (what is minimised is negated).
* A sum of terms that are numbers for sure, with gap 0, is split: independent components are optimised each by
  itself, because the best sum is the sum of the bests. Anything else joins the components that it reads: a
  maximum depends on all its parts, a gap above 0 is shared by all terms.
* In each component the levels are taken in order. All but its last one become conditions (``value >= need``)
  of the component; the last one is kept by the component itself (``best.py``), or is a condition too where
  slots are wide (``wide.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.linear import Linear, compare, linear, split_constant
from factorspec_sdk.automata.logic import conjunction, indicator
from factorspec_sdk.automata.nodes import Condition, Known, NodeStore, ValueNode
from factorspec_sdk.errors import Problem, TooLarge
from factorspec_sdk.fields.domains import CodeType, Scalar
from factorspec_sdk.graph.best import BestSearch, Optimum
from factorspec_sdk.graph.components import Component, OverBudget, TooWide
from factorspec_sdk.graph.cp.optimum import optimum_by_cp_sat
from factorspec_sdk.graph.cp.tier import by_cp_sat
from factorspec_sdk.graph.factors import Factor, Group, Origin
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.sequence import NoSequence, SequenceSearch
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.graph.wide import WIDE, NotWide, WideSearch
from factorspec_sdk.relations import Intension
from factorspec_sdk.relations.lowering import Lowering
from factorspec_sdk.relations.objective import Goal, shown_number

#: domains up to this size may be searched value by value
MAX_ENUMERATED = 20_000

#: below any number that CP-SAT takes
LEAST_BY_CP_SAT = -(1 << 50)


class Contradiction(Exception):
    """A component has no solution at all."""


@dataclass(frozen=True, slots=True)
class Level:
    """One goal on the unrolled record.

    value: what is maximised, without ``constant``. kind: what its values are. scopes: bit masks of slots that
    lie in one component each.
    """

    goal: Goal
    pointer: str
    value: ValueNode
    constant: int
    kind: CodeType | None
    scopes: tuple[int, ...]

    def part(self, group: Group) -> ValueNode | None:
        """The terms that a component decides, None if there are none."""
        own = sum(1 << slot for slot in group.slots)
        if len(self.scopes) > 1 and isinstance(self.value, Linear):
            terms = [(node, factor) for node, factor in self.value.terms if node.slots & own]
            return linear(self.value.store, terms) if terms else None
        return self.value if self.value.slots & own else None


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proven about one level, in the units and with the sign of its expression.

    best: the best value found of a record within the gaps of the levels before; None if none has a value.
    bound: no such record is better; None if that is not known. ``proven``: ``best`` is the optimum.
    """

    goal: Goal
    best: Scalar
    bound: Scalar
    proven: bool

    @property
    def name(self) -> str:
        """How reports call the level."""
        return self.goal.name or self.goal.goal


def lower_objective(objective: Sequence[Goal], unrolled: Unrolled, store: NodeStore) -> list[Level]:
    """The levels as values on slots."""
    levels: list[Level] = []
    if not objective:
        return levels
    part, nodes = unrolled.owners[-1]  # the root is left last
    lowering = Lowering(store, part, {}, nodes[-1].tables, {})
    for at, goal in enumerate(objective):
        pointer = f"/x-factorspec/objective/{at}"
        signed = linear(store, [(lowering.value(goal.expr), goal.sign)])
        value, constant = split_constant(signed)
        levels.append(
            Level(goal, pointer, value, constant, lowering.type_of(goal.expr), _scopes(goal, value))
        )
    return levels


def _scopes(goal: Goal, value: ValueNode) -> tuple[int, ...]:
    if goal.gap == 0 and isinstance(value, Linear) and value.definite:
        return tuple(dict.fromkeys(node.slots for node, _ in value.terms))
    return (value.slots,) if value.slots else ()


class Optimiser:
    """Optimises components; sums up what it proved per level."""

    def __init__(self, levels: Sequence[Level], unrolled: Unrolled, store: NodeStore) -> None:
        self.levels = levels
        self.unrolled = unrolled
        self.store = store
        self._found: list[list[Optimum]] = [[] for _ in levels]

    def speaks_of(self, group: Group) -> bool:
        """True if some level reads the component."""
        return any(level.part(group) is not None for level in self.levels)

    def component(self, group: Group, step_budget: int) -> Component:
        """The component's solutions within the gaps.

        Raises:
            Contradiction: it has no solution.
            TooLarge: an optimum is not proved within the budget.
            OverBudget: not even a solution is found within the budget.
        """
        parts = [
            (at, part) for at, level in enumerate(self.levels) if (part := level.part(group)) is not None
        ]
        component: Component | None = None
        for number, (at, part) in enumerate(parts):
            last = number == len(parts) - 1
            found, component, group = self._optimise(group, part, self.levels[at], step_budget, last)
            self._found[at].append(found)
        assert component is not None
        return component

    def certificates(self) -> tuple[Certificate, ...]:
        """One per level."""
        return tuple(
            _certificate(level, found) for level, found in zip(self.levels, self._found, strict=True)
        )

    def _optimise(
        self, group: Group, part: ValueNode, level: Level, step_budget: int, last: bool
    ) -> tuple[Optimum, Component, Group]:
        """(optimum, component restricted to it, group with the restriction as a factor)."""
        layers = Layers(group, self.unrolled, self.store)
        if is_wide(layers, WIDE):
            found_wide = self._as_sequence(group, layers, part, level) or self._by_sets(group, part, level)
            if found_wide is not None:
                return found_wide
        try:
            if max(len(domain) for domain in layers.domains) > MAX_ENUMERATED:
                raise TooWide
            return self._by_search(layers, group, part, level, step_budget, last=last)
        except OverBudget as cut:
            return self._by_cp_sat(group, part, level, cut)

    def _by_search(
        self, layers: Layers, group: Group, part: ValueNode, level: Level, step_budget: int, *, last: bool
    ) -> tuple[Optimum, Component, Group]:
        """By the own search; where that leaves the optimum open, by CP-SAT if it does better."""
        search = BestSearch(layers, part, step_budget)
        if not search.is_satisfiable():
            raise Contradiction
        found = search.optimum()
        if not found.proven:
            try:
                return self._by_cp_sat(group, part, level, OverBudget())
            except OverBudget:
                if not level.goal.best_bound:
                    raise _unproven(level, found) from None
        need = None if found.best is None else found.best - level.goal.gap
        if last:
            search.restrict(need)
        return found, search, _restricted(group, part, need, level)

    def _by_cp_sat(
        self, group: Group, part: ValueNode, level: Level, cut: OverBudget
    ) -> tuple[Optimum, Component, Group]:
        """By CP-SAT, which takes the component as well; ``cut``: why the own search does not."""
        least = LEAST_BY_CP_SAT if part.lo is None else part.lo
        numbers = _restricted(group, part, least, level)  # the solutions that have a value
        found = optimum_by_cp_sat(numbers, self.unrolled, part)
        if found is None:
            found = Optimum(None, None)
        elif not found.proven and not level.goal.best_bound:
            raise _unproven(level, found)
        need = None if found.best is None else found.best - level.goal.gap
        restricted = _restricted(group, part, need, level)
        component, satisfiable = by_cp_sat(Layers(restricted, self.unrolled, self.store), self.unrolled, cut)
        if not satisfiable:
            raise Contradiction
        return found, component, restricted

    def _as_sequence(
        self, group: Group, layers: Layers, part: ValueNode, level: Level
    ) -> tuple[Optimum, Component, Group] | None:
        """By live sets of a sequence; None where the component or the value is none."""
        try:
            sequence = SequenceSearch(layers, part, wide=WIDE)
            found = sequence.optimum(level.goal.gap)
        except (NoSequence, OverBudget):
            return None
        if found.best is None:
            raise Contradiction
        return found, sequence, _restricted(group, part, found.best - level.goal.gap, level)

    def _by_sets(
        self, group: Group, part: ValueNode, level: Level
    ) -> tuple[Optimum, Component, Group] | None:
        """By bisection over sets of a running number; None where sets do not apply."""
        if part.lo is None or part.hi is None or not part.definite:
            return None
        try:
            if not self._sets(group).is_satisfiable():
                raise Contradiction
            low, high = part.lo, part.hi  # low is reached
            while low < high:
                middle = low + (high - low + 1) // 2
                if self._sets(_restricted(group, part, middle, level)).is_satisfiable():
                    low = middle
                else:
                    high = middle - 1
            restricted = _restricted(group, part, low - level.goal.gap, level)
            component = self._sets(restricted)
            component.is_satisfiable()
        except NotWide:
            return None
        return Optimum(low, low), component, restricted

    def _sets(self, group: Group) -> WideSearch:
        return WideSearch(Layers(group, self.unrolled, self.store), wide=WIDE)


def is_wide(layers: Layers, wide: int) -> bool:
    """True if some slot has more than ``wide`` values that are numbers in a stride."""
    return any(len(domain) > wide and domain.stride is not None for domain in layers.domains)


def _restricted(group: Group, part: ValueNode, need: int | None, level: Level) -> Group:
    """The component with the condition that the value is at least ``need``."""
    if need is None:
        return group
    store = part.store
    condition = _surely(store, compare(store, "ge", part, store.known(need)))
    if condition is store.true:
        return group
    relation = Intension(name=f"objective: {level.goal.name or level.goal.goal}", expr=level.goal.expr)
    factor = Factor(condition, Origin(relation, "", level.pointer))
    return Group(group.slots, (*group.factors, factor))


def _surely(store: NodeStore, condition: Condition) -> Condition:
    """A condition that is false where the given one is unknown."""
    if condition.crisp:
        return condition
    return conjunction(store, [condition, compare(store, "eq", indicator(store, condition), store.known(1))])


def _unproven(level: Level, found: Optimum) -> TooLarge:
    sign, constant = level.goal.sign, level.constant
    known = "" if found.bound is None else f", none is better than {sign * (found.bound + constant)}"
    assert found.best is not None
    message = f"the best value found is {sign * (found.best + constant)}{known}"
    hint = "set best_bound to take it, or give the objective fewer fields to choose"
    problem = Problem(level.pointer, message, hint=hint)
    return TooLarge("the step budget for proving an optimum ran out", [problem])


def _certificate(level: Level, found: list[Optimum]) -> Certificate:
    if not found:  # the value depends on nothing
        known = isinstance(level.value, Known) and level.value.number is not None
        found = [Optimum(0, 0)] if known else [Optimum(None, None)]
    bests, bounds = [one.best for one in found], [one.bound for one in found]
    return Certificate(
        level.goal, _total(level, bests), _total(level, bounds), all(one.proven for one in found)
    )


def _total(level: Level, parts: list[int | None]) -> Scalar:
    if None in parts:
        return None
    number = level.goal.sign * (sum(part for part in parts if part is not None) + level.constant)
    return shown_number(number, level.kind)

"""From a spec to what runs: layout, components, feasibility. The passes, in order::

unroll          schema            -> unrolled record, slots, holes        graph/unroll.py
bind_sources    free texts        -> pieces of given texts                graph/sources.py
lay_out         unrolled record   -> program                              graph/layout.py
lower_relations relations         -> factors on slots                     graph/factors.py
lower_objective objective         -> values on slots                      graph/objective.py
connect         factors, values   -> independent components               graph/factors.py
contract        component         -> what follows, and what is searched   graph/dependents.py, contracted.py
decide          component         -> exact feasibility, or a conflict     graph/wide.py, search.py, cp/
optimise        component, values -> .. within the gaps of the optimum    graph/objective.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import Problem, TooLarge, Unsatisfiable
from factorspec_sdk.graph.collector import collector_paused
from factorspec_sdk.graph.components import Component, OverBudget, TooWide
from factorspec_sdk.graph.conflict import minimal_conflict
from factorspec_sdk.graph.contracted import Contracted
from factorspec_sdk.graph.cp.backed import BackedSearch
from factorspec_sdk.graph.cp.conflict import conflict_by_cp_sat
from factorspec_sdk.graph.cp.tier import by_cp_sat
from factorspec_sdk.graph.dependents import contract
from factorspec_sdk.graph.factor_graph import FactorGraph
from factorspec_sdk.graph.factors import Factor, Group, Origin, connect, lower_relations
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.layout import lay_out
from factorspec_sdk.graph.ledger import Ledger
from factorspec_sdk.graph.ledger_shape import NotLedger
from factorspec_sdk.graph.objective import (
    MAX_ENUMERATED,
    Certificate,
    Contradiction,
    Optimiser,
    is_wide,
    lower_objective,
)
from factorspec_sdk.graph.program import Program
from factorspec_sdk.graph.sequence import NoSequence, SequenceSearch
from factorspec_sdk.graph.sources import bind_sources
from factorspec_sdk.graph.tighten import tightened_lengths
from factorspec_sdk.graph.timeline import NoTimeline, Timeline
from factorspec_sdk.graph.unroll import Unrolled, unroll
from factorspec_sdk.graph.wide import WIDE, NotWide, WideSearch
from factorspec_sdk.wire.spec import Spec

#: search steps for one question (is it satisfiable; which values) on one component: one to two seconds
STEP_BUDGET = 100_000
#: so many components may use up their step budget while a spec is compiled
COMPONENTS_AT_FULL_COST = 4
#: trials of a search for a conflict that may use up as much as one question
TRIALS_AT_FULL_COST = 4


@dataclass(frozen=True, eq=False)
class CompiledSpec:
    """A satisfiable spec, ready for decoding. Holds no tokens and no request state.

    certificates: what is proven about each level of the objective.
    """

    spec: Spec
    program: Program
    feasibility: FactorGraph
    groups: tuple[Group, ...]
    certificates: tuple[Certificate, ...] = ()


def compile_spec(spec: Spec, step_budget: int = STEP_BUDGET) -> CompiledSpec:
    """Run all passes.

    Raises:
        Unsatisfiable: with the names of a conflicting set of relations.
        TooLarge: proving feasibility exceeds the step budget, or the record unrolls to too many slots.
        EmptyDomain: a field has no value.
    """
    with collector_paused():
        unrolled = unroll(spec.root)
        trial = NodeStore()
        lengths = tightened_lengths(unrolled, trial)
        trial.dissolve()
        if lengths:
            try:
                return _compile(spec, unroll(spec.root, lengths), step_budget)
            except Unsatisfiable:
                pass  # again, so that the conflict can name the relations on lengths
        return _compile(spec, unrolled, step_budget)


def _compile(spec: Spec, unrolled: Unrolled, step_budget: int) -> CompiledSpec:
    store = NodeStore()
    unrolled, impossible = bind_sources(unrolled, store)
    program = lay_out(unrolled)
    factors = [*lower_relations(unrolled, store), *impossible]
    _refuse_false(factors, store)
    levels = lower_objective(spec.objective, unrolled, store)
    optimiser = Optimiser(levels, unrolled, store)
    groups = connect(factors, unrolled, (mask for level in levels for mask in level.scopes))
    components: list[Component] = []
    left = COMPONENTS_AT_FULL_COST * step_budget
    for group in groups:
        make = optimise if optimiser.speaks_of(group) else decide
        components.append(make(group, optimiser, min(step_budget, left), factors))
        left -= components[-1].steps
    graph = FactorGraph(unrolled, program, components, store)
    return CompiledSpec(spec, program, graph, tuple(groups), optimiser.certificates())


def decide(group: Group, optimiser: Optimiser, step_budget: int, factors: Sequence[Factor]) -> Component:
    """The component's feasibility; proves that it has a solution and what its first slot can be.

    ``factors``: of all components, since a relation that contradicts others here may be impossible elsewhere.
    """
    unrolled = optimiser.unrolled
    make = partial(make_component, unrolled, optimiser.store, step_budget)
    with _refusing_large(group, unrolled):
        component, satisfiable = make(group)
    if not satisfiable:
        if component.tier == "cp_sat":
            raise _unsatisfiable(*conflict_by_cp_sat(group, unrolled))
        trial = partial(make_component, unrolled, optimiser.store, step_budget // TRIALS_AT_FULL_COST)
        origins = {factor.origin for factor in group.factors}
        everywhere = Group(group.slots, tuple(factor for factor in factors if factor.origin in origins))
        raise _unsatisfiable(*minimal_conflict(everywhere, unrolled, lambda part: trial(part)[1]))
    component.values(0, component.start)
    return component


def optimise(group: Group, optimiser: Optimiser, step_budget: int, factors: Sequence[Factor]) -> Component:
    """The feasibility of a component within the gaps of the objective that speaks of it."""
    try:
        with _refusing_large(group, optimiser.unrolled):
            component = optimiser.component(group, step_budget)
    except Contradiction:
        decide(group, optimiser, step_budget, factors)  # raises with the conflict
        raise
    component.values(0, component.start)
    return component


@contextmanager
def _refusing_large(group: Group, unrolled: Unrolled) -> Iterator[None]:
    try:
        yield
    except OverBudget as cut:
        raise _too_large(group, unrolled, cut) from None


def make_component(
    unrolled: Unrolled, store: NodeStore, step_budget: int, group: Group, wide: int = WIDE
) -> tuple[Component, bool]:
    """(feasibility, has a solution): dependents set aside, what remains decided part by part.

    Raises:
        OverBudget: no answer within the budgets.
    """
    found = contract(group, unrolled)
    if not found.dependents:
        return _searched(unrolled, store, step_budget, group, wide)
    parts: list[Component] = []
    for part in connect(found.factors, unrolled):
        component, satisfiable = _searched(unrolled, store, step_budget, part, wide)
        if not satisfiable:
            return component, False
        parts.append(component)
    return Contracted(Layers(group, unrolled, store), parts, found.dependents), True


def _searched(
    unrolled: Unrolled, store: NodeStore, step_budget: int, group: Group, wide: int
) -> tuple[Component, bool]:
    """By sets where a slot is wide and the relations allow it, else by search, and by CP-SAT where the search
    does not finish. Raises as ``make_component``.
    """
    layers = Layers(group, unrolled, store)
    try:
        by_sequences = Timeline(layers)
        return by_sequences, by_sequences.is_satisfiable()
    except NoTimeline:
        pass
    if is_wide(layers, wide):
        try:
            sequence = SequenceSearch(layers, wide=wide)
            return sequence, sequence.is_satisfiable()
        except NoSequence:
            pass
        except OverBudget as cut:
            return by_cp_sat(layers, unrolled, cut)
        try:
            by_sets = WideSearch(layers, wide=wide)
            return by_sets, by_sets.is_satisfiable()
        except NotWide:
            pass
        try:
            ledger = Ledger(layers, unrolled)
            return ledger, ledger.is_satisfiable()
        except NotLedger:
            pass
    return _by_values(layers, unrolled, step_budget)


def _by_values(layers: Layers, unrolled: Unrolled, step_budget: int) -> tuple[Component, bool]:
    """By search, and by CP-SAT where it does not finish or a slot is too wide for it."""
    if max(len(domain) for domain in layers.domains) > MAX_ENUMERATED:  # its masks would have as many bits
        if step_budget <= 0:
            raise TooWide
        return by_cp_sat(layers, unrolled, TooWide(), 0)
    search = BackedSearch(layers, step_budget, unrolled)
    before = search.steps
    try:
        return search, search.is_satisfiable()
    except OverBudget as cut:
        if step_budget <= 0:
            raise
        return by_cp_sat(layers, unrolled, cut, search.steps - before)


def _refuse_false(factors: list[Factor], store: NodeStore) -> None:
    broken = next((factor.origin for factor in factors if factor.condition is store.false), None)
    if broken is not None:
        raise _unsatisfiable([broken], True)


def _unsatisfiable(origins: list[Origin], minimal: bool) -> Unsatisfiable:
    names = list(dict.fromkeys(origin.label for origin in origins))
    problems = [
        Problem(o.pointer, f"relation {o.label!r}" + (f": {o.relation.why}" if o.relation.why else ""))
        for o in {o.label: o for o in origins}.values()
    ]
    what = "this relation cannot be satisfied" if len(names) == 1 else "these relations contradict each other"
    text = f"no record exists: {what}" + ("" if minimal else " (the set may not be minimal)")
    return Unsatisfiable(text, problems, conflict=names, minimal=minimal)


def _too_large(group: Group, unrolled: Unrolled, cut: OverBudget) -> TooLarge:
    names = sorted({factor.origin.label for factor in group.factors})
    sizes = sorted(
        ((len(unrolled.slots[s].domain), unrolled.slots[s].path) for s in group.slots), reverse=True
    )
    widest = ", ".join(f"{path}: {size} values" for size, path in sizes[:5])
    message = f"relations {names} join {len(group.slots)} fields (widest: {widest})"
    hint = cut.hint or (
        f"narrow the domains (to {MAX_ENUMERATED} values for products and conditions), or split the relations"
    )
    pointers = sorted({f.origin.pointer for f in group.factors}) or ["/x-factorspec/objective"]
    problems = [Problem(pointers[0], message, hint=hint)]
    return TooLarge(cut.reason, problems)

"""Questions to CP-SAT about one component: a solution, or the best one, within a deterministic time.

Measured: with presolve off and without linear relaxation a question on a roster of 420 shifts costs a
sixteenth of what it costs with the defaults, and editing domains in place costs a quarter of assumptions. A
few questions are hard that way (counting arguments, which a relaxation sees at once); those are asked again
with both. One worker, a fixed seed and deterministic time make equal questions have equal answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from factorspec_sdk.automata.nodes import Condition, ValueNode
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.intervals import Span
from factorspec_sdk.graph.cp.encoder import Encoder, Families
from factorspec_sdk.graph.cp.families import FAMILIES
from factorspec_sdk.graph.cp.model import Affine, Lit
from factorspec_sdk.relations.unrolled import Presence

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: index per slot, in writing order; ``ABSENT_INDEX`` where it does not occur
Solution = tuple[int, ...]
#: allowed indices by slot
Domains = Mapping[int, Sequence[Span]]


#: deterministic time after which a question is asked again with presolve and linear relaxation
QUICK_LIMIT = 0.1
#: deterministic time that reading one constraint or variable takes; CP-SAT does not count it
READING = 1.5e-6


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question gave.

    solution: None where there is none, or none was found. proved: the answer is final (no solution exists,
    or none is better). spent: deterministic time. value: of the objective. bound: no objective is above it.
    """

    solution: Solution | None
    proved: bool
    spent: float
    value: int | None = None
    bound: int | None = None


class Solver:
    """The model of one component. Not for use by two threads at once."""

    def __init__(
        self,
        domains: Mapping[int, Domain],
        controllers: Mapping[int, Presence],
        conditions: Iterable[Condition],
        families: Families = FAMILIES,
    ) -> None:
        """Encode the slots (in writing order) and what must not be false.

        Raises:
            NotEncodable: a condition has no form within the limits.
            MissingExtra: OR-Tools is not installed.
        """
        self._encoder = Encoder(domains, controllers, families)
        self._model = self._encoder.model
        for condition in conditions:
            self._encoder.require(condition)
        self._slots = self._encoder.slots
        for value in self._slots.values():
            value.settle()
        self._objectives: dict[ValueNode, Affine] = {}
        self._allowed: dict[int, Sequence[Span]] = {}
        self._hint: Solution | None = None

    def solve(
        self,
        allowed: Domains,
        limit: float,
        *,
        hint: Solution | None = None,
        maximise: ValueNode | None = None,
    ) -> Answer:
        """A solution with the given slots within the given indices; with ``maximise``, the best.

        Of an objective that is no number in some solution, those count as its least value.

        Args:
            allowed: indices by slot; all others are free.
            limit: deterministic time; about seconds.
            hint: a solution that may be near.
            maximise: what shall be greatest.
        """
        goal = None if maximise is None else self._objective(maximise)
        self._set_objective(goal)
        self._set_hint(hint)
        self._allow(allowed)
        return self._asked(limit, goal)

    def switch(self) -> Lit:
        """A literal that conditions can hang on."""
        return self._model.new_literal()

    def require_where(self, switch: Lit, condition: Condition) -> None:
        """Where the switch is on, the condition is not false."""
        self._model.clause([~switch, ~self._encoder.truth(condition).false])

    def solve_with(self, switches: Iterable[Lit], limit: float) -> Answer:
        """A solution with these switches on."""
        self._set_objective(None)
        self._set_hint(None)
        on = list(switches)
        for switch in on:
            self._write_domain(switch, ((1, 1),))
        answer = self._asked(limit, None)
        for switch in on:
            self._write_domain(switch, ((0, 1),))
        return answer

    def contradiction(self, switches: Iterable[Lit], limit: float) -> tuple[set[Lit], Answer]:
        """Switches that cannot all be on; none where there is a solution, or no answer within the limit."""
        self._set_objective(None)
        self._set_hint(None)
        self._model.proto.assumptions.extend(switches)
        solver, status = self._run(limit, thorough=True)
        self._model.proto.assumptions.clear()
        return set(solver.sufficient_assumptions_for_infeasibility()), self._answer(solver, status, None)

    def _objective(self, node: ValueNode) -> Affine:
        found = self._objectives.get(node)
        if found is None:
            model, value = self._model, self._encoder.value(node)
            least = value.number.lo
            number = model.of(model.new_variable(((least, value.number.hi),)))
            gap = model.total([(number, 1), (value.number, -1)])
            model.within(gap, ((0, 0),), [value.is_number])
            model.within(number, ((least, least),), [~value.is_number])
            found = self._objectives[node] = number
        return found

    def _set_objective(self, goal: Affine | None) -> None:
        self._model.proto.clear_objective()
        if goal is not None and goal.terms:
            objective = self._model.proto.objective
            objective.vars.extend([variable for variable, _ in goal.terms])
            objective.coeffs.extend([-factor for _, factor in goal.terms])

    def _set_hint(self, hint: Solution | None) -> None:
        if hint is self._hint:
            return
        self._hint = hint
        self._model.proto.clear_solution_hint()
        if hint is not None:
            hinted: dict[int, int] = {}
            for slot, index in zip(self._slots.values(), hint, strict=True):
                hinted |= slot.hinted(index)
            self._model.proto.solution_hint.vars.extend([*hinted])
            self._model.proto.solution_hint.values.extend([*hinted.values()])

    def _allow(self, allowed: Domains) -> None:
        """Write domains for a question. They stay until the next one, which mostly shares them."""
        for slot in [slot for slot, spans in self._allowed.items() if allowed.get(slot) != spans]:
            for variable in self._slots[slot].narrowed(self._allowed.pop(slot)):
                self._write_domain(variable, self._model.domains[variable])
        for slot, spans in allowed.items():
            if slot not in self._allowed:
                self._allowed[slot] = spans
                for variable, narrow in self._slots[slot].narrowed(spans).items():
                    self._write_domain(variable, narrow)

    def _write_domain(self, variable: int, spans: Sequence[Span]) -> None:
        domain = self._model.proto.variables[variable].domain
        domain.clear()
        domain.extend([end for span in spans for end in span])

    def _asked(self, limit: float, goal: Affine | None) -> Answer:
        """Quickly, and where that does not decide, thoroughly; optima thoroughly at once."""
        spent = 0.0
        if goal is None:
            answer = self._answer(*self._run(min(limit, QUICK_LIMIT), thorough=False), None)
            spent = answer.spent
            if answer.proved or limit <= spent:
                return answer
        answer = self._answer(*self._run(limit - spent, thorough=True), goal)
        return replace(answer, spent=answer.spent + spent)

    def _run(self, limit: float, *, thorough: bool) -> tuple[cp_model.CpSolver, cp_model.CpSolverStatus]:
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = 1
        parameters.random_seed = 1
        parameters.max_deterministic_time = limit
        parameters.cp_model_presolve = thorough
        parameters.linearization_level = 2 if thorough else 0
        return solver, solver.solve(self._model.cp)

    def _answer(
        self, solver: cp_model.CpSolver, status: cp_model.CpSolverStatus, goal: Affine | None
    ) -> Answer:
        from ortools.sat.python import cp_model

        assert status != cp_model.MODEL_INVALID, self._model.cp.validate()
        spent = solver.deterministic_time + READING * self._model.size
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Answer(None, status == cp_model.INFEASIBLE, spent)
        values = [*solver.response_proto.solution]
        solution = tuple(slot.index(values) for slot in self._slots.values())
        if goal is None:
            return Answer(solution, True, spent)
        value = goal.constant + sum(factor * values[variable] for variable, factor in goal.terms)
        bound = value if status == cp_model.OPTIMAL else goal.constant + -round(solver.best_objective_bound)
        return Answer(solution, status == cp_model.OPTIMAL, spent, value, bound)

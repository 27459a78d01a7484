"""The best value of a component, by CP-SAT: where the own search does not prove it within its budget."""

from __future__ import annotations

from factorspec_sdk.automata.nodes import ValueNode
from factorspec_sdk.errors import MissingExtra
from factorspec_sdk.graph.best import Optimum
from factorspec_sdk.graph.components import OverBudget
from factorspec_sdk.graph.cp.model import NotEncodable
from factorspec_sdk.graph.cp.solving import Solver
from factorspec_sdk.graph.factors import Group
from factorspec_sdk.graph.unroll import Unrolled

#: deterministic time (about seconds) for one optimum
OPTIMUM_LIMIT = 10.0


def optimum_by_cp_sat(group: Group, unrolled: Unrolled, value: ValueNode) -> Optimum | None:
    """The most that the solutions of a component reach; None if it has no solution.

    In every solution the value must be a number.

    Raises:
        OverBudget: not even a solution is found, or CP-SAT cannot take the component, or is not installed.
    """
    domains = {slot: unrolled.slots[slot].domain for slot in group.slots}
    try:
        solver = Solver(domains, unrolled.controllers, [factor.condition for factor in group.factors])
        answer = solver.solve({}, OPTIMUM_LIMIT, maximise=value)
    except MissingExtra as error:
        raise OverBudget("the step budget for proving an optimum ran out", str(error)) from None
    except NotEncodable as error:
        raise OverBudget(f"the step budget for proving an optimum ran out; CP-SAT: {error}") from None
    if answer.value is not None:
        return Optimum(answer.value, answer.bound)
    if answer.proved:
        return None
    raise OverBudget("neither the own search nor CP-SAT found a record within their budgets")

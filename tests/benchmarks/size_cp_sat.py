"""Whether CP-SAT, asked about a whole finished record at once, finds that all relations hold."""

from collections.abc import Callable

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.explaining.placing import place
from factorspec_sdk.graph.cp.model import NotEncodable
from factorspec_sdk.graph.cp.solving import Solver
from factorspec_sdk.graph.factors import Group, connect, lower_relations
from factorspec_sdk.graph.unroll import Unrolled, unroll
from factorspec_sdk.wire import Spec

#: deterministic time for one component of one record
LIMIT = 60.0
Judge = Callable[[JsonValue], bool]


def cp_sat_judge(spec: Spec) -> Judge | None:
    """Judges records of a spec; None where a relation has no form in CP-SAT within its limits."""
    unrolled = unroll(spec.root)
    groups = connect(lower_relations(unrolled, NodeStore()), unrolled)
    try:
        solvers = [(group, _solver(group, unrolled)) for group in groups]
    except NotEncodable:
        return None

    def holds(record: JsonValue) -> bool:
        decisions = place(unrolled.root, record, unrolled.holes).decisions
        for group, solver in solvers:
            fixed = {slot: ((decisions[slot],) * 2,) for slot in group.slots if slot in decisions}
            if solver.solve(fixed, LIMIT).solution is None:
                return False
        return True

    return holds


def _solver(group: Group, unrolled: Unrolled) -> Solver:
    domains = {slot: unrolled.slots[slot].domain for slot in group.slots}
    return Solver(domains, unrolled.controllers, [factor.condition for factor in group.factors])

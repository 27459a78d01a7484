"""Relations that contradict each other, found by CP-SAT: a core by assumptions, made minimal by deletion.

Each relation has a literal, "it is enforced", which implies that none of its conditions is false. CP-SAT
names literals that cannot hold together; of those, each is left out in turn, and stays out if the rest is
still contradictory. All questions are put to one model.
"""

from __future__ import annotations

from factorspec_sdk.graph.cp.component import QUESTION_LIMIT
from factorspec_sdk.graph.cp.model import NotEncodable
from factorspec_sdk.graph.cp.solving import Solver
from factorspec_sdk.graph.factors import Group, Origin
from factorspec_sdk.graph.unroll import Unrolled

#: deterministic time (about seconds) of all questions of one conflict
CONFLICT_LIMIT = 10.0


def conflict_by_cp_sat(group: Group, unrolled: Unrolled) -> tuple[list[Origin], bool]:
    """(origins of a conflicting set, whether it was proved minimal) of an unsatisfiable component.

    All of them where a model with switches gets too large.
    """
    origins = list(dict.fromkeys(factor.origin for factor in group.factors))
    try:
        return _minimal(group, unrolled, origins)
    except NotEncodable:
        return origins, len(origins) == 1


def _minimal(group: Group, unrolled: Unrolled, origins: list[Origin]) -> tuple[list[Origin], bool]:
    domains = {slot: unrolled.slots[slot].domain for slot in group.slots}
    solver = Solver(domains, unrolled.controllers, ())
    switches = {origin: solver.switch() for origin in origins}
    for factor in group.factors:
        solver.require_where(switches[factor.origin], factor.condition)
    left = CONFLICT_LIMIT
    core, answer = solver.contradiction(switches.values(), left)
    left -= answer.spent
    kept = [origin for origin, switch in switches.items() if switch in core] or list(switches)
    minimal = True
    for origin in list(kept):
        trial = [switches[other] for other in kept if other is not origin]
        answer = solver.solve_with(trial, min(left, QUESTION_LIMIT))
        left -= answer.spent
        if answer.solution is None and answer.proved:
            kept = [other for other in kept if other is not origin]
        elif not answer.proved:
            minimal = False
    return kept, minimal

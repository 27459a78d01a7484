"""A minimal set of relations that contradict each other, by deletion.

Relations (with all their conditions) are left out one at a time; one that is not needed for the
contradiction stays out. What remains is minimal: every proper subset was shown to have a solution,
unless a trial ran out of budget, in which case its relation stays and the set is said to be not minimal.
"""

from __future__ import annotations

from collections.abc import Callable

from factorspec_sdk.graph.components import OverBudget
from factorspec_sdk.graph.factors import Factor, Group, Origin, connect
from factorspec_sdk.graph.unroll import Unrolled

#: satisfiability questions that one conflict may cost
MAX_TRIALS = 300
#: .. and how many of them may run out of budget
MAX_OVER_BUDGET = 3


def minimal_conflict(
    group: Group, unrolled: Unrolled, is_satisfiable: Callable[[Group], bool]
) -> tuple[list[Origin], bool]:
    """(origins of a conflicting set, whether it was proved minimal) of an unsatisfiable component.

    Cost: one satisfiability question per relation.
    """
    origins = list(dict.fromkeys(factor.origin for factor in group.factors))
    kept, minimal = list(origins), True
    over_budget = 0
    for tried, origin in enumerate(origins):
        if tried >= MAX_TRIALS or over_budget >= MAX_OVER_BUDGET:
            return kept, False
        trial = [o for o in kept if o is not origin]
        factors = [factor for factor in group.factors if factor.origin in trial]
        answer = _satisfiable(factors, unrolled, is_satisfiable)
        if answer is False:
            kept = trial
        elif answer is None:
            minimal, over_budget = False, over_budget + 1
    return kept, minimal


def _satisfiable(factors: list[Factor], unrolled: Unrolled, ask: Callable[[Group], bool]) -> bool | None:
    """None where a budget ran out."""
    unknown = False
    for part in connect(factors, unrolled):
        try:
            if not ask(part):
                return False
        except OverBudget:
            unknown = True
    return None if unknown else True

"""Plans of places where nothing is certain: one choice, which all places share that allow the same."""

from __future__ import annotations

from factorspec_sdk.decoding.plan import Plan
from factorspec_sdk.decoding.planning import certain_plan
from factorspec_sdk.decoding.runs import Run
from factorspec_sdk.tokens import Allowed

_MAX_PLANS = 128


class ChoicePlans:
    """The plans by the tokens that are allowed there. Kept (bounded) and shared by the sessions of a spec."""

    def __init__(self) -> None:
        # By identity: what is allowed is worked out once for a place. A plan keeps its own alive, so no other
        # can take its number while it is known.
        self._plans: dict[tuple[int, bool], Plan] = {}

    def of(self, allowed: Allowed, *, free: bool) -> Plan:
        """The plan of a choice among these tokens; ``free``: free text may go on."""
        key = (id(allowed), free)
        plan = self._plans.get(key)
        if plan is None:
            plan = certain_plan(Run((), (), allowed, free=free, complete=False), 0)
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

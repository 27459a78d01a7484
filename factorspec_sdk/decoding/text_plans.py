"""Plans of places in free text: one choice, and nothing that is certain before it."""

from __future__ import annotations

from factorspec_sdk.decoding.plan import Plan
from factorspec_sdk.decoding.planning import certain_plan
from factorspec_sdk.decoding.runs import Run
from factorspec_sdk.tokens import Allowed

_MAX_PLANS = 128


class TextPlans:
    """The plans by the tokens that are allowed there. Kept (bounded) and shared by the sessions of a spec."""

    def __init__(self) -> None:
        # By identity: what is allowed is worked out once for a place. A plan keeps its own alive, so no other
        # can take its number while it is known.
        self._plans: dict[int, Plan] = {}

    def of(self, allowed: Allowed) -> Plan:
        """The plan of a choice among these tokens."""
        plan = self._plans.get(id(allowed))
        if plan is None:
            plan = certain_plan(Run((), (), allowed, free=True, complete=False), 0)
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            self._plans[id(allowed)] = plan
        return plan

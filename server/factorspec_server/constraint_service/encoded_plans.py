"""The words of a worker's plans, worked out once for plans that sessions share."""

from __future__ import annotations

from factorspec_sdk.decoding import Plan
from factorspec_sdk.errors import FactorspecError
from factorspec_server.constraint_service.failures import failure_bytes
from factorspec_server.constraint_service.memory import Layout
from factorspec_server.constraint_service.plan_words import CERTAIN, Encoded, encode, encode_error

_MOST_KEPT = 2048
#: words of an error's block that are not its text
_ERROR_WORDS = 8


class EncodedPlans:
    """Of one worker; any of its threads may ask.

    Args:
        layout: of the memory that the words go to.
    """

    def __init__(self, layout: Layout) -> None:
        self._rows = layout.rows
        self._room = layout.plan_words - 2
        #: certain plans by identity; each entry keeps its plan alive
        self._kept: dict[int, tuple[Plan, Encoded]] = {}

    def of(self, plan: Plan | FactorspecError) -> Encoded:
        """The words of a plan, or of why there is none, and what each mask row of it must hold."""
        if isinstance(plan, FactorspecError):
            return encode_error(failure_bytes(plan, 4 * (self._room - _ERROR_WORDS)), self._room)
        known = self._kept.get(id(plan))
        if known is not None:
            return known[1]
        encoded = encode(plan, rows=self._rows, room=self._room)
        if encoded[0][0] == CERTAIN:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[id(plan)] = plan, encoded
        return encoded

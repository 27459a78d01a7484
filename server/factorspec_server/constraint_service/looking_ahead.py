"""What a worker works out once a step has its plans and rows, until somebody asks again.

First what follows each value that a record may choose next, fewest values first, which the next step reads
(``ahead_words.py``); then what follows the texts that records are in, which their spec's runs keep.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter

from factorspec_server.constraint_service.ahead_words import branches_of, write_ahead
from factorspec_server.constraint_service.kept_record import KeptRecord
from factorspec_server.constraint_service.memory import Memory
from factorspec_server.drafting.looking import AT_ONCE_S, MOST_VALUES

_logger = logging.getLogger(__name__)


class LookingAhead:
    """Of one worker; for its main thread."""

    def __init__(self, memory: Memory, is_wanted: Callable[[], bool]) -> None:
        """``is_wanted``: somebody asks."""
        self._memory = memory
        self._is_wanted = is_wanted

    def behind(self, records: Sequence[KeptRecord], *, publishes: bool) -> None:
        """Look ahead of these records. ``publishes``: plans behind values are what would be planned there."""
        choosing = [(record.choosing, at) for at, record in enumerate(records) if record.choosing is not None]
        for count, at in sorted(choosing):
            if count > MOST_VALUES:
                break
            if self._is_wanted():
                return
            try:
                self._behind_values(records[at], publishes=publishes)
            except Exception:  # nothing depends on it
                _logger.exception("looking ahead failed")
        is_over = self._until(AT_ONCE_S)
        for record in records:
            if record.is_in_text:
                record.look_behind_text(is_over)

    def _behind_values(self, record: KeptRecord, *, publishes: bool) -> None:
        plan = record.look_behind(self._until(AT_ONCE_S))
        if plan is not None and plan.choices and publishes:
            write_ahead(self._memory, record.slot, record.serial, record.question, branches_of(plan))

    def _until(self, seconds: float) -> Callable[[], bool]:
        until_s = perf_counter() + seconds
        return lambda: self._is_wanted() or perf_counter() > until_s

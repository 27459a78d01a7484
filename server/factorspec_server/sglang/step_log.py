"""Where the host's time goes: a line of JSON for each verify step, for whoever tunes a server.

::

    {"requests": 64, "width": 40, "inputs": 1792, "used": 1733, "between": 1.9, "plans": 0.6, …, "wait": 0.1}

Times are milliseconds of wall clock on the scheduler's thread, in the order in which things are done;
``between`` is what the scheduler did since the step before, waiting for the device included. ``wait`` is what
the step stood waiting for the constraint service, and part of the others; ``tokens`` is how long a step that
is launched ahead waited for those of the one before. Lines are written some at a time.
Every ``SUMMED_STEPS`` steps the server's log says how long half of them waited at most, and 99 in 100.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from time import perf_counter

_AT_ONCE = 20
SUMMED_STEPS = 1000

_logger = logging.getLogger(__name__)


class StepLog:
    """Collects the steps of one scheduler.

    Args:
        path: where the lines go; None: nowhere, and nothing is measured.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lines: list[str] = []
        self._step: dict[str, float] = {}
        self._waits: list[float] = []
        self._last_s = perf_counter()

    def mark(self, what: str) -> None:
        """Something is done: the time since the last mark was its."""
        if self._path is not None:
            now_s = perf_counter()
            self._step[what] = round(1e3 * (now_s - self._last_s), 3)
            self._last_s = now_s

    def end(self, *, requests: int, width: int, inputs: int, used: int, wait_s: float = 0.0) -> None:
        """The step is launched.

        Args:
            requests: of the step.
            width: most inputs of a request.
            inputs: of all requests, padding included.
            used: without it.
            wait_s: seconds in which the step waited for the constraint service.
        """
        if self._path is None:
            return
        facts = {"requests": requests, "width": width, "inputs": inputs, "used": used}
        wait = round(1e3 * wait_s, 3)
        self._lines.append(json.dumps({**facts, **self._step, "wait": wait}))
        self._step = {}
        self._waits.append(wait)
        if len(self._waits) == SUMMED_STEPS:
            _logger.info(
                "FactorSpec: milliseconds that steps waited for the service: %s", summary(self._waits)
            )
            self._waits = []
        if len(self._lines) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is collected; a file that cannot be written ends the log, not the server."""
        if self._path is not None and self._lines:
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write("\n".join(self._lines) + "\n")
            except OSError as error:
                _logger.warning("FACTORSPEC_STEP_LOG: steps are logged no more: %s", error)
                self._path = None
            self._lines = []


def summary(waits: Sequence[float]) -> dict[str, float]:
    """How long some steps waited: by nearest rank, in the unit that is given."""
    ordered = sorted(waits)

    def rank(share: float) -> float:
        return ordered[max(0, ceil(share * len(ordered)) - 1)]

    return {
        "steps": len(ordered),
        "p50": rank(0.5),
        "p99": rank(0.99),
        "most": ordered[-1],
    }

"""Where the host's time goes: a line of JSON for each verify step, for whoever tunes a server.

::

    {"requests": 64, "width": 40, "inputs": 1792, "used": 1733, "between": 1.9, "plans": 0.6, …}

Times are milliseconds of wall clock on the scheduler's thread, in the order in which things are done;
``between`` is what the scheduler did since the step before, waiting for the device included. Lines are
written some at a time.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

_AT_ONCE = 20


class StepLog:
    """Collects the steps of one scheduler.

    Args:
        path: where the lines go; None: nowhere, and nothing is measured.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lines: list[str] = []
        self._step: dict[str, float] = {}
        self._last_s = perf_counter()

    def mark(self, what: str) -> None:
        """Something is done: the time since the last mark was its."""
        if self._path is not None:
            now_s = perf_counter()
            self._step[what] = round(1e3 * (now_s - self._last_s), 3)
            self._last_s = now_s

    def end(self, *, requests: int, width: int, inputs: int, used: int) -> None:
        """The step is launched.

        Args:
            requests: of the step.
            width: most inputs of a request.
            inputs: of all requests, padding included.
            used: without it.
        """
        if self._path is None:
            return
        facts = {"requests": requests, "width": width, "inputs": inputs, "used": used}
        self._lines.append(json.dumps({**facts, **self._step}))
        self._step = {}
        if len(self._lines) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is collected."""
        if self._path is not None and self._lines:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n".join(self._lines) + "\n")
            self._lines = []

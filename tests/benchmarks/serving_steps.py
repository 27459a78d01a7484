"""What the scheduler did while a cell ran: its steps, and what FactorSpec's worker says of its own.

``serving_forced.py`` writes a line for each forward pass; ``FACTORSPEC_STEP_LOG`` names the worker's file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

#: variable that names the file of forward passes; modes that begin so read prompts
STEPS_VARIABLE = "FACTORSPEC_BENCHMARK_STEPS"
_READING = ("EXTEND", "MIXED", "IDLE")
#: a longer time between two steps is a pause of the client
_PAUSE_S = 1.0
#: of the worker's lines: those that count things, which are not times
_COUNTS = ("requests", "width", "inputs", "used")
#: a step is full that has so much of the most requests of any
_FULL = 0.75


class Pass(NamedTuple):
    """A forward pass, seconds of ``perf_counter``: when it was prepared and when it was launched."""

    begin_s: float
    end_s: float
    reads: bool
    requests: int


class StepFiles:
    """The files of one server; each reading goes on where the last one ended.

    Args:
        passes: of ``serving_forced``.
        worker: of FactorSpec's worker.
    """

    def __init__(self, passes: Path, worker: Path) -> None:
        self.passes, self.worker = passes, worker
        self._read: dict[Path, int] = {}

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server is told."""
        return {STEPS_VARIABLE: str(self.passes), "FACTORSPEC_STEP_LOG": str(self.worker)}

    def figures(self) -> dict[str, Any]:
        """Of what was written since they were read last."""
        passes = []
        for line in self._new(self.passes):
            begin, end, mode, requests = line.split()
            passes.append(Pass(float(begin), float(end), mode in _READING, int(requests)))
        lines = [line for line in map(json.loads, self._new(self.worker)) if "requests" in line]
        found = step_figures(passes)
        return {**found, "worker": worker_figures(lines)} if lines else found

    def _new(self, path: Path) -> Iterator[str]:
        if not path.exists():
            return
        with path.open(encoding="utf-8") as file:
            file.seek(self._read.get(path, 0))
            text = file.read()
            whole = text[: text.rfind("\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole.encode())
        yield from whole.splitlines()


def step_figures(passes: Sequence[Pass]) -> dict[str, Any]:
    """Milliseconds from step to step where no prompt was read, and of those what lay between two launches."""
    steps, between = [], []
    for one, other in pairwise(passes):
        apart = other.begin_s - one.begin_s
        if not (one.reads or other.reads) and apart < _PAUSE_S:
            steps.append(1e3 * apart)
            between.append(1e3 * (other.begin_s - one.end_s))
    return {
        "num_steps": sum(not each.reads for each in passes),
        "step_ms": quantiles(steps),
        "between_ms": quantiles(between),
    }


def worker_figures(lines: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Of each column p50 and p99; of counts the means. ``full_wait``: the wait of full steps alone, as a wave
    begins and ends with few requests, which may wait for longer.
    """
    columns: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        for name, value in line.items():
            columns[name].append(value)
    figures: dict[str, Any] = {
        name: round(sum(values) / len(values), 1) if name in _COUNTS else quantiles(values)
        for name, values in columns.items()
    }
    least = _FULL * max(columns["requests"], default=0)
    waits = [line["wait"] for line in lines if "wait" in line and line["requests"] >= least]
    return {**figures, "full_wait": quantiles(waits)} if waits else figures


def quantiles(values: Sequence[float]) -> list[float]:
    """p50 and p99; zeros of nothing."""
    if not values:
        return [0.0, 0.0]
    ranked = sorted(values)
    return [round(ranked[min(len(ranked) - 1, int(share * len(ranked)))], 3) for share in (0.5, 0.99)]

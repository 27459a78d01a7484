"""Results of the serving benchmark, read from the files of one or several runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.serving_costs import Points, bound_ms

Figures = dict[str, Any]


class Key(NamedTuple):
    """A cell."""

    engine: str
    workload: str
    in_flight: int


@dataclass
class Results:
    """Cells by their keys; of a cell that was run more than once the one of the last file.

    Attributes:
        cells: the figures.
        ran: when and on what each engine ran, in the order of the files.
        costs: milliseconds by filled inputs, as the workers measured them; else as prompts are read.
    """

    cells: dict[Key, Figures] = field(default_factory=dict)
    ran: dict[str, str] = field(default_factory=dict)
    costs: Points = field(default_factory=list)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Results:
        """From files that ``serving`` wrote."""
        found = cls()
        reading: Points = []
        for path in paths:
            report = json.loads(path.read_text(encoding="utf-8"))
            machine = report.get("machine", {})
            place = f"{report.get('began', '?')}, {machine.get('gpu', '?')}, {machine.get('cpus', '?')} cores"
            for row in report["rows"]:
                found.cells[Key(row["engine"], row["workload"], row["in_flight"])] = row
                found.ran[row["engine"]] = place
            for facts in report["engines"].values():
                reading = _points(facts.get("read_costs_ms")) or reading
                found.costs = _points(facts.get("worker_costs_ms")) or found.costs
        found.costs = found.costs or reading
        return found

    def figure(self, engine: str, workload: str, in_flight: int, name: str = "decode_ms") -> float | None:
        """A figure of a cell; None if it was not measured, or not all of its answers came."""
        cell = self.cells.get(Key(engine, workload, in_flight))
        if cell is None or cell.get("errors") or not cell.get(name):
            return None
        return float(cell[name])

    def workloads(self) -> list[str]:
        """Those that were run."""
        return list(dict.fromkeys(key.workload for key in self.cells))

    def engines(self, workload: str) -> list[str]:
        """Those that ran it."""
        return list(dict.fromkeys(key.engine for key in self.cells if key.workload == workload))

    def numbers(self, workload: str) -> list[int]:
        """Requests in flight, ascending."""
        return sorted({key.in_flight for key in self.cells if key.workload == workload})

    def bound_ms(self, workload: str, in_flight: int) -> float | None:
        """The least decode time, if a step's cost was measured: all in flight filled in one go."""
        tokens = [
            figures["tokens_record"]
            for key, figures in self.cells.items()
            if key[1:] == (workload, in_flight)
        ]
        if not tokens or not self.costs:
            return None
        return bound_ms(self.costs, in_flight, max(tokens))


def _points(raw: Sequence[Sequence[float]] | None) -> Points:
    return [(int(inputs), float(ms)) for inputs, ms in raw or ()]

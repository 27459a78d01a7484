"""Tables of the serving benchmark's results, and for each bar whether it is met.

    python -m tests.benchmarks.serving_bars FILE… [--ours factorspec]

Several files are several runs; of a cell that was run more than once the last file's counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.serving_records import TOOL, TOOL_NEW
from tests.benchmarks.serving_results import Results
from tests.benchmarks.serving_tables import tables

#: tokens by verify step on loose trips, beside the best n-gram shape
NGRAM_TIMES = 1.9
#: decode time on loose trips: XGrammar's by ours, and the best other configuration's by ours
XGRAMMAR_TIMES = {1: 15.0, 8: 10.0, 64: 3.5, 128: 2.5}
OTHERS_TIMES = {1: 4.0, 8: 4.0, 64: 2.5, 128: 2.5}
#: decode time of the best other configuration by ours, on other workloads
MORE_TIMES = {"trip-open": 1.3, TOOL: 1.15, TOOL_NEW: 1.15}
#: plain chat: decode time of stock SGLang by ours
CHAT_SHARE = 0.98
#: the step thread's wait for the constraint service at 128 in flight, p99 in milliseconds
WAIT_MS = 0.5
TRIPS = "trip"
_NGRAM = "ngram"


@dataclass(frozen=True)
class Bar:
    """One bar. figure: None: not measured. at_least: it must reach the bar, else it must not exceed it."""

    what: str
    figure: float | None
    bar: float
    at_least: bool = True

    @property
    def state(self) -> str:
        """``met``, ``missed`` or ``not measured``."""
        if self.figure is None:
            return "not measured"
        good = self.figure >= self.bar if self.at_least else self.figure <= self.bar
        return "met" if good else "missed"

    @property
    def line(self) -> str:
        """As it is shown."""
        shown = "-" if self.figure is None else f"{self.figure:.2f}"
        return f"{self.state:12}  {self.what}: {shown} ({'≥' if self.at_least else '≤'} {self.bar})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print tables and bars; 1 if one is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="of serving")
    parser.add_argument("--ours", default="factorspec", help="the engine that bars are about")
    options = parser.parse_args(arguments)
    results = Results.read(options.files)
    print("\n".join(tables(results, options.ours)))
    found = list(bars(results, options.ours))
    print("\n".join(bar.line for bar in found))
    return int(any(bar.state == "missed" for bar in found))


def bars(results: Results, ours: str) -> Iterator[Bar]:
    """All bars of the serving benchmark."""
    yield from _tokens_by_step(results, ours)
    for in_flight, bar in XGRAMMAR_TIMES.items():
        what = f"{TRIPS} at {in_flight}: decode time, xgrammar / {ours}"
        yield Bar(what, _times(results, ours, ["xgrammar"], TRIPS, in_flight), bar)
    for in_flight, bar in OTHERS_TIMES.items():
        yield _beside_others(results, ours, TRIPS, in_flight, bar)
    for workload, bar in MORE_TIMES.items():
        for in_flight in XGRAMMAR_TIMES:
            yield _beside_others(results, ours, workload, in_flight, bar)
    for in_flight in XGRAMMAR_TIMES:
        what = f"chat at {in_flight}: decode time, plain / {ours}"
        yield Bar(what, _times(results, ours, ["plain"], "chat", in_flight), CHAT_SHARE)
    yield Bar(
        f"p99 of the wait of full steps for the service at 128, ms, {ours}",
        wait_ms(results, ours),
        WAIT_MS,
        False,
    )


def _tokens_by_step(results: Results, ours: str) -> Iterator[Bar]:
    """The best shape at each number in flight."""
    shapes = [engine for engine in results.engines(TRIPS) if engine.startswith(_NGRAM)]
    for in_flight in XGRAMMAR_TIMES:
        rates = {shape: results.figure(shape, TRIPS, in_flight, "tokens_step") for shape in shapes}
        measured = {shape: rate for shape, rate in rates.items() if rate is not None}
        mine = results.figure(ours, TRIPS, in_flight, "tokens_step")
        best = max(measured, key=measured.__getitem__, default=None)
        times = None if best is None or mine is None else mine / measured[best]
        yield Bar(f"{TRIPS} at {in_flight}: tokens by step, {ours} / {best or _NGRAM}", times, NGRAM_TIMES)


def _beside_others(results: Results, ours: str, workload: str, in_flight: int, bar: float) -> Bar:
    others = [engine for engine in results.engines(workload) if not engine.startswith("factorspec")]
    times = {other: _times(results, ours, [other], workload, in_flight) for other in others}
    measured = {other: each for other, each in times.items() if each is not None}
    best = min(measured, key=measured.__getitem__, default=None)
    what = f"{workload} at {in_flight}: decode time, {best or 'best other'} / {ours}"
    return Bar(what, None if best is None else measured[best], bar)


def _times(results: Results, ours: str, others: Sequence[str], workload: str, in_flight: int) -> float | None:
    mine = results.figure(ours, workload, in_flight)
    theirs = [results.figure(other, workload, in_flight) for other in others]
    measured = [each for each in theirs if each is not None]
    return min(measured) / mine if mine and measured else None


def wait_ms(results: Results, ours: str) -> float | None:
    """The largest p99 of the wait of full steps over the workloads."""
    cells = [
        cell.get("worker", {})
        for key, cell in results.cells.items()
        if (key.engine, key.in_flight) == (ours, 128)
    ]
    return max([worker["full_wait"][1] for worker in cells if "full_wait" in worker], default=None)


if __name__ == "__main__":
    raise SystemExit(main())

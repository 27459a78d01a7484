"""The bars of the masks benchmark: what FactorSpec shall reach beside the libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.masks_runs import Facts

#: records per CPU second on schemas without relations, beside the wrapped library
PLAIN_SHARE = 0.95
#: records per CPU second where relations make runs certain, beside the faster library
RELATIONS_TIMES = 2.0
ROW_P99_US = 200.0
#: cold compile of schemas without relations, beside the wrapped library
COMPILE_TIMES = 1.2


@dataclass(frozen=True)
class Verdict:
    """One bar on one workload. at_least: the figure must reach the bar; else it must not exceed it."""

    workload: str
    what: str
    figure: float
    bar: float
    at_least: bool

    @property
    def passed(self) -> bool:
        """True if the figure is on the right side."""
        return self.figure >= self.bar if self.at_least else self.figure <= self.bar

    def facts(self) -> dict[str, str | float | bool]:
        """As the report has it."""
        return {
            "workload": self.workload,
            "what": self.what,
            "figure": round(self.figure, 3),
            "bar": round(self.bar, 3),
            "passed": self.passed,
        }

    def line(self) -> str:
        """For people."""
        sign = ">=" if self.at_least else "<="
        mark = "pass" if self.passed else "FAIL"
        return f"{mark}  {self.workload:18}{self.what:52}{self.figure:10.2f}  {sign} {self.bar:.2f}"


def verdicts(runs: Sequence[Facts], slowness: float) -> list[Verdict]:
    """All bars for which the runs hold the figures. ``slowness`` scales what is absolute."""
    by_workload: dict[str, dict[str, Facts]] = {}
    for run in runs:
        by_workload.setdefault(str(run["workload"]), {})[str(run["engine"])] = run
    return [
        verdict
        for workload, engines in by_workload.items()
        if "factorspec" in engines
        for verdict in _of_workload(workload, engines, slowness)
    ]


def _of_workload(workload: str, engines: dict[str, Facts], slowness: float) -> Iterator[Verdict]:
    own = engines["factorspec"]
    rate = _number(own, "records_per_cpu_s")
    row = _number(own, "row_p99_us")
    yield Verdict(workload, "row p99, µs", row, ROW_P99_US * max(1.0, slowness), at_least=False)
    wrapped = engines.get("xgrammar")
    if not own["relations"] and wrapped is not None:
        share = rate / _number(wrapped, "records_per_cpu_s")
        yield Verdict(workload, "records per CPU s / XGrammar's", share, PLAIN_SHARE, at_least=True)
        times = _number(own, "compile_ms") / _number(wrapped, "compile_ms")
        yield Verdict(workload, "cold compile / XGrammar's", times, COMPILE_TIMES, at_least=False)
    rates = [
        _number(engines[name], "records_per_cpu_s") for name in ("xgrammar", "llguidance") if name in engines
    ]
    if own["relations"] and rates:
        what = "records per CPU s / the faster library's"
        yield Verdict(workload, what, rate / max(rates), RELATIONS_TIMES, at_least=True)


def _number(facts: Facts, name: str) -> float:
    value = facts[name]
    assert isinstance(value, int | float)
    return float(value)

"""Tokens per verify step along gold records: FactorSpec's plans, forced tokens of grammars, n-gram drafters.

README.md in this folder explains the rule of counting, the drafters and the bars.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import track
from rich.table import Table

from factorspec_sdk.tokens import Canonical
from tests.benchmarks import drafts_again
from tests.benchmarks.calibration import REFERENCE_MS, calibrate_ms, machine
from tests.benchmarks.drafts_bars import verdicts
from tests.benchmarks.drafts_gold import Folders, Gold, Workload, workloads
from tests.benchmarks.drafts_runs import (
    CEILING,
    RECALLED,
    TREES,
    WIDTHS,
    Bench,
    Facts,
    Total,
    best_ngram,
    facts_of,
)
from tests.benchmarks.files import add_sources, write_report
from tests.benchmarks.masks_bench import vocabulary_of
from tests.benchmarks.masks_engine import Engine
from tests.benchmarks.masks_libraries import Llguidance, Xgrammar

_QWEN3_WIDTH = 151_936
_QWEN3_END = "<|im_end|>"
_OTHERS = 30


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    before_ms, began = calibrate_ms(), perf_counter()
    vocabulary = vocabulary_of(options.tokenizer, _QWEN3_WIDTH, _QWEN3_END)
    libraries: list[Engine] = [
        Xgrammar("xgrammar jump", vocabulary, cache=True, jump=True),
        Llguidance("llguidance ff", vocabulary, str(options.tokenizer), forced=True),
    ]
    canonical = Canonical(vocabulary)
    found = _Found(Bench(canonical, libraries))
    folders = Folders(options.data, options.bfcl, vocabulary)
    for workload in workloads():
        if not options.workload or workload.name in options.workload:
            if options.again:
                found.add_again(workload, folders, options.limit or None, canonical, options.again)
            else:
                found.add(workload, folders, options.limit or None)
    if options.again:
        found.add_other(folders, canonical, options.limit or _OTHERS)
    judged = [] if options.again else list(verdicts(found.runs))
    report = {
        "machine": machine(),
        "cal_ms": round(min(before_ms, calibrate_ms()), 2),
        "cal_reference_ms": REFERENCE_MS,
        "versions": {name: version(name) for name in ("xgrammar", "llguidance", "tokenizers", "numpy")},
        "tokenizer": vocabulary.hash,
        "limit": options.limit,
        "wall_s": round(perf_counter() - began, 1),
        "skipped": found.skipped,
        "left_out": found.left_out,
        "bars": [verdict.facts() for verdict in judged],
        "runs": found.runs,
    }
    write_report(options.json, report)
    for verdict in judged:
        print(verdict.line())
    return 0


@dataclass
class _Found:
    """What the workloads brought, printed as it comes."""

    bench: Bench
    console: Console = field(default_factory=Console)
    runs: list[Facts] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def add(self, workload: Workload, folders: Folders, limit: int | None) -> None:
        """Walk along a workload's records."""
        golds = workload.read(folders, limit)
        if isinstance(golds, str):
            self.skipped[workload.name] = golds
            self.console.print(f"{workload.name}: skipped: {golds}")
            return
        total = Total()
        for at in track(range(len(golds)), workload.name, console=Console(stderr=True)):
            self.bench.add(total, golds[at], [gold.record for gold in golds[max(0, at - RECALLED) : at]])
        runs = list(facts_of(workload.name, total))
        self.runs += runs
        self.left_out[workload.name] = total.left_out
        for has_choice in (True, False):
            if total.records[has_choice]:
                self.console.print(_table(workload.name, total, has_choice, runs))

    def add_again(
        self, workload: Workload, folders: Folders, limit: int | None, canonical: Canonical, times: int
    ) -> None:
        """Write a workload's records several times."""
        golds = workload.read(folders, limit)
        if isinstance(golds, str):
            self.skipped[workload.name] = golds
            self.console.print(f"{workload.name}: skipped: {golds}")
        else:
            self._write_again(workload.name, golds, canonical, times)

    def add_other(self, folders: Folders, canonical: Canonical, each: int) -> None:
        """Write different records of each spec, once."""
        golds = drafts_again.other_records(folders, canonical, each)
        self._write_again(drafts_again.OTHER, golds, canonical, 1)

    def _write_again(self, name: str, golds: Sequence[Gold], canonical: Canonical, times: int) -> None:
        again = drafts_again.Again(canonical)
        for gold in track(golds, name, console=Console(stderr=True)):
            again.write(gold, times)
        runs = list(again.facts(name))
        self.runs += runs
        self.left_out[name] = again.left_out
        self.console.print(drafts_again.table(runs, name, times))


def _table(workload: str, total: Total, has_choice: bool, runs: Sequence[Facts]) -> Table:
    """Tokens a step by drafter and width; of the n-gram shapes the best one at each width."""
    title = f"{workload}: {total.records[has_choice]} records {'with' if has_choice else 'without'} a choice"
    if has_choice and total.bound is not None:
        title += f", bound {total.bound:.2f} tokens a step"
    table = Table("drafter", *(str(width or "unlimited") for width in WIDTHS), title=title)
    rates = {
        (run["drafter"], run["width"]): f"{run['tokens_per_step']:.2f}"
        for run in runs
        if run["has_choice"] == has_choice
    }
    for name in (*TREES, CEILING, "xgrammar jump", "llguidance ff"):
        table.add_row(name, *(rates.get((name, width), "") for width in WIDTHS))
    for label, recalls in (("best n-gram", False), ("best n-gram that recalls", True)):
        best = [best_ngram(runs, width, has_choice=has_choice, recalls=recalls) for width in WIDTHS]
        table.add_row(label, *("" if run is None else f"{run['tokens_per_step']:.2f}" for run in best))
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.drafts", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/drafts.json"), metavar="OUT")
    parser.add_argument(
        "--workload",
        action="append",
        choices=[each.name for each in workloads()],
        help="may be repeated; all",
    )
    parser.add_argument(
        "--limit", type=int, default=60, metavar="N", help="most records of a workload; 0: all"
    )
    parser.add_argument(
        "--again",
        type=int,
        default=0,
        metavar="N",
        help="write each record N times and, in place of all else, measure guesses from earlier records",
    )
    add_sources(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Many sessions in one process: CPU time per token and per step, memory per session, and growth.

README.md in this folder explains the figures. One process; a random model chooses.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from factorspec_sdk.tokens import Canonical
from tests.benchmarks import masks_plain, masks_relations, masks_tools, sizes_invoice_after
from tests.benchmarks.calibration import REFERENCE_MS, calibrate_ms, machine
from tests.benchmarks.files import add_sources, write_report
from tests.benchmarks.masks_bench import vocabulary_of
from tests.benchmarks.masks_workload import Options, Task, Workload, document
from tests.benchmarks.sessions_growth import growth
from tests.benchmarks.sessions_runs import Facts, measured

#: bytes that a session may hold beside what it shares
SESSION_BYTES = 256 * 1024
#: growth of the process in the second half of many sessions, in percent
GROWTH_PERCENT = 2.0


def workloads() -> list[Workload]:
    """Trips, meetings, calendars, invoices, records with free strings, tool calls."""
    invoices = Workload("invoices", True, _invoices)
    plain = [each for each in masks_plain.workloads() if each.name == "plain_flat"]
    return [*masks_relations.workloads(), invoices, *plain, *masks_tools.workloads()]


def _invoices(options: Options) -> Sequence[Task]:
    return [Task("invoice", document(sizes_invoice_after.case().model), lambda number: number)]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    before_ms, began = calibrate_ms(), perf_counter()
    canonical = Canonical(vocabulary_of(options.tokenizer, options.width, options.end))
    given = Options(options.data, options.bfcl, options.specs, canonical)
    runs: list[Facts] = []
    skipped: dict[str, str] = {}
    for workload in workloads():
        if options.workload and workload.name not in options.workload:
            continue
        tasks = workload.read(given)
        if isinstance(tasks, str):
            skipped[workload.name] = tasks
            continue
        runs.append(measured(workload.name, tasks, canonical, options.sessions, options.steps))
        print(json.dumps(runs[-1]), flush=True)
    grown = growth(canonical, options.total, options.total_specs)
    print(json.dumps(grown), flush=True)
    bars = [
        *(
            _bar(f"{run['workload']}: bytes of a session", run["session_bytes"], SESSION_BYTES)
            for run in runs
        ),
        _bar("growth of the process, percent", grown["growth_percent"], GROWTH_PERCENT),
    ]
    report = {
        "machine": machine(),
        "cal_ms": round(min(before_ms, calibrate_ms()), 2),
        "cal_reference_ms": REFERENCE_MS,
        "versions": {name: version(name) for name in ("tokenizers", "numpy")},
        "wall_s": round(perf_counter() - began, 1),
        "skipped": skipped,
        "bars": bars,
        "runs": runs,
        "growth": grown,
    }
    write_report(options.json, report)
    print("\n".join(f"{'pass' if bar['passed'] else 'FAIL'}  {bar['what']}: {bar['figure']}" for bar in bars))
    return 0


def _bar(what: str, figure: object, bar: float) -> Facts:
    assert isinstance(figure, int | float)
    return {"what": what, "figure": figure, "bar": bar, "passed": figure <= bar}


def _parser() -> argparse.ArgumentParser:
    names = [each.name for each in workloads()]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sessions", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/sessions.json"), metavar="OUT")
    parser.add_argument("--workload", action="append", choices=names, help="may be repeated; all")
    parser.add_argument("--sessions", type=int, default=128, metavar="N", help="sessions at a time")
    parser.add_argument("--steps", type=int, default=100, metavar="N", help="steps of each of them")
    parser.add_argument("--specs", type=int, default=16, metavar="N", help="most specs of a workload")
    parser.add_argument(
        "--total", type=int, default=10_000, metavar="N", help="sessions that must leave nothing"
    )
    parser.add_argument("--total-specs", type=int, default=1_000, metavar="N", help="of so many specs")
    parser.add_argument("--width", type=int, help="columns of the logits; those of the tokenizer")
    parser.add_argument("--end", default="<|im_end|>", metavar="TOKEN", help="the token that ends a text")
    add_sources(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())

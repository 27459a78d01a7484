"""Masks and certain runs of FactorSpec beside the grammar masks of XGrammar and llguidance.

README.md in this folder explains the workloads, the output and the bars. One process on one core.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time

from tests.benchmarks import masks_plain, masks_relations, masks_tools
from tests.benchmarks.calibration import REFERENCE_MS, calibrate_ms, machine
from tests.benchmarks.files import add_sources, write_report
from tests.benchmarks.masks_workload import Options, Workload

ENGINES = (
    "factorspec",
    "xgrammar",
    "xgrammar+cache",
    "xgrammar+lazy",
    "xgrammar+jump",
    "llguidance",
    "llguidance+ff",
)
#: columns of Qwen3's logits; its tokenizer has fewer ids
_QWEN3_WIDTH = 151_936
_QWEN3_END = "<|im_end|>"


def workloads() -> list[Workload]:
    """All workloads, those without relations first."""
    return [*masks_plain.workloads(), *masks_tools.workloads(), *masks_relations.workloads()]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    core = _pin(options.core)
    # The libraries start their threads when they are imported.
    from tests.benchmarks.masks_bench import Bench

    before_ms = calibrate_ms(process_time)
    bench = Bench.load(options.tokenizer, _QWEN3_WIDTH, _QWEN3_END, options.engine or ENGINES)
    given = Options(options.data, options.bfcl, options.limit, bench.canonical)
    chosen = [each for each in workloads() if not options.workload or each.name in options.workload]
    if options.profile:
        for workload in chosen:
            bench.profile(workload, given, options.records)
        return 0
    began, skipped = perf_counter(), {}
    for workload in chosen:
        reason = bench.run(workload, given, options.records, options.rounds)
        if reason is not None:
            skipped[workload.name] = reason
            print(f"{workload.name}: skipped: {reason}", flush=True)
    cal_ms = round(min(before_ms, calibrate_ms(process_time)), 2)
    verdicts = bench.verdicts(cal_ms / REFERENCE_MS)
    report = {
        "machine": machine(),
        "core": core,
        "cal_ms": cal_ms,
        "cal_reference_ms": REFERENCE_MS,
        "versions": {name: version(name) for name in ("xgrammar", "llguidance", "tokenizers", "numpy")},
        "logit_width": bench.canonical.vocabulary.logit_width,
        "records_per_spec": options.records,
        "rounds": options.rounds,
        "wall_s": round(perf_counter() - began, 1),
        "skipped": skipped,
        "bars": [verdict.facts() for verdict in verdicts],
        "runs": bench.runs,
    }
    write_report(options.json, report)
    print("\n".join(["", *(verdict.line() for verdict in verdicts)]))
    return 0


def _pin(core: int | None) -> int | None:
    """Keep the process and its threads on one core; None where that is not possible."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    if not hasattr(os, "sched_setaffinity"):
        return None
    chosen = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen


def _parser() -> argparse.ArgumentParser:
    names = [each.name for each in workloads()]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.masks", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/masks.json"), metavar="OUT")
    parser.add_argument("--workload", action="append", choices=names, help="may be repeated; all")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be repeated; all")
    parser.add_argument("--limit", type=int, default=8, metavar="N", help="most specs of a workload")
    parser.add_argument("--records", type=int, default=10, metavar="N", help="records of each spec")
    parser.add_argument(
        "--rounds", type=int, default=2, metavar="N", help="the best of so many rounds counts"
    )
    parser.add_argument("--core", type=int, help="the core to run on; the last one")
    parser.add_argument("--profile", action="store_true", help="print where FactorSpec's time goes instead")
    add_sources(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())

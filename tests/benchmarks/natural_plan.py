"""NATURAL PLAN trips, meetings and calendars through the whole stack.

README.md in this folder explains the options and the output.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.calibration import REFERENCE_MS, calibrate_ms, machine
from tests.benchmarks.files import write_report
from tests.benchmarks.natural_plan_cases import TASKS, read_cases
from tests.benchmarks.natural_plan_runs import DECODERS, DRAFTING, random_runs, smollm2_runs
from tests.benchmarks.natural_plan_summary import Facts


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.variant not in TASKS[options.task].variants:
        raise SystemExit(f"variants of {options.task}: {', '.join(TASKS[options.task].variants)}")
    cases = read_cases(options.task, options.variant, options.data, options.limit)
    if not cases:
        raise SystemExit(f"no problems in {options.data}")
    before_ms = calibrate_ms()
    given = (cases, options.seed)
    runs = (
        random_runs(*given)
        if options.model == "random"
        else smollm2_runs(*given, options.decoders, options.drafting)
    )
    report = {
        "task": options.task,
        "variant": options.variant,
        "model": options.model,
        "seed": options.seed,
        "machine": machine(),
        "cal_ms": round(min(before_ms, calibrate_ms()), 2),
        "cal_reference_ms": REFERENCE_MS,
        "runs": runs,
    }
    write_report(options.json, report)
    for facts in runs:
        print(_line(facts))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.natural_plan", description=__doc__)
    parser.add_argument("--task", choices=[*TASKS], required=True)
    parser.add_argument("--variant", required=True)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with TASK.jsonl")
    parser.add_argument("--limit", type=int, metavar="N", help="this many problems, spread over the file")
    parser.add_argument("--model", choices=["random", "smollm2"], required=True)
    parser.add_argument(
        "--decoders", nargs="+", choices=DECODERS, default=DECODERS, help="of smollm2; all three are slow"
    )
    parser.add_argument(
        "--drafting",
        nargs="+",
        choices=DRAFTING,
        default=["auto"],
        help="of smollm2's factorspec decoder; a run for each, all on the same problems",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")
    return parser


def _line(facts: Facts) -> str:
    shown = {name: value for name, value in facts.items() if name not in ("decoder", "failures")}
    return f"{facts['decoder']}: " + ", ".join(f"{name} {value}" for name, value in shown.items())


if __name__ == "__main__":
    sys.exit(main())

"""Arithmetic, enums, schedules at the sizes that people meet; see README.md in this folder.

Cases are the modules ``sizes_<name>.py`` beside this one.
"""

import argparse
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import tests.benchmarks as here
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.engines.smollm2 import smollm2_dir
from tests.benchmarks.calibration import REFERENCE_MS, calibrate_ms, machine
from tests.benchmarks.files import write_report
from tests.benchmarks.size_case import SizeCase
from tests.benchmarks.size_runs import Facts, measure

_PREFIX = "sizes_"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    canonical = Canonical(Vocabulary.from_file(str(smollm2_dir() / "tokenizer.json")))
    before_ms, cases = calibrate_ms(), []
    for name in options.case or names():
        cases.append(measure(case_named(name), canonical, options.seed))
        print(line(cases[-1]), flush=True)
    report = {
        "seed": options.seed,
        "machine": machine(),
        "cal_ms": round(min(before_ms, calibrate_ms()), 2),
        "cal_reference_ms": REFERENCE_MS,
        "cases": cases,
    }
    write_report(options.json, report)
    return 0 if all(facts["valid"] == facts["records"] for facts in cases) else 1


def names() -> list[str]:
    """All cases, by file name."""
    found = (module.name for module in pkgutil.iter_modules(here.__path__))
    return sorted(name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX))


def case_named(name: str) -> SizeCase:
    """The case of one file."""
    made = import_module(f"{here.__name__}.{_PREFIX}{name}").case()
    assert isinstance(made, SizeCase)
    return made


def line(facts: Facts) -> str:
    """The figures of a case in one line."""
    shown = {name: value for name, value in facts.items() if name not in ("case", "failures")}
    return f"{facts['case']}: " + ", ".join(f"{name} {value}" for name, value in shown.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sizes", description=__doc__)
    parser.add_argument("--case", action="append", choices=names(), help="this case (may be repeated); all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""How fast SGLang writes records: FactorSpec beside XGrammar, n-grams, a solver and no schema at all.

    python -m tests.benchmarks.serving --workloads FILE --model DIR --json OUT [--engine NAME[:WORKLOAD+…],…]

README.md in this folder explains what is measured. Every engine writes the same gold tokens
(``serving_forced.py``), so weights may be random. One server at a time, started and stopped here; engines
that follow one another and need the same server share it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.files import write_report
from tests.benchmarks.serving_cells import FRESH, Cell, Row, run_cell, warm_up
from tests.benchmarks.serving_client import Client
from tests.benchmarks.serving_costs import read_costs, worker_costs
from tests.benchmarks.serving_figures import medians
from tests.benchmarks.serving_machine import gpu_memory_mb, machine
from tests.benchmarks.serving_records import Workloads, read_workloads
from tests.benchmarks.serving_servers import (
    CPU_FLAGS,
    ENGINES,
    GPU_FLAGS,
    PREFILLS,
    EngineKind,
    Server,
    python_path,
    write_entry_points,
)
from tests.benchmarks.serving_solver import PROCESSES, Solvers
from tests.benchmarks.serving_steps import StepFiles

_START_S = 240.0
_LEAST_LEFT_S = 15.0


@dataclass(frozen=True)
class Asked:
    """An engine that is wanted.

    Attributes:
        name: of it.
        workloads: those of this engine alone; none: those of all.
        in_flight: of a workload here, other numbers than those of all.
    """

    name: str
    workloads: tuple[str, ...] = ()
    in_flight: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def kind(self) -> EngineKind:
        """The engine."""
        return ENGINES[self.name]


@dataclass(frozen=True)
class Run:
    """What the command line asks for, and what was measured so far."""

    options: argparse.Namespace
    workloads: Workloads
    began_s: float
    report: dict[str, Any] = field(default_factory=lambda: {"engines": {}, "rows": []})

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return float(self.options.deadline) - (time.monotonic() - self.began_s)

    @property
    def url(self) -> str:
        """Where servers listen."""
        return f"http://127.0.0.1:{self.options.port}"

    def write(self) -> None:
        """Write what was measured so far."""
        write_report(self.options.json, self.report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the engines one after the other; what is measured is written after each cell."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers are stopped on the way out
    run = Run(options, read_workloads(options.workloads), time.monotonic())
    run.report.update(machine=machine(), began=time.strftime("%Y-%m-%d %H:%M"))
    with TemporaryDirectory(prefix="factorspec-serving-") as folder:
        write_entry_points(Path(folder))
        for together in sharing(options.engine):
            names = ", ".join(asked.name for asked in together)
            if run.left_s < options.least_s:
                print(f"{names}: left out, {run.left_s:.0f} s left")
                continue
            _together(run, together, Path(folder))
            run.write()
    return 0


def sharing(engines: Sequence[Asked]) -> list[list[Asked]]:
    """The engines in their order; those that follow one another and can share a server together."""
    found: list[list[Asked]] = []
    for asked in engines:
        if found and found[-1][0].kind.shares_server(asked.kind):
            found[-1].append(asked)
        else:
            found.append([asked])
    return found


def _together(run: Run, engines: Sequence[Asked], folder: Path) -> None:
    """One server and all cells on it; a second try with the stock prefill where the first does not start."""
    name = engines[0].name
    for prefill in dict.fromkeys((run.options.prefill, "default")):
        stem = run.options.json.with_name(f"{run.options.json.stem}.{name}.{prefill}")
        files = StepFiles(stem.with_suffix(".passes"), stem.with_suffix(".steps"))
        with ExitStack() as stack:
            server = stack.enter_context(_start(run, engines[0].kind, prefill, stem, folder, files))
            began = time.monotonic()
            ready_s = server.wait(run.url, min(_START_S, run.left_s - _LEAST_LEFT_S))
            if ready_s is None:
                print(f"{name} ({prefill}): no answer after {time.monotonic() - began:.0f} s")
                print(server.last_lines(60))
                continue
            print(f"{name} ({prefill}): ready after {ready_s:.0f} s", flush=True)
            facts = {"prefill": prefill, "ready_s": round(ready_s, 1), "gpu_memory_mb": gpu_memory_mb()}
            facts["worker_costs_ms"] = worker_costs(server.log.read_text(errors="replace"))
            solvers = None
            if any(asked.kind.solved for asked in engines):
                solvers = stack.enter_context(Solvers(run.options.solvers))
            asyncio.run(_engines(run, engines, Serving(server, files, solvers, facts)))
            if not server.is_alive:
                print(server.last_lines())
            return
    run.report["engines"] |= {asked.name: {"failed": True} for asked in engines}


def _start(run: Run, kind: EngineKind, prefill: str, stem: Path, folder: Path, files: StepFiles) -> Server:
    options = run.options
    common = CPU_FLAGS if options.cpu else f"{GPU_FLAGS} {PREFILLS[prefill]}"
    place = f"--model-path {options.model} --host 127.0.0.1 --port {options.port}"
    flags = f"{common} {place} {kind.flags} {options.flags}"
    environment = {"PYTHONPATH": python_path(folder), **kind.environment, **files.environment}
    if options.cpu:
        environment |= {"SGLANG_USE_CPU_ENGINE": "1", "OMP_NUM_THREADS": "1"}
    log = stem.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    for old in (files.passes, files.worker):
        old.unlink(missing_ok=True)
    return Server(flags, environment, log)


@dataclass(frozen=True)
class Serving:
    """A server that runs, and what belongs to it."""

    server: Server
    files: StepFiles
    solvers: Solvers | None
    facts: dict[str, Any]

    def cpu_s(self) -> float:
        """Processor seconds of server and solvers so far."""
        return self.server.cpu_s + (self.solvers.cpu_s if self.solvers else 0.0)


async def _engines(run: Run, engines: Sequence[Asked], serving: Serving) -> None:
    async with Client(run.url) as client:
        serving.facts["read_costs_ms"] = await read_costs(client, 1024 if run.options.cpu else 6144)
        for asked in engines:
            run.report["engines"][asked.name] = serving.facts
            await _workloads(run, client, asked, serving)
            serving.facts["alive"] = serving.server.is_alive


async def _workloads(run: Run, client: Client, asked: Asked, serving: Serving) -> None:
    options, seen = run.options, set[str]()
    for workload in asked.workloads or options.workload:
        records = run.workloads.get(workload, [])
        if not records:
            print(f"{workload}: no records")
            continue
        if run.left_s < _LEAST_LEFT_S:
            print(f"{asked.name} {workload}: left out, {run.left_s:.0f} s left")
            continue
        if asked.kind.solved and serving.solvers is not None:
            serving.solvers.warm_up(records)
        before = run.workloads.get(FRESH.get(workload, ""), [])
        solvers = serving.solvers if asked.kind.solved else None
        numbers = asked.in_flight.get(workload, options.in_flight)
        largest = Cell(workload, max(numbers), records, asked.kind, before, solvers)
        began = time.monotonic()
        await warm_up(client, largest)
        for in_flight in numbers:
            cell = replace(largest, in_flight=in_flight)
            row = await _cell(run, client, cell, seen, serving)
            if row:
                where = {"engine": asked.name, "workload": workload, "in_flight": in_flight}
                run.report["rows"].append({**where, **row})
                run.write()
                print(_line(workload, in_flight, row), flush=True)
        print(f"  {asked.name} {workload}: {time.monotonic() - began:.0f} s", flush=True)


async def _cell(run: Run, client: Client, cell: Cell, seen: set[str], serving: Serving) -> dict[str, Any]:
    """Figures of a cell; none where there is no time, or no server any more."""
    serving.files.figures()
    rows: list[Row] = []
    for repeat in range(run.options.repeats):
        if run.left_s < _LEAST_LEFT_S or not serving.server.is_alive:
            break
        rows.append(await run_cell(client, cell, repeat, seen, serving.cpu_s))
    if not rows:
        return {}
    return {**medians(rows), "gpu_memory_mb": gpu_memory_mb(), **serving.files.figures()}


def _line(workload: str, in_flight: int, row: dict[str, Any]) -> str:
    shown = (
        "decode_ms",
        "after_read_ms",
        "records_s",
        "tokens_step",
        "itl_p50_ms",
        "itl_p99_ms",
        "ttft_p50_ms",
        "cpu_s_1k",
        "cores",
        "step_ms",
        "between_ms",
    )
    values = "  ".join(f"{name} {row[name]}" for name in shown)
    worker = json.dumps({name: value for name, value in row.get("worker", {}).items() if name in _WORKER})
    return (
        f"  {workload:15} {in_flight:4}  {values}  gold {row['gold']}  {worker}  "
        f"errors {row['errors']} {row['error']}"
    )


_WORKER = ("wait", "plans", "inputs", "used")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", type=Path, required=True, metavar="FILE", help="of serving_workload")
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")
    parser.add_argument(
        "--engine",
        type=_engines_of(ENGINES),
        default=[Asked(name) for name in ("xgrammar", "ngram", "factorspec")],
        metavar="NAME[:WORKLOAD[@N/N…]+…],…",
        help="each with its own workloads, or those of --workload; a workload with its own --in-flight",
    )
    parser.add_argument("--workload", type=lambda text: text.split(","), default=["trip"])
    parser.add_argument("--in-flight", type=_numbers, default=[128, 64, 8, 1], metavar="N,N")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--deadline", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--least-s", type=float, default=100.0, help="no engine is started with less left")
    parser.add_argument("--prefill", choices=sorted(PREFILLS), default="full")
    parser.add_argument("--solvers", type=int, default=PROCESSES, help="processes of the solver's engine")
    parser.add_argument("--flags", default="", help="more flags of every server")
    parser.add_argument("--port", type=int, default=31337)
    parser.add_argument("--cpu", action="store_true", help="servers on this machine's processor")
    return parser


def _engines_of(known: dict[str, EngineKind]) -> Callable[[str], list[Asked]]:
    def read(text: str) -> list[Asked]:
        found = []
        for part in text.split(","):
            name, _, workloads = part.partition(":")
            if name not in known:
                raise argparse.ArgumentTypeError(f"no engine {name!r}; there are {', '.join(known)}")
            own = [one.partition("@") for one in workloads.split("+")] if workloads else []
            in_flight = {
                workload: _numbers(numbers.replace("/", ",")) for workload, _, numbers in own if numbers
            }
            found.append(Asked(name, tuple(workload for workload, _, _ in own), in_flight))
        return found

    return read


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    raise SystemExit(main())

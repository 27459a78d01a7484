"""How fast SGLang writes records: FactorSpec beside XGrammar, n-gram speculation and no schema at all.

    python -m tests.benchmarks.serving --workloads FILE --model DIR --json OUT [--engine NAME]

README.md in this folder explains what is measured. Every engine writes the same gold tokens
(``serving_forced.py``), so weights may be random. One server at a time, started and stopped here.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.files import write_report
from tests.benchmarks.serving_cells import Cell, Row, medians, run_cell, warm_up
from tests.benchmarks.serving_client import Client
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

_START_S = 240.0
_LEAST_LEFT_S = 15.0


@dataclass(frozen=True)
class Run:
    """What the command line asks for."""

    options: argparse.Namespace
    workloads: Workloads
    began_s: float

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return float(self.options.deadline) - (time.monotonic() - self.began_s)

    @property
    def url(self) -> str:
        """Where servers listen."""
        return f"http://127.0.0.1:{self.options.port}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the engines one after the other; what is measured is written after each."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers are stopped on the way out
    run = Run(options, read_workloads(options.workloads), time.monotonic())
    report: dict[str, Any] = {"machine": _machine(), "engines": {}, "rows": []}
    with TemporaryDirectory(prefix="factorspec-serving-") as folder:
        write_entry_points(Path(folder))
        for name in options.engine:
            if run.left_s < options.least_s:
                print(f"{name}: left out, {run.left_s:.0f} s left")
                continue
            facts, rows = _engine(run, name, Path(folder))
            report["engines"][name] = facts
            report["rows"] += [{"engine": name, **row} for row in rows]
            write_report(options.json, report)
    return 0


def _engine(run: Run, name: str, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One server and all cells on it; a second try with the stock prefill where the first does not start."""
    kind = ENGINES[name]
    for prefill in dict.fromkeys((run.options.prefill, "default")):
        with _start(run, name, kind, prefill, folder) as server:
            began = time.monotonic()
            ready_s = server.wait(run.url, min(_START_S, run.left_s - _LEAST_LEFT_S))
            if ready_s is None:
                print(f"{name} ({prefill}): no answer after {time.monotonic() - began:.0f} s")
                print(server.last_lines(60))
                continue
            print(f"{name} ({prefill}): ready after {ready_s:.0f} s", flush=True)
            rows = asyncio.run(_cells(run, kind, server))
            facts = {"prefill": prefill, "ready_s": round(ready_s, 1), "gpu_memory": _gpu_memory()}
            if not server.is_alive:
                print(server.last_lines())
            return {**facts, "alive": server.is_alive}, rows
    return {"failed": True}, []


def _start(run: Run, name: str, kind: EngineKind, prefill: str, folder: Path) -> Server:
    options = run.options
    common = CPU_FLAGS if options.cpu else f"{GPU_FLAGS} {PREFILLS[prefill]}"
    place = f"--model-path {options.model} --host 127.0.0.1 --port {options.port}"
    flags = f"{common} {place} {kind.flags} {options.flags}"
    environment = {"PYTHONPATH": python_path(folder), **kind.environment}
    if options.cpu:
        environment |= {"SGLANG_USE_CPU_ENGINE": "1", "OMP_NUM_THREADS": "1"}
    log = options.json.with_name(f"{options.json.stem}.{name}.{prefill}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    return Server(flags, environment, log)


async def _cells(run: Run, kind: EngineKind, server: Server) -> list[dict[str, Any]]:
    options, found = run.options, []
    seen: set[str] = set()
    async with Client(run.url) as client:
        for workload in options.workload:
            records = run.workloads.get(workload, [])
            if not records:
                print(f"{workload}: no records")
                continue
            await warm_up(client, records, max(options.in_flight), kind)
            for in_flight in options.in_flight:
                cell = Cell(workload, in_flight, records, kind)
                rows: list[Row] = []
                for repeat in range(options.repeats):
                    if run.left_s < _LEAST_LEFT_S or not server.is_alive:
                        break
                    rows.append(await run_cell(client, cell, repeat, seen, lambda: server.cpu_s))
                if rows:
                    row = medians(rows)
                    found.append({"workload": workload, "in_flight": in_flight, **row})
                    print(_line(workload, in_flight, row), flush=True)
    return found


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
    )
    values = "  ".join(f"{name} {row[name]}" for name in shown)
    return (
        f"  {workload:12} {in_flight:4}  {values}  gold {row['gold']}  errors {row['errors']} {row['error']}"
    )


def _machine() -> dict[str, str]:
    return {"gpu": _query("name,driver_version"), "cpus": str(len(os.sched_getaffinity(0)))}


def _gpu_memory() -> str:
    return _query("memory.used")


def _query(what: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "none"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", type=Path, required=True, metavar="FILE", help="of serving_workload")
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")
    parser.add_argument("--engine", type=_names(ENGINES), default=["xgrammar", "ngram", "factorspec"])
    parser.add_argument("--workload", type=lambda text: text.split(","), default=["trip"])
    parser.add_argument("--in-flight", type=_numbers, default=[128, 64, 8, 1], metavar="N,N")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--deadline", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--least-s", type=float, default=100.0, help="no engine is started with less left")
    parser.add_argument("--prefill", choices=sorted(PREFILLS), default="full")
    parser.add_argument("--flags", default="", help="more flags of every server")
    parser.add_argument("--port", type=int, default=31337)
    parser.add_argument("--cpu", action="store_true", help="servers on this machine's processor")
    return parser


def _names(known: dict[str, EngineKind]) -> Any:
    def read(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no engine {unknown[0]!r}; there are {', '.join(known)}")
        return names

    return read


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    raise SystemExit(main())

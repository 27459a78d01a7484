"""Functions of the public package ``bfcl-eval`` as schemas of tool calls (``bfcl_calls.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.benchmarks.bfcl_calls import HINT, data_folder, functions
from tests.benchmarks.masks_samples import value
from tests.benchmarks.masks_workload import Options, Task, Workload


def workloads() -> list[Workload]:
    """Tool calls with free strings."""
    return [Workload("tool_calls", False, _read)]


def _read(options: Options) -> Sequence[Task] | str:
    folder = data_folder(options.bfcl)
    if folder is None:
        return HINT
    known = list(functions(folder))
    count = min(options.limit, len(known))
    return [_task(*known[i * len(known) // count]) for i in range(count)]


def _task(name: str, schema: Any) -> Task:
    def record(number: int) -> Any:
        return value(schema, Random(f"{name} {number}"), schema)

    return Task(name, schema, record)

"""Tool calls: functions of the public package ``bfcl-eval`` (Berkeley Function Calling Leaderboard).

``pip install --no-deps bfcl-eval`` brings the data; its dependencies are many and not needed. Nothing of the
data is copied here: functions are read from the installed package or from ``--bfcl``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from tests.benchmarks.masks_samples import value
from tests.benchmarks.masks_workload import Options, Schema, Task, Workload

FILES = ("BFCL_v4_live_simple.json", "BFCL_v4_simple_python.json", "BFCL_v4_multiple.json")
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_KEPT = frozenset({"enum", "minimum", "maximum", "description"})


def workloads() -> list[Workload]:
    """Tool calls with free strings."""
    return [Workload("tool_calls", False, _read)]


def data_folder(given: Path | None) -> Path | None:
    """The folder with the data files: the given one, or the installed package's; None if there is none."""
    if given is not None:
        return given
    found = find_spec("bfcl_eval")
    return None if found is None or found.origin is None else Path(found.origin).parent / "data"


def _read(options: Options) -> Sequence[Task] | str:
    folder = data_folder(options.bfcl)
    if folder is None or not all((folder / name).is_file() for name in FILES):
        return "no bfcl-eval: pip install --no-deps bfcl-eval, or pass --bfcl DIR"
    functions = list(_functions(folder))
    count = min(options.limit, len(functions))
    return [_task(*functions[i * len(functions) // count]) for i in range(count)]


def _functions(folder: Path) -> Iterator[tuple[str, Schema]]:
    """Functions that take a free string, in the order of the files."""
    for file in FILES:
        for line in (folder / file).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            for function in entry["function"]:
                schema = _schema(function["parameters"])
                if schema is not None and _has_free_string(schema):
                    yield f"{entry['id']} {function['name']}", _call(function["name"], schema)


def _call(name: str, arguments: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _schema(given: Schema) -> Schema | None:
    """The function's parameters as JSON Schema; None where they say something that has no such form."""
    kind = _TYPES.get(given.get("type", ""), given.get("type"))
    if kind not in ("object", "array", "string", "integer", "number", "boolean"):
        return None
    made: Schema = {"type": kind, **{key: given[key] for key in _KEPT & given.keys()}}
    if kind == "object":
        parts = {name: _schema(part) for name, part in given.get("properties", {}).items()}
        if not parts or None in parts.values():
            return None
        required = [name for name in given.get("required", ()) if name in parts]
        made |= {"properties": parts, "required": required, "additionalProperties": False}
    if kind == "array":
        items = _schema(given.get("items", {}))
        if items is None:
            return None
        made["items"] = items
    return made if _is_sound(made) else None


def _is_sound(schema: Schema) -> bool:
    """False where the listed values are not of the type."""
    listed = schema.get("enum", ())
    return schema["type"] == "string" or not listed


def _has_free_string(schema: Schema) -> bool:
    if schema["type"] == "string":
        return "enum" not in schema
    parts = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return any(_has_free_string(part) for part in parts)


def _task(name: str, schema: Any) -> Task:
    def record(number: int) -> Any:
        return value(schema, Random(f"{name} {number}"), schema)

    return Task(name, schema, record)

"""Tool calls of the public package ``bfcl-eval`` (Berkeley Function Calling Leaderboard).

``pip install --no-deps bfcl-eval`` brings the data; its dependencies are many and not needed. Nothing of the
data is copied here: it is read from the installed package or from a folder that is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.benchmarks.masks_workload import Schema

#: questions that one function answers, with the arguments that are right
ANSWERED = ("BFCL_v4_live_simple.json", "BFCL_v4_simple_python.json")
#: questions beside several functions
OTHERS = ("BFCL_v4_multiple.json",)
HINT = "no bfcl-eval: pip install --no-deps bfcl-eval, or pass --bfcl DIR"

_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_KEPT = frozenset({"enum", "minimum", "maximum", "description"})


@dataclass(frozen=True)
class Call:
    """A question, the function that answers it, and what to call it with.

    schema: of the whole call, ``{"name": …, "arguments": …}``.
    """

    identifier: str
    messages: list[dict[str, str]]
    schema: Schema
    record: dict[str, Any]


def data_folder(given: Path | None) -> Path | None:
    """The folder with the data files: the given one, or the installed package's; None if there is none."""
    if given is None:
        found = find_spec("bfcl_eval")
        if found is None or found.origin is None:
            return None
        given = Path(found.origin).parent / "data"
    return given if all((given / name).is_file() for name in (*ANSWERED, *OTHERS)) else None


def functions(folder: Path) -> Iterator[tuple[str, Schema]]:
    """Names and call schemas of functions that take a free string, in the order of the files."""
    for file in (*ANSWERED, *OTHERS):
        for entry in _lines(folder / file):
            for function in entry["function"]:
                schema = _schema(function["parameters"])
                if schema is not None and _has_free_string(schema):
                    yield f"{entry['id']} {function['name']}", _call(function["name"], schema)


def answered_calls(folder: Path) -> Iterator[Call]:
    """Questions that one function answers, each with a right call."""
    for file in ANSWERED:
        truths = {entry["id"]: entry["ground_truth"] for entry in _lines(folder / "possible_answer" / file)}
        for entry in _lines(folder / file):
            (function,), (truth,) = entry["function"], truths[entry["id"]]
            (accepted,) = truth.values()
            schema = _schema(function["parameters"])
            if schema is not None:
                record = {"name": function["name"], "arguments": _first(accepted, schema)}
                messages = [_system(function), *entry["question"][0]]
                yield Call(entry["id"], messages, _call(function["name"], schema), record)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _system(function: Any) -> dict[str, str]:
    tool = json.dumps({"type": "function", "function": function}, ensure_ascii=False)
    form = 'Answer with a JSON object with its name and arguments: {"name": …, "arguments": {…}}'
    return {
        "role": "system",
        "content": f"# Tools\n\nYou may call this function:\n<tools>\n{tool}\n</tools>\n\n{form}",
    }


def _first(accepted: dict[str, list[Any]], schema: Schema) -> dict[str, Any]:
    """Of each argument the first accepted value, in the schema's order; ``""`` first: it is left out."""
    return {
        name: _value(accepted[name][0], part)
        for name, part in schema["properties"].items()
        if accepted.get(name) and (accepted[name][0] != "" or name in schema["required"])
    }


def _value(value: Any, schema: Schema) -> Any:
    if schema["type"] == "object" and isinstance(value, dict):
        return _first(value, schema)
    if schema["type"] == "array" and isinstance(value, list):
        return [_value(item, schema["items"]) for item in value]
    return value


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

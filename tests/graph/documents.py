"""Small documents for the tests of the graph."""

from __future__ import annotations

from typing import Any

from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.wire import parse_document

Json = dict[str, Any]


def integer(lo: int, hi: int) -> Json:
    """A bounded integer."""
    return {"type": "integer", "minimum": lo, "maximum": hi}


def record(properties: Json, relations: list[Json], tables: Json | None = None) -> Json:
    """A document whose root has these properties and relations."""
    vendor: Json = {"version": 1, "relations": [{"name": f"r{n}", **r} for n, r in enumerate(relations)]}
    if tables:
        vendor["tables"] = tables
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "x-factorspec": vendor,
    }


def compiled(properties: Json, relations: list[Json], tables: Json | None = None) -> CompiledSpec:
    """The compiled document."""
    return compile_spec(parse_document(record(properties, relations, tables)))


def feasible(spec: CompiledSpec, *choices: int) -> list[list[int]]:
    """Feasible indices of the first, second, ... slot, taking ``choices`` (indices) one after the other."""
    state, found = spec.feasibility.start(), []
    for slot, index in zip(spec.program.slots, [*choices, None], strict=False):
        values = spec.feasibility.values(state, slot.id)
        found.append(list(values) if len(values) < 6 else [values.first, values.last])
        if index is None:
            break
        state = spec.feasibility.assign(state, slot.id, index)
    return found

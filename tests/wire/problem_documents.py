"""Documents that are short to write, for what is wrong with them."""

import copy
from collections.abc import Callable
from typing import Any

from tests.wire.kept import kept

RANGE = {"type": "integer", "minimum": 1, "maximum": 9}
DAY = {
    "type": "string",
    "format": "date",
    "x-factorspec": {"domain": {"min": "2026-05-01", "max": "2026-05-31"}},
}


def value(schema: Any) -> dict[str, Any]:
    """A document with one property."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


def related(*relations: Any, **vendor: Any) -> dict[str, Any]:
    """A document with fields of every sort and these relations."""
    return {
        "type": "object",
        "properties": {
            "n": RANGE,
            "m": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
            "day": DAY,
            "city": {"enum": ["Rome", "Oslo"]},
            "flag": {"type": "boolean"},
            "free": {"type": "string"},
            "born": {"type": "string", "format": "date"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "open": {"type": "array", "items": RANGE},
            "stops": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "day": DAY}},
            },
            "shift": {"anyOf": [{"type": "object", "properties": {"n": RANGE}}, {"type": "null"}]},
        },
        "x-factorspec": {
            "version": 1,
            "tables": {"pairs": [["Rome", 1], ["Oslo", 2], ["Rome", 3]], "days": [["2026-05-01"]]},
            "relations": list(relations),
            **vendor,
        },
    }


def expr(expression: Any) -> dict[str, Any]:
    """A document with one expression."""
    return related({"kind": "intension", "name": "x", "expr": expression})


def op(name: str, *args: Any) -> dict[str, Any]:
    return {"op": name, "args": list(args)}


def ref(path: str) -> dict[str, Any]:
    return {"ref": path}


def const(value: Any, **more: Any) -> dict[str, Any]:
    return {"const": value, **more}


def changed(name: str, change: Callable[[Any], object]) -> dict[str, Any]:
    document = copy.deepcopy(kept(name))
    change(document)
    return document

"""The shrinker leaves what matters and nothing else."""

from __future__ import annotations

from typing import Any

from tests.differential.generate import document
from tests.differential.shrink import neighbours, shrunk


def test_what_matters_is_left() -> None:
    whole: dict[str, Any] = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 0, "maximum": 9},
            "b": {"enum": ["x", "y", "z"]},
            "c": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 0, "maxItems": 4},
        },
        "required": ["a", "b", "c"],
        "x-factorspec": {"version": 1, "relations": [{"name": "one"}, {"name": "two"}, {"name": "three"}]},
    }

    def fails(candidate: dict[str, Any]) -> bool:
        enum = candidate["properties"].get("b", {}).get("enum", ())
        return "y" in enum and any(r["name"] == "two" for r in candidate["x-factorspec"]["relations"])

    small = shrunk(whole, fails)
    assert small["properties"] == {"b": {"enum": ["y"]}}
    assert small["required"] == ["b"]
    assert small["x-factorspec"]["relations"] == [{"name": "two"}]


def test_neighbours_leave_the_document_alone() -> None:
    whole = document(7)
    before = repr(whole)
    assert sum(1 for _ in neighbours(whole)) > 3
    assert repr(whole) == before

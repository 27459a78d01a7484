"""The report on a spec: every keyword and relation with who enforces it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs

DOCUMENT: dict[str, Any] = {
    "$defs": {"Unused": {"type": "integer", "minimum": 3}, "Size": {"enum": ["S", "M"]}},
    "type": "object",
    "title": "An order",
    "properties": {
        "size": {"$ref": "#/$defs/Size"},
        "low": {"type": "integer", "minimum": 0, "maximum": 9},
        "high": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
        "note": {"type": "string", "maxLength": 5, "description": "free"},
        "code": {"type": "string", "pattern": "^[A-Z]$"},
        "any": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
    },
    "required": ["size", "low", "high", "note", "code", "any"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [
            {"name": "rising", "kind": "ordered", "over": ["$.low", "$.high"], "op": "lt"},
            {
                "name": "hint",
                "kind": "intension",
                "enforce": False,
                "expr": {"op": "lt", "args": [{"ref": "$.high"}, {"const": 5}]},
            },
        ],
    },
}


def test_every_keyword_is_said_once() -> None:
    found = fs.report(DOCUMENT)
    said = {part.pointer: part for part in found.parts}
    assert said["/properties/low"].keywords == ("maximum", "minimum", "type")
    assert said["/properties/low"].enforcement == "enforced"
    assert said["/properties/high"].keywords == ("exclusiveMaximum", "minimum", "type")
    assert said["/properties/note"].keywords == ("maxLength", "type")
    assert said["/properties/code"].enforcement == "delegated"
    assert said["/properties/any"].enforcement == "delegated"
    assert not any(pointer.startswith("/properties/any/") for pointer in said)
    assert said["/x-factorspec/relations/0"].enforcement == "enforced"
    assert said["/x-factorspec/relations/1"].enforcement == "validated only"
    assert not any("Unused" in pointer for pointer in said)
    assert any("enum" in part.keywords for part in found.parts)


def test_sizes_tiers_and_cost() -> None:
    found = fs.report(DOCUMENT)
    assert found.satisfiable is True
    assert found.num_free == 3
    (component,) = found.components
    assert component.relations == ("rising",)
    assert component.tier in ("search", "sets", "computed")
    assert component.exact
    assert found.compile_s > 0
    text = str(found)
    assert "satisfiable: yes" in text
    assert json.loads(json.dumps(found.as_json()))["components"][0]["tier"] == component.tier


def test_refused_keywords_are_listed_all_at_once() -> None:
    wrong = json.loads(json.dumps(DOCUMENT))
    wrong["properties"]["low"]["minimun"] = 1
    wrong["x-factorspec"]["relations"][0]["over"][0] = "$.lwo"
    found = fs.report(wrong)
    assert found.spec_hash is None
    assert found.satisfiable is None
    assert {part.enforcement for part in found.parts} == {"refused"}
    assert {part.pointer for part in found.parts} == {
        "/properties/low/minimun",
        "/x-factorspec/relations/0/over/0",
    }
    assert "(refused)" in str(found)


def test_a_conflict_is_reported() -> None:
    wrong = json.loads(json.dumps(DOCUMENT))
    falling = {"name": "falling", "kind": "ordered", "over": ["$.low", "$.high"], "op": "gt"}
    wrong["x-factorspec"]["relations"].append(falling)
    found = fs.report(wrong)
    assert found.satisfiable is False
    assert sorted(found.as_json()["conflict"]) == ["falling", "rising"]  # type: ignore[type-var, arg-type]


def test_models_when_their_class_is_made() -> None:
    @fs.lt("low", "high", name="rising")
    class Pair(BaseModel):
        low: Annotated[int, Field(ge=0, le=9)]
        high: Annotated[int, Field(ge=0, le=9)]
        kind: Literal["a", "b"]

    assert "relation 'rising'" in str(fs.report(Pair))

    @fs.le("low", fs.param("cap"))
    class Capped(BaseModel):
        low: Annotated[int, Field(ge=0, le=9)]

    with pytest.raises(fs.BindingError, match="cap"):
        fs.report(Capped)
    assert fs.report(fs.bind(Capped, cap=3)).satisfiable


def test_a_text_that_is_no_json_is_refused() -> None:
    assert fs.report("{").satisfiable is None


def test_a_relation_of_many_items_is_named_once() -> None:
    class Pair(BaseModel):
        a: Annotated[int, Field(ge=0, le=3)]
        b: Annotated[int, Field(ge=0, le=3)]

    fs.all_different("a", "b", name="differ")(Pair)

    @fs.sum_of("pairs[*].a", eq=4, name="adds up (to 4)")
    class Pairs(BaseModel):
        pairs: Annotated[list[Pair], Field(min_length=3, max_length=3)]

    (component,) = fs.report(Pairs).components
    assert len(component.relations) == 4
    assert str(component).endswith(": differ (pairs[0] and 2 more); adds up (to 4)")

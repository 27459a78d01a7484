"""Kept documents: what they mean, their hashes, and that key order and writing are no matter."""

import json
import random
from typing import Any

import pytest

from factorspec_sdk.fields.domains import EnumDomain, IntRange, StepDomain
from factorspec_sdk.wire import canonical_json, parse_document, relation_json, spec_hash
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    TextNode,
)
from tests.wire.kept import NAMES, kept

HASHES = {
    "invoice": "35261683457e325a570c8399f1e4460585fd1fb6db3d6ed82adac8d5d8d59a99",
    "meeting": "8b28738d0b6764453cd9f9e8ec3b170d4827c79909d03eaa3c49e07f850603ac",
    "plain": "802f989fa772e7aa68ac7f7707540a6cffedac99b219ba533d11acf4985d4667",
    "root_reference": "56ed1de6ed878a79371afb2377e841992e4bdefc6fc5f75c4078d3b5d907d99a",
    "trip": "b1c55442e019fc87a0bff585c7693ff3dbdd71e0e70f10cde3fe6ef6f439ecd2",
}


def shuffled(value: Any, seed: int) -> Any:
    """The same JSON with other orders of keys."""
    rng = random.Random(seed)

    def walk(part: Any) -> Any:
        if isinstance(part, dict):
            keys = list(part)
            rng.shuffle(keys)
            return {key: walk(part[key]) for key in keys}
        return [walk(item) for item in part] if isinstance(part, list) else part

    return walk(value)


def fields(node: SchemaNode) -> dict[str, SchemaNode]:
    assert isinstance(node, ObjectNode)
    return {known.name: known.node for known in node.properties}


@pytest.mark.parametrize("name", NAMES)
def test_hash_never_changes(name: str) -> None:
    assert parse_document(kept(name)).hash == HASHES[name]


@pytest.mark.parametrize("name", NAMES)
def test_text_bytes_and_mapping_are_one(name: str) -> None:
    text = json.dumps(kept(name))
    spec = parse_document(kept(name))
    assert parse_document(text) == spec
    assert parse_document(text.encode()) == spec
    assert hash(parse_document(json.dumps(kept(name), ensure_ascii=False).encode())) == hash(spec)


@pytest.mark.parametrize("name", NAMES)
def test_document_of_a_spec_reads_as_the_same_spec(name: str) -> None:
    spec = parse_document(kept(name))
    again = parse_document(spec.document)
    assert again == spec
    assert again.document == spec.document
    assert spec_hash(spec.document) == spec.hash
    assert canonical_json(spec.document) == canonical_json(again.document)
    for seed in range(5):
        assert parse_document(shuffled(spec.document, seed)) == spec


@pytest.mark.parametrize("name", NAMES)
def test_parsing_leaves_the_source_alone(name: str) -> None:
    document = kept(name)
    parse_document(document)
    assert document == kept(name)


@pytest.mark.parametrize("name", NAMES)
def test_relations_write_themselves_as_they_came(name: str) -> None:
    document = kept(name)
    spec = parse_document(document)
    seen = 0
    for node in [spec.root, *_objects(spec.root)]:
        for relation, place in zip(node.relations, node.relation_pointers, strict=True):
            assert relation_json(relation) == _at(document, place)
            seen += 1
    assert seen == json.dumps(document).count('"kind"')


def _objects(node: SchemaNode) -> list[ObjectNode]:
    found: list[ObjectNode] = []
    for below in fields(node).values():
        inner = below.item if isinstance(below, ArrayNode) else below
        if isinstance(inner, ObjectNode):
            found += [inner, *_objects(inner)]
    return found


def _at(document: Any, place: str) -> Any:
    for step in place.split("/")[1:]:
        document = document[int(step) if isinstance(document, list) else step]
    return document


def test_the_order_of_properties_is_meaning() -> None:
    document: dict[str, Any] = {
        "type": "object",
        "properties": {"b": {"enum": [1]}, "a": {"enum": [1]}},
        "required": ["a", "b"],
    }
    spec = parse_document(document)
    assert list(fields(spec.root)) == ["b", "a"]
    explicit = {**document, "x-factorspec": {"version": 1, "order": ["b", "a"]}}
    assert parse_document(explicit) == spec
    other = {**document, "x-factorspec": {"version": 1, "order": ["a", "b"]}}
    assert list(fields(parse_document(other).root)) == ["a", "b"]
    assert parse_document(other) != spec


def test_trip_reads_as_meant() -> None:
    spec = parse_document(kept("trip"))
    stops = fields(spec.root)["stops"]
    assert isinstance(stops, ArrayNode)
    assert (stops.min_items, stops.max_items, stops.item.pointer) == (2, 3, "/$defs/Stop")
    stop = fields(stops.item)
    assert stop["city"] == FiniteNode("/$defs/Stop/properties/city", EnumDomain(("Rome", "Oslo", "Zürich")))
    assert stop["arrive"] == FiniteNode("/$defs/Stop/properties/arrive", IntRange(1, 9))
    assert stop["note"] == TextNode("/$defs/Stop/properties/note", 0, 80, None)
    assert spec.root.tables["stays"] == (("Rome", 3), ("Oslo", 2), ("Zürich", 4))
    assert spec.root.relation_pointers[1] == "/x-factorspec/relations/1"


def test_meeting_reads_as_meant() -> None:
    read = fields(parse_document(kept("meeting")).root)
    day, due, start = read["day"], read["due"], read["start"]
    assert isinstance(day, FiniteNode) and isinstance(due, FiniteNode) and isinstance(start, FiniteNode)
    assert isinstance(day.domain, StepDomain) and len(day.domain) == 31
    assert [due.domain.value(i) for i in (0, 8, 9)] == ["2026-05-01", "2026-06-26", None]
    assert due.domain.code_type == "date"
    assert start.domain.text(1) == '"08:15:00"'


def test_plain_leaves_free_parts_to_the_grammar() -> None:
    read = fields(parse_document(kept("plain")).root)
    tree = read["tree"]
    assert isinstance(tree, ObjectNode)
    children = fields(tree)["children"]
    node: dict[str, Any] = {
        "type": "object",
        "properties": {
            "value": {"type": "number", "minimum": 0, "maximum": 1},
            "children": {"type": "array", "items": {"$ref": "#/$defs/d0"}},
        },
        "required": ["value", "children"],
        "additionalProperties": False,
    }
    assert isinstance(children, FreeNode)
    assert children.schema == {"type": "array", "items": {"$ref": "#/$defs/d0"}, "$defs": {"d0": node}}
    assert read["age"] == FreeNode("/properties/age", {"type": "integer", "minimum": 0})


def test_nullable_keeps_finite_domains_finite() -> None:
    read = fields(parse_document(kept("invoice")).root)
    shipping = read["shipping"]
    assert isinstance(shipping, FiniteNode)
    assert len(shipping.domain) == 502
    assert shipping.domain.code_type == "int"
    assert isinstance(read["reference"], NullableNode)


def test_long_lists_without_relations_are_left_to_the_grammar() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    node = fields(parse_document({"type": "object", "properties": {"a": _list(item, 500)}}).root)["a"]
    assert isinstance(node, FreeNode)
    assert node.schema["maxItems"] == 500
    bounded = {"type": "string", "maxLength": 5}
    node = fields(parse_document({"type": "object", "properties": {"a": _list(bounded, 500)}}).root)["a"]
    assert isinstance(node, ArrayNode)


def test_long_lists_with_relations_are_ours() -> None:
    document = {
        "type": "object",
        "properties": {"a": _list({"enum": [1, 2]}, 500)},
        "x-factorspec": {
            "version": 1,
            "relations": [{"kind": "sum", "name": "s", "over": ["a[*]"], "op": "eq", "value": {"const": 3}}],
        },
    }
    assert isinstance(fields(parse_document(document).root)["a"], ArrayNode)


def _list(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


@pytest.mark.parametrize("kind", ["object", ["object", "null"]])
def test_the_order_of_every_object_is_explicit(kind: Any) -> None:
    def document(*names: str) -> dict[str, Any]:
        inner = {"type": kind, "properties": {name: {"enum": [1]} for name in names}}
        return {
            "$defs": {"D": inner},
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": inner, "maxItems": 2},
                "b": {"$ref": "#/$defs/D"},
                "c": {"anyOf": [{"type": "null"}, inner]},
                "d": {"type": "array", "items": inner},
            },
        }

    text = canonical_json(parse_document(document("y", "x")).document)
    assert text.count('"order":["y","x"]') == 4
    assert parse_document(document("y", "x")) != parse_document(document("x", "y"))
    assert parse_document(shuffled(json.loads(text), 1)) == parse_document(document("y", "x"))


def test_a_number_keeps_its_tightest_bounds() -> None:
    number = {"type": "number", "minimum": 0, "exclusiveMinimum": 0, "maximum": 1, "exclusiveMaximum": 2}
    node = fields(parse_document({"type": "object", "properties": {"a": number}}).root)["a"]
    assert node == FreeNode("/properties/a", {"type": "number", "exclusiveMinimum": 0, "maximum": 1})

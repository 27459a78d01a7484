"""Which branch of a union a JSON value takes: forms are compared, patterns and text lengths are not.

That is all that branches are told apart by (``branches.py``), so a value fits one branch at most if they are.
Parts for the grammar library are judged by the schemas that ``free.py`` writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.branches import json_type
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NeverNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    TextNode,
    UnionNode,
)


def taken_branch(union: UnionNode, value: object) -> SchemaNode | None:
    """The first branch that a JSON value fits; None if it fits none."""
    return next((branch for branch in union.branches if fits(branch, value)), None)


def fits(node: SchemaNode, value: object) -> bool:
    """True if a value has the form of the node. O(size of the value)."""
    match node:
        case FiniteNode():
            return node.domain.index(value) is not None
        case TextNode():
            return isinstance(value, str)
        case NullableNode():
            return value is None or fits(node.inner, value)
        case UnionNode():
            return taken_branch(node, value) is not None
        case ArrayNode():
            if not isinstance(value, list):
                return False
            return node.min_items <= len(value) <= node.max_items and all(fits(node.item, v) for v in value)
        case ObjectNode():
            return isinstance(value, Mapping) and _fits_object(node, value)
        case NeverNode():
            return False
        case FreeNode():
            definitions = node.schema.get("$defs", {})
            assert isinstance(definitions, dict)
            return _admits(node.schema, value, definitions)


def _fits_object(node: ObjectNode, value: Mapping[str, object]) -> bool:
    known = {part.name: part.node for part in node.properties}
    if not all(part.name in value for part in node.properties if part.required):
        return False
    return all(name in known and fits(known[name], item) for name, item in value.items())


def _admits(schema: JsonValue, value: object, definitions: dict[str, JsonValue]) -> bool:
    """The same for a schema that the grammar library gets."""
    if isinstance(schema, bool):
        return schema
    assert isinstance(schema, dict)
    if "$ref" in schema:
        return _admits(definitions[str(schema["$ref"]).rsplit("/", 1)[-1]], value, definitions)
    if "anyOf" in schema:
        branches = schema["anyOf"]
        assert isinstance(branches, list)
        return any(_admits(branch, value, definitions) for branch in branches)
    if "enum" in schema:
        listed = schema["enum"]
        assert isinstance(listed, list)
        return any(type(value) is type(one) and value == one for one in listed)
    kind = json_type(value)
    if schema.get("type", kind) not in (kind, "integer" if kind == "number" else kind):
        return False
    if isinstance(value, list) and "items" in schema:
        least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
        assert isinstance(least, int) and isinstance(most, int)
        return least <= len(value) <= most and all(_admits(schema["items"], v, definitions) for v in value)
    if isinstance(value, Mapping) and "properties" in schema:
        properties, required = schema["properties"], schema["required"]
        assert isinstance(properties, dict) and isinstance(required, list)
        return all(name in value for name in required) and all(
            name in properties and _admits(properties[name], item, definitions)
            for name, item in value.items()
        )
    return _in_bounds(schema, value)


def _in_bounds(schema: dict[str, JsonValue], value: object) -> bool:
    """True for what is no number, and for numbers between the bounds of an integer."""
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    if schema.get("type") == "integer" and value != int(value):
        return False
    above = not isinstance(least, int | float) or value >= least
    return above and (not isinstance(most, int | float) or value <= most)

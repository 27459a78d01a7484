"""A record's form, as a prompt shows it: an object of the right shape, its values taken from the domains.

The values are the first ones of each domain, and break relations: they show how a value is written, no more.
"""

from __future__ import annotations

import json

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.wire import Spec
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

_ITEMS = 2
_DEEPEST = 8
_TEXT = "…"
_FREE: dict[object, JsonValue] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def form_of(spec: Spec) -> str:
    """The JSON text of an object in the record's shape; lists have two items where they may."""
    return json.dumps(_shape(spec.root, 0, _DEEPEST), ensure_ascii=False)


def _value(domain: Domain, at: int) -> JsonValue:
    """The value at this place, counted round; null only where there is no other."""
    value = domain.value(at % len(domain)) if len(domain) else None
    return domain.value(0) if value is None and len(domain) > 1 else value


def _shape(node: SchemaNode, at: int, depth: int) -> JsonValue:
    """A value for a node; ``at`` counts the items of the list around it, so that these differ."""
    if not depth:
        return None
    match node:
        case ObjectNode():
            return {one.name: _shape(one.node, at, depth - 1) for one in node.properties}
        case ArrayNode():
            return [_shape(node.item, item, depth - 1) for item in range(min(_ITEMS, node.max_items))]
        case FiniteNode():
            return _value(node.domain, at)
        case NullableNode():
            return _shape(node.inner, at, depth)
        case UnionNode():
            return _shape(node.branches[0], at, depth)
        case TextNode():
            return _TEXT
        case FreeNode():
            return _FREE.get(node.schema.get("type"), _TEXT)
        case NeverNode():
            return None

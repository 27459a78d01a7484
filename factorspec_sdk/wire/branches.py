"""Branches of unions: whether a value can fit two of them.

What tells branches apart: JSON types, listed values, the keys of closed objects, the lengths of lists, and
the same below. Which branch a given value takes: ``fits.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import assert_never

from factorspec_sdk.fields.domains import Domain, EnumDomain
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
    children,
)

#: pairs of nodes that are compared to tell the branches of one union apart
MAX_PAIRS = 100_000
#: values of a domain that are looked up in another one
_MAX_VALUES = 20_000
_JSON_TYPES: dict[str, frozenset[str]] = {
    "integer": frozenset({"number"}), "number": frozenset({"number"}), "string": frozenset({"string"}),
    "boolean": frozenset({"boolean"}), "null": frozenset({"null"}), "array": frozenset({"array"}),
    "object": frozenset({"object"}),
}  # fmt: skip
_NULL = EnumDomain((None,))
_ANY_TYPE = frozenset().union(*_JSON_TYPES.values())


Resolve = Callable[[FreeNode], SchemaNode | None]


def are_apart(branches: Sequence[SchemaNode], resolve: Resolve = lambda _: None) -> bool:
    """True if no JSON value can fit two of the branches. At most ``MAX_PAIRS`` pairs of nodes are compared.

    resolve: what a reference into a recursion refers to.
    """
    comparison = _Comparison(resolve)
    return all(comparison.apart(one, other) for one, other in combinations(branches, 2))


class _Comparison:
    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._known: dict[tuple[int, int], bool] = {}

    def apart(self, one: SchemaNode, other: SchemaNode) -> bool:
        """False where it cannot be told."""
        one, other = self._target(one), self._target(other)
        key = (id(one), id(other))
        if key not in self._known:
            if len(self._known) >= MAX_PAIRS:
                return False
            self._known[key] = False  # a pair that is met again inside itself
            self._known[key] = self._apart(one, other)
        return self._known[key]

    def _target(self, node: SchemaNode) -> SchemaNode:
        found = self._resolve(node) if isinstance(node, FreeNode) else None
        return node if found is None else found

    def _apart(self, one: SchemaNode, other: SchemaNode) -> bool:
        for left, right in ((one, other), (other, one)):
            if isinstance(left, UnionNode):
                return all(self.apart(branch, right) for branch in left.branches)
            if isinstance(left, NullableNode):
                return self.apart(FiniteNode(left.pointer, _NULL), right) and self.apart(left.inner, right)
        assert not isinstance(one, NullableNode | UnionNode)
        assert not isinstance(other, NullableNode | UnionNode)
        if not json_types(one) & json_types(other):
            return True
        if isinstance(one, FiniteNode) and isinstance(other, FiniteNode):
            return _share_no_value(one.domain, other.domain)
        if isinstance(one, ObjectNode) and isinstance(other, ObjectNode):
            return self._objects(one, other)
        if isinstance(one, ArrayNode) and isinstance(other, ArrayNode):
            if one.max_items < other.min_items or other.max_items < one.min_items:
                return True
            return max(one.min_items, other.min_items) > 0 and self.apart(one.item, other.item)
        return False

    def _objects(self, one: ObjectNode, other: ObjectNode) -> bool:
        """A key that only one may hold and must hold, or a shared key whose values are apart."""
        left = {known.name: known for known in one.properties}
        right = {known.name: known for known in other.properties}
        if any(known.required for name, known in left.items() if name not in right):
            return True
        if any(known.required for name, known in right.items() if name not in left):
            return True
        shared = [(known, right[name]) for name, known in left.items() if name in right]
        return any((a.required or b.required) and self.apart(a.node, b.node) for a, b in shared)


def json_types(node: ObjectNode | ArrayNode | TextNode | FiniteNode | FreeNode | NeverNode) -> frozenset[str]:
    """The JSON types that a value of the node may have; integers are numbers."""
    match node:
        case ObjectNode():
            return _JSON_TYPES["object"]
        case ArrayNode():
            return _JSON_TYPES["array"]
        case TextNode():
            return _JSON_TYPES["string"]
        case FiniteNode():
            return _types_of_domain(node.domain)
        case NeverNode():
            return frozenset()
        case FreeNode():
            name = node.schema.get("type")
            return _JSON_TYPES.get(name, _ANY_TYPE) if isinstance(name, str) else _ANY_TYPE
        case _:
            assert_never(node)


def _types_of_domain(domain: Domain) -> frozenset[str]:
    if domain.stride is not None:
        return _JSON_TYPES["string" if isinstance(domain.value(0), str) else "number"]
    return frozenset(json_type(domain.value(index)) for index in range(len(domain)))


def json_type(value: object) -> str:
    """The JSON type of a value; integers are numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def _share_no_value(one: Domain, other: Domain) -> bool:
    small, large = sorted((one, other), key=len)
    if len(small) <= _MAX_VALUES:
        return all(large.index(small.value(index)) is None for index in range(len(small)))
    a, b = one.integers, other.integers
    return a is not None and b is not None and (a.hi < b.lo or b.hi < a.lo)


def branches_of(node: SchemaNode) -> Iterator[SchemaNode]:
    """The node itself, if it has a value; of a union, or one that may be null, what stands in it."""
    match node:
        case NeverNode():
            return
        case NullableNode():
            yield from branches_of(node.inner)
        case UnionNode():
            for branch in node.branches:
                yield from branches_of(branch)
        case _:
            yield node


def has_end(node: SchemaNode) -> bool:
    """True if a recursion ends in the node itself, or in one of its branches."""
    if isinstance(node, NullableNode | UnionNode):
        return any(map(has_end, children(node)))
    return isinstance(node, NeverNode)


def unions_of(node: SchemaNode) -> Iterator[UnionNode]:
    """The unions between the node and its ``branches_of``."""
    if isinstance(node, NullableNode):
        yield from unions_of(node.inner)
    elif isinstance(node, UnionNode):
        yield node
        for branch in node.branches:
            yield from unions_of(branch)


def first_relation(node: SchemaNode, seen: set[int]) -> str | None:
    """The pointer of some relation in the node, None if there is none. ``seen``: nodes without any."""
    if id(node) in seen:
        return None
    seen.add(id(node))
    if isinstance(node, ObjectNode) and node.relation_pointers:
        return node.relation_pointers[0]
    return next(filter(None, (first_relation(inner, seen) for inner in children(node))), None)

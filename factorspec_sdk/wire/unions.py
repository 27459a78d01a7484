"""Unions: ``anyOf`` and ``oneOf`` over schemas that are read already.

Listed values of all branches become one domain, null joins it or stands around the rest; what is left are
branches. ``oneOf`` needs branches that no value shares (``branches.py``); of ``anyOf`` branches that may
share values, relations know nothing. ``discriminator`` says what the branches must show by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.decimals import is_decimal
from factorspec_sdk.fields.domains import CodeType, EnumDomain, Scalar, moment_of, typed_key
from factorspec_sdk.wire.branches import Resolve, are_apart, branches_of, unions_of
from factorspec_sdk.wire.finite import NULL_ONLY, nullable
from factorspec_sdk.wire.keywords import Schema
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import (
    FiniteNode,
    FreeNode,
    NeverNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    UnionNode,
)

#: ranges of more values stay branches of their own, which relations read as sets
_LISTED = 256


def union_of(
    branches: Sequence[SchemaNode], place: str, *, exclusive: bool, limits: Limits, problems: Problems
) -> SchemaNode | None:
    """One node for some branches; ``exclusive``: a value fits exactly one (``oneOf``). None if refused.

    Whether branches are apart is not looked at, but for listed values: see ``check_unions``.
    """
    if exclusive and all(isinstance(branch, FiniteNode) for branch in branches) and not are_apart(branches):
        return _exactly_one(branches, pointer(place, "oneOf"), limits, problems)
    parts = _Parts(limits)
    for branch in branches:
        parts.add(branch)
    rest = parts.branches(place)
    node = rest[0] if len(rest) == 1 else UnionNode(place, tuple(rest))
    return nullable(node, place, limits) if parts.null_outside else node


@dataclass
class _Parts:
    """Branches as they are added: groups of listed values, wide domains, everything else.

    null_outside: null is not among the values of ``branches``.
    """

    limits: Limits
    null: bool = False
    null_outside: bool = False
    finite: list[FiniteNode] = field(default_factory=list)
    others: list[SchemaNode] = field(default_factory=list)

    def add(self, node: SchemaNode) -> None:
        match node:
            case NullableNode():
                self.null = True
                self.add(node.inner)
            case FiniteNode():
                self._add_finite(node)
            case _:
                self.others.append(node)

    def _add_finite(self, node: FiniteNode) -> None:
        if node.domain.index(None) is not None:
            self.null = True
            values = tuple(value for _, value in _keys(node) if value is not None)
            if not values:
                return
            node = FiniteNode(node.pointer, EnumDomain(values, node.domain.code_type))
        for at, other in enumerate(self.finite):
            joined = self._joined(other, node)
            if joined is not None:
                self.finite[at] = joined
                return
        self.finite.append(node)

    def _joined(self, one: FiniteNode, other: FiniteNode) -> FiniteNode | None:
        """Both as one list of values, where they are short or share values."""
        if len(one.domain) + len(other.domain) > self.limits.enum_values:
            return None
        if any(is_decimal(node.domain.code_type) for node in (one, other)):
            return None
        if not (_is_short(one) and _is_short(other)) and are_apart((one, other)):
            return None
        values = dict.fromkeys(_keys(one))
        values.update(dict.fromkeys(_keys(other)))
        moments = {t for t in (one.domain.code_type, other.domain.code_type) if t in ("date", "time")}
        kind: CodeType | None = moments.pop() if len(moments) == 1 else None
        return FiniteNode(one.pointer, EnumDomain(tuple(value for _, value in values), kind))

    def branches(self, place: str) -> list[SchemaNode]:
        """The branches, null in one of them if there is room for it."""
        if not self.null:
            return [*self.finite, *self.others]
        for at, node in enumerate(self.finite):
            if _is_short(node):
                values = (*(value for _, value in _keys(node)), None)
                self.finite[at] = FiniteNode(node.pointer, EnumDomain(values, node.domain.code_type))
                return [*self.finite, *self.others]
        if not self.others and len(self.finite) != 1:
            return [*self.finite, FiniteNode(place, NULL_ONLY)]
        self.null_outside = True
        return [*self.finite, *self.others]


def _is_short(node: FiniteNode) -> bool:
    kind = node.domain.code_type
    plain = moment_of(kind) is None and not is_decimal(kind)
    return plain and (len(node.domain) <= _LISTED or isinstance(node.domain, EnumDomain))


def _keys(node: FiniteNode) -> list[tuple[str, Scalar]]:
    values = map(node.domain.value, range(len(node.domain)))
    return [typed_key(value) for value in values if not isinstance(value, float)]


def _exactly_one(
    branches: Sequence[SchemaNode], place: str, limits: Limits, problems: Problems
) -> SchemaNode | None:
    """``oneOf`` over listed values: those that stand in one list only."""
    finite = [branch for branch in branches if isinstance(branch, FiniteNode)]
    if any(is_decimal(node.domain.code_type) for node in finite):
        problems.refuse(place, "oneOf of decimals that share values is not enforced", hint="write anyOf")
        return None
    if sum(len(node.domain) for node in finite) > limits.enum_values:
        problems.refuse(place, f"oneOf over more than {limits.enum_values} values that are shared")
        return None
    counted = Counter(key for node in finite for key in _keys(node))
    values = tuple(value for (_, value), times in counted.items() if times == 1)
    if not values:
        problems.empty(place, "every value stands in two branches of oneOf")
        return None
    kinds = {node.domain.code_type for node in finite}
    return FiniteNode(place, EnumDomain(values, kinds.pop() if len(kinds) == 1 else None))


@dataclass(frozen=True)
class ReadUnion:
    """A union as it was read: its schema, the nodes of its branches, the node that stands for all."""

    node: SchemaNode
    branches: tuple[SchemaNode, ...]
    schema: Schema
    keyword: Literal["anyOf", "oneOf"]
    place: str


def check_unions(unions: Iterable[ReadUnion], resolve: Resolve, problems: Problems) -> set[int]:
    """Check all unions of a document that is read; returns the ids of those that may share values.

    ``oneOf`` is refused where two branches may admit the same value.
    """
    overlapping: set[int] = set()
    for union in unions:
        cut = any(isinstance(branch, NeverNode) for branch in union.branches)  # checked further out
        if "discriminator" in union.schema and not cut:
            _check_discriminator(union, resolve, problems)
        if union.keyword == "oneOf" and isinstance(union.node, UnionNode | NullableNode):
            if not are_apart(union.branches, resolve):
                hint = "write anyOf, or give each branch a required property with a const of its own"
                place = pointer(union.place, "oneOf")
                problems.refuse(place, "two branches of oneOf may admit the same value", hint=hint)
        for inner in unions_of(union.node):
            if id(inner) not in overlapping and not are_apart(inner.branches, resolve):
                overlapping.add(id(inner))
    return overlapping


def _check_discriminator(union: ReadUnion, resolve: Resolve, problems: Problems) -> None:
    """Note a discriminator that says something else than the branches: it must follow from them."""
    value, place = union.schema["discriminator"], pointer(union.place, "discriminator")
    name = value.get("propertyName") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(name, str) or value.keys() - {"propertyName", "mapping"}:
        problems.add(place, 'a discriminator is an object {"propertyName": …, "mapping": {…}}', value)
        return
    tags = [_tags(branch, name, resolve) for branch in union.branches]
    counted = Counter(tag for found in tags for tag in found or ())
    if any(found is None for found in tags) or any(times > 1 for times in counted.values()):
        hint = f"give each branch a required property {name!r} with a const of its own"
        problems.refuse(place, "the branches are not told apart by this property", name, hint)
        return
    if "mapping" in value:
        targets: dict[str, JsonValue] = {}
        schemas = union.schema[union.keyword]
        assert isinstance(schemas, list)
        for found, schema in zip(tags, schemas, strict=True):
            target = schema.get("$ref", schema) if isinstance(schema, dict) else schema
            targets.update((str(tag), target) for _, tag in found or ())
        if value["mapping"] != targets:
            message = f"the mapping does not lead every value of {name!r} to its branch"
            problems.add(pointer(place, "mapping"), message, value["mapping"], "leave the mapping out")


def _tags(branch: SchemaNode, name: str, resolve: Resolve) -> set[tuple[str, Scalar]] | None:
    """The values of the property in an object; None where it may be absent, or is not listed."""
    found: set[tuple[str, Scalar]] = set()
    for inner in branches_of(branch):
        target = resolve(inner) if isinstance(inner, FreeNode) else None
        node = inner if target is None else target
        known = (
            [part for part in node.properties if part.name == name] if isinstance(node, ObjectNode) else []
        )
        if not known or not known[0].required:
            return None
        tag = known[0].node
        if not isinstance(tag, FiniteNode) or not _is_short(tag):
            return None
        found.update(_keys(tag))
    return found

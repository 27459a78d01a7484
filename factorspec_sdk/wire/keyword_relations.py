"""JSON Schema's relational keywords on records and bounded lists become relations.

Before: the tree is read; ``related`` holds the nodes on whose schemas such keywords stand. After: every
object has the relations of its own keywords and of the lists in it, named like "contains at /properties/v",
with the pointer of the keyword. Where a keyword asks something of a part without a finite domain, the whole
node becomes an open value, if no declared relation stands on it; else the keyword is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.relations import AllDifferent, Intension, Relation
from factorspec_sdk.relations.expressions import Expr, Fold, Present
from factorspec_sdk.wire.keywords import ANNOTATIONS, ROOT_ONLY, VENDOR, Schema
from factorspec_sdk.wire.languages.resources import NotFree
from factorspec_sdk.wire.languages.wellformed import has_order_only
from factorspec_sdk.wire.open_values import OpenValues
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    UnionNode,
)
from factorspec_sdk.wire.value_conditions import (
    TRUE,
    NotFinite,
    ValueConditions,
    both,
    either,
    opposite,
    present,
)

#: keyword -> those that belong to it
_GROUPS: dict[str, tuple[str, ...]] = {
    "uniqueItems": (), "contains": ("minContains", "maxContains"), "minProperties": (), "maxProperties": (),
    "propertyNames": (), "dependentRequired": (), "dependentSchemas": (), "if": ("then", "else"), "not": (),
    "allOf": (), "anyOf": (), "oneOf": (), "const": (), "enum": (),
}  # fmt: skip
RELATIONAL = frozenset({*_GROUPS, *(other for others in _GROUPS.values() for other in others)})
_STRUCTURE = {
    "object": frozenset({"type", "properties", "required", "additionalProperties"}),
    "array": frozenset({"type", "items", "minItems", "maxItems"}),
}
Related = dict[int, tuple[SchemaNode, Schema, str]]


def structure_of(schema: Schema) -> str | None:
    """The type, object or array, of a record or a bounded list with relational keywords; else None."""
    kind = schema.get("type")
    names = [name for name in kind if name != "null"] if isinstance(kind, list) else [kind]
    if len(names) != 1 or not isinstance(names[0], str) or names[0] not in _STRUCTURE:
        return None
    keys = schema.keys() & RELATIONAL - ({"uniqueItems"} if schema.get("uniqueItems") is False else set())
    if not keys or schema.keys() - _STRUCTURE[names[0]] - RELATIONAL - ANNOTATIONS - ROOT_ONLY - {VENDOR}:
        return None
    bounded = names[0] == "object" or {"items", "maxItems"} <= schema.keys()
    closed = schema.get("additionalProperties", False) is False
    return names[0] if bounded and closed else None


class KeywordRelations:
    """The pass over one document."""

    def __init__(self, related: Related, open_values: OpenValues, problems: Problems) -> None:
        self._related = related
        self._open = open_values
        self._problems = problems
        self._done: dict[int, SchemaNode] = {}
        self._lists: dict[int, tuple[SchemaNode, str]] = {}
        self._conditions: ValueConditions | None = None

    def of(self, node: SchemaNode) -> SchemaNode:
        """The node with the relations of the keywords in it. Problems are noted."""
        if not self._related:
            return node
        if id(node) not in self._done:
            self._done[id(node)] = self._made(node)
        return self._done[id(node)]

    def renewed(self, nodes: set[int]) -> set[int]:
        """The ids of nodes with those of the nodes that took their places."""
        return nodes | {id(self._done[old]) for old in nodes if old in self._done}

    def _made(self, node: SchemaNode) -> SchemaNode:
        match node:
            case NullableNode():
                return self._nullable(node)
            case UnionNode():
                branches = tuple(map(self._branch, node.branches))
                same = all(new is old for new, old in zip(branches, node.branches, strict=True))
                return node if same else replace(node, branches=branches)
            case ArrayNode():
                return self._list(node)
            case ObjectNode():
                return self._object(node)
            case _:
                return node

    def _nullable(self, node: NullableNode) -> SchemaNode:
        """Null stays beside the inner node, but where a keyword rules it out or an open value has it."""
        inner = self.of(node.inner)
        if id(node.inner) in self._related and (
            isinstance(inner, FreeNode) or not self._admits_null(node.inner)
        ):
            return inner
        return node if inner is node.inner else replace(node, inner=inner)

    def _admits_null(self, node: SchemaNode) -> bool:
        rules = self._open.rules
        number = rules.resources.at(self._related[id(node)][2], record=True)
        return rules.scalars.of(number, "null").holds("null")

    def _branch(self, node: SchemaNode) -> SchemaNode:
        """A branch of a union: no path leads to lists in it alone, so those with keywords are open values."""
        inner = node
        while isinstance(inner, NullableNode):
            inner = inner.inner
        if isinstance(inner, ArrayNode) and id(inner) in self._related:
            _, schema, place = self._related[id(inner)]
            return self._opened(inner, schema, place, NotFinite(place, "a list in a union has no relations"))
        return self.of(node)

    def _list(self, node: ArrayNode) -> SchemaNode:
        item = self.of(node.item)
        made = node if item is node.item else replace(node, item=item)
        if id(node) in self._related:
            _, schema, place = self._related[id(node)]
            try:
                list(self._relations(made, "$.list", schema, place))
            except (NotFree, NotFinite) as problem:
                return self._opened(node, schema, place, problem)
            self._lists[id(made)] = (made, place)
            self._related[id(made)] = (made, schema, place)
        return made

    def _object(self, node: ObjectNode) -> SchemaNode:
        nodes = [self.of(known.node) for known in node.properties]
        properties = tuple(replace(p, node=new) for p, new in zip(node.properties, nodes, strict=True))
        same = all(new is known.node for new, known in zip(nodes, node.properties, strict=True))
        made = node if same else replace(node, properties=properties)
        found: list[tuple[Relation, str]] = []
        if id(node) in self._related:
            _, schema, place = self._related[id(node)]
            try:
                found += self._relations(made, "$", schema, place)
            except (NotFree, NotFinite) as problem:
                return self._opened(node, schema, place, problem)
        for known in made.properties:
            found += self._in_lists(known.node, str(FieldPath("$", (known.name,))), ())
        return (
            made
            if not found
            else replace(
                made,
                relations=(*made.relations, *(relation for relation, _ in found)),
                relation_pointers=(*made.relation_pointers, *(place for _, place in found)),
            )
        )

    def _opened(
        self, node: SchemaNode, schema: Schema, place: str, problem: NotFree | NotFinite
    ) -> SchemaNode:
        """The node as an open value, or as it is with the problem noted."""
        if place and (VENDOR not in schema or has_order_only(schema)):
            try:
                self._open.grammar(place)
            except NotFree:
                pass  # what kept it from being relations is what can be mended
            else:
                return self._open.node(schema, place) or FreeNode(node.pointer, {})
        hint = "give what it speaks of a finite domain"
        self._problems.refuse(problem.place, problem.reason, hint=hint)
        return FreeNode(node.pointer, {})

    def _in_lists(
        self, node: SchemaNode, ref: str, around: tuple[tuple[str, str], ...]
    ) -> Iterator[tuple[Relation, str]]:
        """Relations of the lists in a member; ``around``: lists folded over, and names of their items."""
        while isinstance(node, NullableNode):
            node = node.inner
        if not isinstance(node, ArrayNode):
            return
        if id(node) in self._lists:
            _, schema, place = self._related[id(node)]
            for relation, below in self._relations(node, ref, schema, place):
                yield _under(relation, around), below
        name = f"list{len(around) + 1}"
        yield from self._in_lists(node.item, name, (*around, (ref, name)))

    def _relations(
        self, node: ArrayNode | ObjectNode, ref: str, schema: Schema, place: str
    ) -> Iterator[tuple[Relation, str]]:
        """One relation for each keyword of a node, with its pointer."""
        rules = self._open.rules
        if self._conditions is None:
            self._conditions = ValueConditions(rules)
        number = rules.resources.at(place, record=True)
        for keyword, others in _GROUPS.items():
            if keyword not in schema or (keyword == "uniqueItems" and schema[keyword] is False):
                continue
            below = pointer(place, keyword)
            keys = {key: schema[key] for key in (keyword, *others) if key in schema}
            try:
                relation = self._relation(node, ref, (number, keys), below)
            except NotFinite as problem:
                about = "" if problem.place == below else f" of {problem.place}"
                raise NotFinite(below, f"{keyword} asks something{about}: {problem.reason}") from None
            if relation is not None:
                yield relation, below

    def _relation(
        self, node: ArrayNode | ObjectNode, ref: str, part: tuple[int, Schema], place: str
    ) -> Relation | None:
        name = _name(place)
        assert self._conditions is not None
        if isinstance(node, ArrayNode):
            if "uniqueItems" in part[1] and _never_null(node.item) and ref.startswith("$"):
                return AllDifferent(name=name, over=(f"{ref}[*]",))
            lists = self._open.rules.lists.demands(*part)
            expr = both(either(self._conditions.list_term(node, ref, t) for t in terms) for terms in lists)
        else:
            self._check_names(node, part[0], place)
            objects = self._open.rules.objects.demands(*part)
            expr = both(
                either(self._conditions.object_term(node, ref, t) for t in terms) for terms in objects
            )
        if expr == TRUE:
            return None
        there = present(ref) if ref == "$" else Present(op="present", of=ref)
        return Intension(name=name, expr=either([opposite(there), expr]))

    def _check_names(self, node: ObjectNode, number: int, place: str) -> None:
        known = {prop.name for prop in node.properties}
        other = next((name for name in self._open.rules.resources.names(number) if name not in known), None)
        if other is not None:
            raise NotFinite(place, f"it speaks of {other!r}, which the record does not have")


def _under(relation: Relation, around: tuple[tuple[str, str], ...]) -> Relation:
    """The relation for every item of the lists around it."""
    if not around:
        return relation
    assert isinstance(relation, Intension)
    expr: Expr = relation.expr
    for ref, name in reversed(around):
        expr = Fold.model_validate({"op": "every", "in": ref, "as": name, "body": expr})
    return relation.model_copy(update={"expr": expr})


def _never_null(node: SchemaNode) -> bool:
    return isinstance(node, FiniteNode) and node.domain.index(None) is None


def _name(place: str) -> str:
    above, _, keyword = place.rpartition("/")
    return f"{keyword} at {above if len(above) < 150 else '…' + above[-150:]}"

"""Free parts: their JSON Schemas for the grammar library, with keywords that it enforces exactly only.

XGrammar 0.2.9 ignores ``multipleOf`` beside bounds and takes no escapes in strings with length bounds, so
such parts are refused here, with the hint to bound the list: then the parts are written by us.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import IntRange
from factorspec_sdk.wire.languages.wellformed import MOST_COUNTED
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.load import too_large
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.read_schema import SchemaReader
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

_BOUND_IT = "give the list around it maxItems"
_BOUND_ALL = "give the lists around it maxItems, and a recursion max_depth (at the root)"
#: untouched lists longer than this are left to the grammar library where it enforces them exactly
LONG_LIST = 200

Schema = dict[str, JsonValue]


class NotDelegable(Exception):
    """Why a part cannot be left to the grammar library."""

    def __init__(self, place: str, reason: str, hint: str) -> None:
        self.place = place
        self.reason = reason
        self.hint = hint
        super().__init__(reason)


class FreeParts:
    """Writes the schemas of a document's free nodes."""

    def __init__(self, reader: SchemaReader, limits: Limits, problems: Problems) -> None:
        self._reader = reader
        self._limits = limits
        self._problems = problems
        self._names: dict[str, str] = {}
        self._written = 0
        self._opened: dict[int, FreeNode] = {}

    def fill(self) -> None:
        """Complete the schema of every free node; what cannot be delegated is noted."""
        reader = self._reader
        if not self._check_recursion():
            return
        nodes = [entry[0] for entry in reader.open_lists.values()]
        nodes += [entry[0] for entry in reader.recursive.values()]
        parts: list[tuple[FreeNode, Schema]] = []
        for node in nodes:
            try:
                parts.append((node, self._complete(node)))
            except NotDelegable as problem:
                self._open(node, problem)
        for node, schema in parts:
            node.schema.update(schema)

    def _open(self, node: FreeNode, problem: NotDelegable) -> None:
        """Write it as an open value where no relation stands in it, else note the problem."""
        opened = self._reader.open_values.trial(node.schema, node.pointer)
        if opened is None:
            self._problems.refuse(problem.place, problem.reason, hint=problem.hint)
        else:
            self._opened[id(node)] = opened

    def long_lists(self, node: SchemaNode, touched: set[int]) -> SchemaNode:
        """The tree with long lists that no relation touches as free nodes, where that is exact, and with the
        texts whose lengths are read marked.

        Free nodes that were written as open values are put into their places.
        """
        return self._shorten(node, touched, {})

    def _shorten(self, node: SchemaNode, touched: set[int], done: dict[int, SchemaNode]) -> SchemaNode:
        if id(node) not in done:
            done[id(node)] = self._shortened(node, touched, done)
        return done[id(node)]

    def _shortened(self, node: SchemaNode, touched: set[int], done: dict[int, SchemaNode]) -> SchemaNode:
        match node:
            case ObjectNode():
                properties = tuple(
                    replace(known, node=self._shorten(known.node, touched, done)) for known in node.properties
                )
                same = all(new.node is old.node for new, old in zip(properties, node.properties, strict=True))
                return node if same else replace(node, properties=properties)
            case NullableNode():
                inner = self._shorten(node.inner, touched, done)
                return node if inner is node.inner else replace(node, inner=inner)
            case UnionNode():
                branches = tuple(self._shorten(branch, touched, done) for branch in node.branches)
                same = all(new is old for new, old in zip(branches, node.branches, strict=True))
                return node if same else replace(node, branches=branches)
            case ArrayNode():
                if node.max_items > LONG_LIST and id(node) not in touched:
                    try:
                        return FreeNode(node.pointer, self._complete(node))
                    except NotDelegable:
                        pass
                item = self._shorten(node.item, touched, done)
                return node if item is node.item else replace(node, item=item)
            case FreeNode():
                return self._opened.get(id(node), node)
            case TextNode() if id(node) in touched:
                return replace(node, measured=True)
            case _:
                return node

    def _complete(self, node: SchemaNode) -> Schema:
        needed: list[str] = []
        schema = self._write(node, needed)
        definitions: Schema = {}
        while needed:
            name = needed.pop()
            if self._name(name) in definitions:
                continue
            definitions[self._name(name)] = None
            target = self._reader.definitions[name]
            definitions[self._name(name)] = self._write(target, needed)
        return {**schema, "$defs": definitions} if definitions else schema

    def _name(self, definition: str) -> str:
        return self._names.setdefault(definition, f"d{len(self._names)}")

    def _write(self, node: SchemaNode, needed: list[str]) -> Schema:
        self._written += (
            len(node.domain) if isinstance(node, FiniteNode) and node.domain.integers is None else 1
        )
        if self._written > self._limits.nodes:
            too_large(node.pointer, "the free parts are too large once their references are followed")
        self._refuse_related(node)
        match node:
            case FiniteNode():
                return self._finite(node)
            case TextNode():
                return _text(node)
            case FreeNode():
                return self._free(node, needed)
            case NullableNode():
                return {"anyOf": [*self._all([node.inner], needed), {"type": "null"}]}
            case UnionNode():
                return {"anyOf": list[JsonValue](self._all(node.branches, needed))}
            case ArrayNode():
                return self._list(node.item, node.min_items, node.max_items, needed)
            case ObjectNode():
                return self._object(node, needed)
            case NeverNode():
                raise AssertionError("a part without a value is not written")
            case _:
                assert_never(node)

    def _all(self, nodes: Sequence[SchemaNode], needed: list[str]) -> list[Schema]:
        """The schemas of the nodes that have a value."""
        return [self._write(node, needed) for node in nodes if not isinstance(node, NeverNode)]

    def _refuse_related(self, node: SchemaNode) -> None:
        if id(node) in self._reader.related:
            _, _, place = self._reader.related[id(node)]
            raise NotDelegable(place, "relational keywords in a part without bounded size", _BOUND_IT)

    def _object(self, node: ObjectNode, needed: list[str]) -> Schema:
        if node.relations:
            place = node.relation_pointers[0]
            raise NotDelegable(place, "a relation in a part without bounded size", _BOUND_ALL)
        return {
            "type": "object",
            "properties": {
                known.name: self._write(known.node, needed)
                for known in node.properties
                if not isinstance(known.node, NeverNode)
            },
            "required": [known.name for known in node.properties if known.required],
            "additionalProperties": False,
        }

    def _list(self, item: SchemaNode, least: int, most: int | None, needed: list[str]) -> Schema:
        if isinstance(item, NeverNode):
            return {"const": []}
        schema: Schema = {"type": "array", "items": self._write(item, needed)}
        if least:
            schema["minItems"] = least
        if most is not None:
            schema["maxItems"] = most
        return schema

    def _free(self, node: FreeNode, needed: list[str]) -> Schema:
        if node.grammar is not None:
            raise NotDelegable(node.pointer, "an open value in a list without maxItems", _BOUND_IT)
        if id(node) in self._reader.open_lists:
            _, item, least, most = self._reader.open_lists[id(node)]
            return self._list(item, least, most, needed)
        if id(node) in self._reader.recursive:
            name = self._reader.recursive[id(node)][1]
            needed.append(name)
            return {"$ref": pointer("#/$defs", self._name(name))}
        return dict(node.schema)

    def _finite(self, node: FiniteNode) -> Schema:
        domain = node.domain
        if isinstance(domain, IntRange) and domain.step == 1:
            return {"type": "integer", "minimum": domain.lo, "maximum": domain.hi}
        if len(domain) > self._limits.enum_values:
            raise NotDelegable(node.pointer, "a wide domain with steps in a list without maxItems", _BOUND_IT)
        return {"enum": [domain.value(i) for i in range(len(domain))]}

    # -- recursion ends somewhere ------------------------------------------------------------------------

    def _check_recursion(self) -> bool:
        """Note definitions that no finite value satisfies. A least fixed point over the definitions."""
        names = {name for _, name in self._reader.recursive.values()}
        if not names:
            return True
        ends: set[str] = set()
        while True:
            done: dict[int, bool] = {}
            found = {name for name in names - ends if self._ends(self._reader.definitions[name], ends, done)}
            if not found:
                break
            ends |= found
        for name in sorted(names - ends):
            self._problems.empty(name, "the recursion never ends: no finite value satisfies this schema")
        return ends == names

    def _ends(self, node: SchemaNode, known: set[str], done: dict[int, bool]) -> bool:
        if id(node) not in done:
            done[id(node)] = self._ends_here(node, known, done)
        return done[id(node)]

    def _ends_here(self, node: SchemaNode, known: set[str], done: dict[int, bool]) -> bool:
        match node:
            case ObjectNode():
                return all(not p.required or self._ends(p.node, known, done) for p in node.properties)
            case UnionNode():
                return any(self._ends(branch, known, done) for branch in node.branches)
            case ArrayNode():
                return node.min_items == 0 or self._ends(node.item, known, done)
            case FreeNode():
                if id(node) in self._reader.open_lists:
                    _, item, least, _ = self._reader.open_lists[id(node)]
                    return least == 0 or self._ends(item, known, done)
                entry = self._reader.recursive.get(id(node))
                return entry is None or entry[1] in known
            case _:
                return True


def _text(node: TextNode) -> Schema:
    if node.min_length or node.max_length is not None:
        reason = "a bounded text in a list without maxItems"
        if max(node.min_length, node.max_length or 0) > MOST_COUNTED:
            reason = f"a text with a bound above {MOST_COUNTED} characters in a list without maxItems"
        raise NotDelegable(node.pointer, reason, _BOUND_IT)
    return dict(node.schema) if node.schema is not None else {"type": "string"}

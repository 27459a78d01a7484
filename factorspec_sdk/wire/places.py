"""Where the paths of relations lead in the schema; each step is checked and mended with a hint."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from factorspec_sdk.errors import shown
from factorspec_sdk.fields.domains import CodeType, Domain
from factorspec_sdk.fields.paths import EVERY, FieldPath, PathSyntaxError, Segment, parse_path
from factorspec_sdk.wire.problems import Problems
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NullableNode,
    ObjectNode,
    Row,
    SchemaNode,
    TextNode,
)
from factorspec_sdk.wire.strings import FORMATS

_ROOTS_HINT = "a path starts at '$', the object that holds the relation, or at a bound name"


#: "compound": an object, a list or free text that may be null; only null compares with it
Kind = CodeType | Literal["compound"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the checks of one document share.

    broken: ids of nodes that stand where problems are noted already.
    touched: ids of the lists that paths go through.
    """

    broken: Container[int]
    touched: set[int] = field(default_factory=set)
    columns: dict[tuple[int, int, frozenset[str]], frozenset[Kind]] = field(default_factory=dict)
    keys_twice: dict[int, Row | None] = field(default_factory=dict)
    _fields: dict[int, dict[str, SchemaNode]] = field(default_factory=dict)

    def fields(self, node: ObjectNode) -> dict[str, SchemaNode]:
        """The properties of an object by name."""
        if id(node) not in self._fields:
            self._fields[id(node)] = {known.name: known.node for known in node.properties}
        return self._fields[id(node)]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a relation can name: fields of its object, tables around it, bound items.

    facts: shared by all scopes of a document.
    """

    holder: ObjectNode
    tables: Mapping[str, tuple[Row, ...]]
    problems: Problems
    facts: Facts
    binders: Mapping[str, SchemaNode] = field(default_factory=dict)

    def bind(self, names: Mapping[str, str], item: SchemaNode) -> Scope:
        """This scope with more bound items, name -> place; a name that is bound already is noted."""
        for name, place in names.items():
            if name in self.binders:
                self.problems.add(place, "this name is bound already", name, "choose another name")
        return replace(self, binders={**self.binders, **dict.fromkeys(names, item)})

    def value(self, text: str, place: str) -> Domain | NullableNode | None:
        """What the single value is that a path names; None if it has problems (noted).

        A part that is an object, a list or free text is a value where it may be null: it compares with null.
        """
        node = self._follow(text, place, stars=False, from_end=True)
        if isinstance(node, NullableNode):
            return None if id(node.inner) in self.facts.broken else node
        if node is None:
            return None
        return self._finite(node, text, place)

    def fields(self, text: str, place: str) -> Domain | None:
        """Domain of the values that a path names, all of one field."""
        node = self._follow(text, place, stars=True, from_end=False)
        return None if node is None else self._finite(node, text, place)

    def items(self, text: str, place: str) -> ArrayNode | None:
        """The list that a path names."""
        return self._list(text, place, stars=False)

    def lists(self, text: str, place: str) -> ArrayNode | None:
        """The list that a path names, or one of several lists of one field."""
        return self._list(text, place, stars=True)

    def text(self, text: str, place: str) -> FiniteNode | TextNode | None:
        """The texts that a path names: free ones of bounded length without further rules, or finite ones."""
        node = self._follow(text, place, stars=True, from_end=False)
        inner = node.inner if isinstance(node, NullableNode) else node
        if isinstance(inner, TextNode):
            if inner.schema is None:
                return inner
            hint = "leave pattern and format out"
            self.problems.refuse(place, "this text has rules of its own that cannot be combined", text, hint)
        elif isinstance(inner, FiniteNode):
            if inner.domain.code_type == "text" or len(inner.domain) == 0:
                return inner
            self.problems.add(place, "a text is needed", text)
        elif inner is not None:
            self._finite(inner, text, place)
        return None

    def _list(self, text: str, place: str, *, stars: bool) -> ArrayNode | None:
        node = self._follow(text, place, stars=stars, from_end=False)
        if node is None:
            return None
        inner = node.inner if isinstance(node, NullableNode) else node
        if isinstance(inner, ArrayNode):
            self.facts.touched.add(id(inner))
            return inner
        if isinstance(inner, FreeNode):
            self._free(inner, text, place)
        else:
            self.problems.add(place, f"a list is needed, this is {_what(inner)}", text)
        return None

    def asked(self, what: Literal["len", "present"], text: str, place: str) -> None:
        """A part whose length is asked (a list, a text with a finite domain), or whether it is there."""
        node = self._follow(text, place, stars=False, from_end=False)
        if what == "present" or node is None:
            return
        inner = node.inner if isinstance(node, NullableNode) else node
        if not isinstance(inner, FiniteNode):
            self.items(text, place)
        elif inner.domain.code_type != "text":
            self.problems.add(place, "a length is that of a list or a text", text)

    def _finite(self, node: SchemaNode, text: str, place: str) -> Domain | None:
        if isinstance(node, FiniteNode):
            return node.domain
        inner = node.inner if isinstance(node, NullableNode) else node
        if isinstance(inner, FreeNode):
            self._free(inner, text, place)
        elif isinstance(inner, TextNode):
            advice = _moment_hint(inner) or "list its values in an enum, or leave it out of relations"
            self.problems.refuse(place, "free text has no finite domain", text, advice)
        elif isinstance(inner, ArrayNode):
            self.problems.add(place, "a value is needed, this is a list", text, "write '[*]' for every item")
        else:
            hint = (
                self.problems.did_you_mean("", [p.name for p in inner.properties])
                if isinstance(inner, ObjectNode)
                else None
            )
            self.problems.add(place, f"a value is needed, this is {_what(inner)}", text, hint)
        return None

    def _free(self, node: FreeNode, text: str, place: str) -> None:
        if id(node) in self.facts.broken:
            return
        kind = node.schema.get("type")
        if kind == "integer":
            self.problems.refuse(place, "this integer needs bounds", text, "give it minimum and maximum")
        elif kind == "number":
            hint = "declare an integer with bounds, for example in cents"
            self.problems.refuse(place, "a number has no finite domain", text, hint)
        else:
            hint = "give the list maxItems; relations cannot reach into recursion"
            self.problems.refuse(place, "this part has no bounded size", text, hint)

    def _follow(self, text: str, place: str, *, stars: bool, from_end: bool) -> SchemaNode | None:
        try:
            path = parse_path(text, tuple(self.binders))
        except PathSyntaxError as error:
            self.problems.add(place, error.problems[0].message, text, error.problems[0].hint)
            return None
        if path.stars and not stars:
            hint = "fold over the list with every, some, sum, count, min or max"
            self.problems.add(place, "'[*]' names many fields where one is needed", text, hint)
            return None
        if not from_end and any(isinstance(s, int) and s < 0 for s in path.segments):
            hint = 'use it in a single reference, as in {"ref": "$.stops[-1].city"}'
            self.problems.refuse(place, "positions from the end are not enforced here", text, hint)
            return None
        if path.root == "$":
            return self._walk(self.holder, path.segments, path, place)
        return self._walk(self.binders[path.root], path.segments, path, place)

    def _walk(
        self, node: SchemaNode, segments: Sequence[Segment], path: FieldPath, place: str
    ) -> SchemaNode | None:
        for at, segment in enumerate(segments):
            inner = node.inner if isinstance(node, NullableNode) else node
            above = shown(str(replace(path, segments=path.segments[:at])))
            if isinstance(inner, FreeNode):
                self._free(inner, str(path), place)
                return None
            if isinstance(segment, str):
                found = self._property(inner, segment, above, at == 0 and path.root == "$", place)
            else:
                found = self._item(inner, segment, above, place)
            if found is None:
                return None
            node = found
        return node

    def _property(
        self, node: SchemaNode, name: str, above: str, first: bool, place: str
    ) -> SchemaNode | None:
        if not isinstance(node, ObjectNode):
            self.problems.add(place, f"{above} is {_what(node)} and has no fields", name)
            return None
        names = self.facts.fields(node)
        if name in names:
            return names[name]
        hint = self.problems.did_you_mean(name, [*names, *self.binders] if first else names)
        self.problems.add(place, f"{above} has no field {name!r}", name, hint or _ROOTS_HINT)
        return None

    def _item(self, node: SchemaNode, segment: Segment, above: str, place: str) -> SchemaNode | None:
        if not isinstance(node, ArrayNode):
            value = "[*]" if segment is EVERY else segment
            self.problems.add(place, f"{above} is {_what(node)}, not a list", value)
            return None
        self.facts.touched.add(id(node))
        if isinstance(segment, int):
            least, most = -node.max_items, node.max_items - 1
            if not least <= segment <= most:
                message = f"{above} has at most {node.max_items} items"
                self.problems.add(place, message, segment, f"positions go from {least} to {most}")
                return None
        return node.item


def _what(node: SchemaNode) -> str:
    match node:
        case ObjectNode():
            return "an object"
        case ArrayNode():
            return "a list"
        case FiniteNode():
            return "a value"
        case TextNode():
            return "free text"
        case FreeNode():
            return "a free value"
        case NullableNode():
            return f"{_what(node.inner)} or null"


def _moment_hint(node: TextNode) -> str | None:
    moments = [{"type": "string", **FORMATS[name]} for name in ("date", "time")]
    if node.schema in moments:
        return 'give it bounds: "x-factorspec": {"domain": {"min": …, "max": …, "step": 1}}'
    return None

"""Where the paths of relations lead in the schema; each step is checked and mended with a hint."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from factorspec_sdk.errors import shown
from factorspec_sdk.fields.domains import CodeType, Domain
from factorspec_sdk.fields.paths import EVERY, FieldPath, PathSyntaxError, Segment, parse_path
from factorspec_sdk.wire.branches import branches_of, has_end, unions_of
from factorspec_sdk.wire.problems import Problems
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NeverNode,
    NullableNode,
    ObjectNode,
    Row,
    SchemaNode,
    TextNode,
    UnionNode,
)
from factorspec_sdk.wire.strings import FORMATS

SHARED_VALUES = "whose branches may share values"
TELL_APART = "give each branch a required property with a const of its own (a discriminator)"
#: characters of a free text whose length relations read
LONGEST_READ = 4_096
_ROOTS_HINT = "a path starts at '$', the object that holds the relation, or at a bound name"


#: "compound": an object, a list or free text that may be null; only null compares with it
Kind = CodeType | Literal["compound"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the checks of one document share.

    broken: ids of nodes that stand where problems are noted already.
    overlapping: ids of the unions whose branches may share values.
    related_items: the longest list that relations read.
    touched: ids of the lists that paths go through, and of the free texts whose lengths are read.
    """

    broken: Container[int]
    overlapping: Container[int]
    related_items: int
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

    def value(self, text: str, place: str) -> Sequence[Domain | None]:
        """What the single value may be that a path names, by branches; nothing if it has problems (noted).

        A part that is an object, a list or free text is a value (None) where it may be null, or something
        else in another branch of a union: it compares with null, and equals no scalar.
        """
        node = self._follow(text, place, stars=False, from_end=True)
        if node is None:
            return []
        finite, others = _finite_or_not(node)
        if finite or isinstance(node, NullableNode):
            unclear: list[SchemaNode] = [o for o in others if finite and isinstance(o, TextNode | FreeNode)]
            if not unclear:
                broken = any(id(inner) in self.facts.broken for inner in others)
                return [] if broken else [*finite, *([None] if others else [])]
            others = unclear
        if not others:  # the recursion ends here; the path was checked further out
            return ()
        return self._no_value(others[0], text, place)

    def fields(self, text: str, place: str) -> Sequence[Domain]:
        """Domains of the values that a path names, by branches."""
        node = self._follow(text, place, stars=True, from_end=False)
        if node is None:
            return []
        finite, others = _finite_or_not(node)
        return self._no_value(others[0], text, place) if others else finite

    def items(self, text: str, place: str) -> ArrayNode | None:
        """The list that a path names."""
        return self._list(text, place, stars=False)

    def lists(self, text: str, place: str) -> ArrayNode | None:
        """The list that a path names, or one of several lists of one field."""
        return self._list(text, place, stars=True)

    def texts(self, text: str, place: str) -> None:
        """The texts that a path names: free ones without further rules, or such of a finite domain."""
        node = self._follow(text, place, stars=True, from_end=False)
        for inner in () if node is None else branches_of(node):
            if isinstance(inner, TextNode):
                if inner.schema is not None:
                    hint = "leave pattern and format out"
                    self.problems.refuse(place, "this text has rules of its own already", text, hint)
            elif not isinstance(inner, FiniteNode):
                self._no_value(inner, text, place)
            elif inner.domain.code_type not in ("text", None):
                self.problems.add(place, "a text is needed", text)

    def _list(self, text: str, place: str, *, stars: bool) -> ArrayNode | None:
        node = self._follow(text, place, stars=stars, from_end=False)
        if node is None:
            return None
        inner = list(branches_of(node))
        lists = [one for one in inner if isinstance(one, ArrayNode)]
        if self._is_free(inner, "array", text, place):
            return None
        if len(lists) > 1:
            hint = "declare the relation in the models of the branches"
            self.problems.refuse(place, "this names lists in several branches of a union", text, hint)
        elif not lists:
            self.problems.add(place, f"a list is needed, this is {_what(node)}", text)
        elif lists[0].max_items > self.facts.related_items:
            self._long(text, place)
        else:
            self.facts.touched.add(id(lists[0]))
            return lists[0]
        return None

    def asked(self, what: Literal["len", "present"], text: str, place: str) -> None:
        """A part whose length is asked (a list, a text), or whether it is there."""
        node = self._follow(text, place, stars=False, from_end=False)
        if what == "present" or node is None:
            return
        finite, others = _finite_or_not(node)
        texts = [one for one in others if isinstance(one, TextNode)]
        if others and not finite and not texts:
            self.items(text, place)
        elif len(texts) < len(others) or any(domain.code_type != "text" for domain in finite):
            self.problems.add(place, "a length is that of a list or a text", text)
        else:
            for one in texts:
                self._measure(one, text, place)

    def _measure(self, node: TextNode, text: str, place: str) -> None:
        """Note that the length of a free text is read."""
        if node.schema is not None:
            hint = "leave pattern and format out, or list its values in an enum"
            self.problems.refuse(place, "the length of a text with rules of its own is not read", text, hint)
        elif node.max_length is None or node.max_length > LONGEST_READ:
            message = f"relations read the length of texts of up to {LONGEST_READ} characters"
            self.problems.refuse(place, message, text, f"give the text maxLength, at most {LONGEST_READ}")
        else:
            self.facts.touched.add(id(node))

    def _no_value(self, node: SchemaNode, text: str, place: str) -> tuple[()]:
        """Note why a part is no value that relations can compute with."""
        if isinstance(node, FreeNode):
            self._free(node, text, place)
        elif isinstance(node, TextNode):
            advice = _moment_hint(node) or "list its values in an enum, or leave it out of relations"
            self.problems.refuse(place, "free text has no finite domain", text, advice)
        elif isinstance(node, ArrayNode):
            self.problems.add(place, "a value is needed, this is a list", text, "write '[*]' for every item")
        else:
            hint = (
                self.problems.did_you_mean("", [p.name for p in node.properties])
                if isinstance(node, ObjectNode)
                else None
            )
            self.problems.add(place, f"a value is needed, this is {_what(node)}", text, hint)
        return ()

    def _free(self, node: FreeNode, text: str, place: str) -> None:
        if id(node) in self.facts.broken:
            return
        kind = node.schema.get("type")
        if kind == "integer":
            self.problems.refuse(place, "this integer needs bounds", text, "give it minimum and maximum")
        elif kind == "number":
            hint = "declare an integer with bounds, for example in cents"
            self.problems.refuse(place, "a number has no finite domain", text, hint)
        elif kind == "array":
            self._long(text, place)
        else:
            hint = "relations reach into a recursion only with max_depth at the root (fs.max_depth)"
            self.problems.refuse(place, "this part has no bounded size", text, hint)

    def _long(self, text: str, place: str) -> None:
        most = self.facts.related_items
        message = f"relations do not read a list that may have more than {most} items"
        self.problems.refuse(place, message, text, f"give the list maxItems, at most {most}")

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
            above = shown(str(replace(path, segments=path.segments[:at])))
            if not self._told_apart(node, above, place):
                return None
            inner = list(branches_of(node))
            if has_end(node) and not any(_has(one, segment) for one in inner):
                return None  # the recursion ends here; the path was checked further out
            if isinstance(segment, str):
                names = [*self.binders] if at == 0 and path.root == "$" else []
                found = self._property(inner, segment, names, above, path, place)
            else:
                found = self._item(inner, segment, above, path, place)
            if not found:
                return None
            node = found[0] if len(found) == 1 else UnionNode(found[0].pointer, tuple(found))
        return node if self._told_apart(node, shown(str(path)), place) else None

    def _told_apart(self, node: SchemaNode, above: str, place: str) -> bool:
        """False, and noted, if relations could not tell which branch of a union a value takes."""
        if not any(id(union) in self.facts.overlapping for union in unions_of(node)):
            return True
        self.problems.refuse(place, f"{above} is a union {SHARED_VALUES}", hint=TELL_APART)
        return False

    def _property(
        self, branches: list[SchemaNode], name: str, names: list[str], above: str, path: FieldPath, place: str
    ) -> list[SchemaNode]:
        """The property in the branches that have it; none if there is a problem (noted)."""
        if self._is_free(branches, "object", str(path), place):
            return []
        objects = [node for node in branches if isinstance(node, ObjectNode)]
        if not objects:
            self.problems.add(place, f"{above} is {_what(*branches)} and has no fields", name)
            return []
        known = [self.facts.fields(node) for node in objects]
        found = [fields[name] for fields in known if name in fields]
        if not found:
            every = dict.fromkeys([*(name for fields in known for name in fields), *names])
            where = above if len(branches) == 1 else f"no branch of {above}"
            verb = "has no field" if len(branches) == 1 else "has the field"
            hint = self.problems.did_you_mean(name, every)
            self.problems.add(place, f"{where} {verb} {name!r}", name, hint or _ROOTS_HINT)
        return found

    def _is_free(self, branches: list[SchemaNode], wanted: str, text: str, place: str) -> bool:
        """True, and noted, if a path would lead into a part that is left to the grammar library."""
        free = [node for node in branches if isinstance(node, FreeNode)]
        for node in free:
            if len(branches) == 1 or node.schema.get("type", wanted) == wanted:
                self._free(node, text, place)
                return True
        return False

    def _item(
        self, branches: list[SchemaNode], segment: Segment, above: str, path: FieldPath, place: str
    ) -> list[SchemaNode]:
        """The items of the branches that are lists; none if there is a problem (noted)."""
        if self._is_free(branches, "array", str(path), place):
            return []
        lists = [node for node in branches if isinstance(node, ArrayNode)]
        if not lists:
            value = "[*]" if segment is EVERY else segment
            self.problems.add(place, f"{above} is {_what(*branches)}, not a list", value)
            return []
        longest = max(node.max_items for node in lists)
        if all(isinstance(node.item, NeverNode) for node in lists):
            return []
        if longest > self.facts.related_items:
            self._long(str(path), place)
            return []
        self.facts.touched.update(map(id, lists))
        if isinstance(segment, int):
            if not -longest <= segment < longest:
                message = f"{above} has at most {longest} items"
                hint = f"positions go from {-longest} to {longest - 1}"
                self.problems.add(place, message, segment, hint)
                return []
        return [node.item for node in lists]


def _has(node: SchemaNode, segment: Segment) -> bool:
    """True if a segment may name something below a node."""
    if isinstance(segment, str):
        return isinstance(node, ObjectNode) and any(known.name == segment for known in node.properties)
    return isinstance(node, ArrayNode)


def _finite_or_not(node: SchemaNode) -> tuple[list[Domain], list[SchemaNode]]:
    """The domains among the branches of a node, and the branches without one."""
    inner = list(branches_of(node))
    finite = [one.domain for one in inner if isinstance(one, FiniteNode)]
    return finite, [one for one in inner if not isinstance(one, FiniteNode)]


def _what(*nodes: SchemaNode) -> str:
    return " or ".join(dict.fromkeys(_name(node) for node in nodes))


def _name(node: SchemaNode) -> str:
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
        case NeverNode():
            return "nothing"
        case NullableNode():
            return f"{_name(node.inner)} or null"
        case UnionNode():
            return _what(*node.branches)


def _moment_hint(node: TextNode) -> str | None:
    moments = [{"type": "string", **FORMATS[name]} for name in ("date", "time")]
    if node.schema in moments:
        return 'give it bounds: "x-factorspec": {"domain": {"min": …, "max": …, "step": 1}}'
    return None

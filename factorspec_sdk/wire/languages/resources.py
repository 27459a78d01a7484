"""Where the schemas of a document are, and where their references lead: ``$id``, ``$anchor``, JSON pointers.

A schema is known by a number. ``$dynamicRef`` is followed where its name is declared once in the document:
then it leads there whatever the way to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import VENDOR, Schema
from factorspec_sdk.wire.problems import Problems, pointer

#: keywords whose value is a schema, a list of schemas, schemas by name
SINGLE = frozenset(
    {
        "items", "contains", "additionalProperties", "propertyNames", "if", "then", "else", "not",
        "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)


class NotFree(Exception):
    """Why a part cannot be written as a grammar: the place, the reason, what to do."""

    def __init__(self, place: str, reason: str, *value: object, hint: str | None = None) -> None:
        self.place, self.reason, self.value, self.hint = place, reason, value, hint
        super().__init__(reason)

    def note(self, problems: Problems) -> None:
        """Note it among the problems of a document."""
        if self.value:
            problems.refuse(self.place, self.reason, self.value[0], self.hint)
        else:
            problems.refuse(self.place, self.reason, hint=self.hint)


class Entry(NamedTuple):
    """A schema (an object, true or false), the URI of its resource, its JSON pointer in the document."""

    schema: Schema | bool
    base: str
    place: str


class Resources:
    """The schemas of one document by number.

    containers: places that references lead through and that are no keyword of JSON Schema.
    """

    def __init__(self, document: Schema, check: Callable[[Schema, str, Resources], None]) -> None:
        """``check`` looks at each schema before it is given a number."""
        self._check = check
        self.entries: list[Entry] = []
        self.containers: set[str] = set()
        self._document = document
        self._numbers: dict[str, int] = {}
        self._roots: dict[str, tuple[JsonValue, str]] = {"": (document, "")}
        self._anchors: dict[tuple[str, str], str] = {}
        self._dynamic: dict[str, list[str]] = {}
        self._bases: dict[str, str] = {}
        self._refs: list[tuple[str, str]] = []
        self._index(document, "", "")
        for base, reference in self._refs:
            self._note_containers(base, reference)

    def number(self, schema: JsonValue, base: str, place: str) -> int:
        """The number of a schema at a place (places are unique).

        Raises:
            NotFree: it is no schema.
        """
        known = self._numbers.get(place)
        if known is None:
            if not isinstance(schema, dict | bool):
                raise NotFree(place, "a schema is an object, true or false", schema)
            if isinstance(schema, dict):
                self._check(schema, place, self)
            known = self._numbers[place] = len(self.entries)
            self.entries.append(Entry(schema, self._bases.get(place, base), place))
        return known

    def at(self, place: str, *, record: bool = False) -> int:
        """The number of the schema at a JSON pointer; of a ``record`` the vendor key is read elsewhere."""
        schema, base, place = self._walk(self._document, "", "", place)
        if record and place not in self._numbers:
            assert isinstance(schema, dict)
            self._check({key: value for key, value in schema.items() if key != VENDOR}, place, self)
            self._numbers[place] = len(self.entries)
            self.entries.append(Entry(schema, self._bases.get(place, base), place))
            return self._numbers[place]
        return self.number(schema, base, place)

    def below(self, number: int, *steps: str | int) -> int:
        """The number of a schema inside another."""
        entry = self.entries[number]
        value: JsonValue = entry.schema
        for step in steps:
            value = value[step]  # type: ignore[index]  # the caller looked
        return self.number(value, entry.base, pointer(entry.place, *steps))

    def listed(self, number: int, key: str) -> list[int]:
        """The numbers of the schemas in a list of a schema."""
        entry = self.entries[number]
        assert isinstance(entry.schema, dict)
        members = entry.schema[key]
        assert isinstance(members, list)
        return [self.below(number, key, at) for at in range(len(members))]

    def names(self, number: int) -> list[str]:
        """The names of members that a schema speaks of, in writing order.

        Only lists of the document and ``order`` decide on it: the order of keys in an object has no meaning.
        """
        found: dict[str, None] = {}
        seen: set[int] = set()
        stack = [number]
        while stack:
            at = stack.pop()
            schema = self.entries[at].schema
            if at not in seen and isinstance(schema, dict):
                seen.add(at)
                found |= dict.fromkeys(_spoken_of(schema))
                stack += reversed(self._in_place(at, schema))
        return list(found)

    def orders(self) -> list[tuple[Schema, list[str]]]:
        """All schemas with properties, and their names in writing order."""
        schemas = [entry.schema for entry in self.entries if isinstance(entry.schema, dict)]
        return [(schema, _order(schema)) for schema in schemas if "properties" in schema]

    def _in_place(self, number: int, schema: Schema) -> list[int]:
        """The schemas inside one that speak of the same value."""
        found: list[int] = []
        for key in sorted(schema):
            if key in ("$ref", "$dynamicRef"):
                found.append(self.target(number, key))
            elif key in ("allOf", "anyOf", "oneOf"):
                found += self.listed(number, key)
            elif key in ("if", "then", "else", "not"):
                found.append(self.below(number, key))
        return found

    def union(self, numbers: tuple[int, ...]) -> int:
        """The number of a schema that admits what one of the others admits."""
        place = "~union" + "".join(f"~{number}" for number in numbers)
        known = self._numbers.get(place)
        if known is None:
            known = self._numbers[place] = len(self.entries)
            self.entries.append(Entry({"anyOf": [True] * len(numbers)}, "", place))
            self._numbers |= {f"{place}/anyOf/{at}": number for at, number in enumerate(numbers)}
        return known

    def target(self, number: int, key: str) -> int:
        """Where the reference ``key`` of a schema leads.

        Raises:
            NotFree: nowhere in this document, or not to one place.
        """
        entry = self.entries[number]
        assert isinstance(entry.schema, dict)
        reference, place = entry.schema[key], pointer(entry.place, key)
        if not isinstance(reference, str):
            raise NotFree(place, "a reference is a text", reference)
        uri, fragment = urldefrag(_joined(entry.base, reference))
        fragment = unquote(fragment)
        if key == "$dynamicRef" and fragment in self._dynamic:
            if len(self._dynamic[fragment]) > 1:
                raise NotFree(place, "$dynamicRef is enforced where its name is declared once", reference)
        if uri not in self._roots:
            raise NotFree(place, "the reference leads out of the document", reference)
        root, at = self._roots[uri]
        if fragment and not fragment.startswith("/"):
            found = self._anchors.get((uri, fragment))
            if found is None:
                raise NotFree(place, "the reference leads nowhere", reference)
            return self.at(found)
        try:
            return self.number(*self._walk(root, uri, at, fragment))
        except (KeyError, IndexError, TypeError, ValueError):
            raise NotFree(place, "the reference leads nowhere", reference) from None

    def _walk(self, value: JsonValue, base: str, place: str, steps: str) -> tuple[JsonValue, str, str]:
        for raw in steps.split("/")[1:]:
            step = raw.replace("~1", "/").replace("~0", "~")
            value = value[int(step)] if isinstance(value, list) else value[step]  # type: ignore[index]
            place = pointer(place, step)
            base = self._bases.get(place, base)
        return value, base, place

    def _index(self, schema: JsonValue, base: str, place: str) -> None:
        """Note resources and anchors. Recursion is bounded by the depth of a document."""
        if not isinstance(schema, dict):
            return
        name = schema.get("$id")
        if isinstance(name, str):
            base = urldefrag(_joined(base, name))[0]
            self._roots.setdefault(base, (schema, place))
        self._bases[place] = base
        for key in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(key)
            if isinstance(anchor, str):
                self._anchors.setdefault((base, anchor), place)
                if key == "$dynamicAnchor":
                    self._dynamic.setdefault(anchor, []).append(place)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            self._refs.append((base, reference))
        for below, member in _inside(schema, place):
            self._index(member, base, below)

    def _note_containers(self, base: str, reference: str) -> None:
        uri, fragment = urldefrag(_joined(base, reference))
        if uri in self._roots and fragment.startswith("/"):
            place = self._roots[uri][1]
            for step in unquote(fragment).split("/")[1:]:
                place = f"{place}/{step}"
                self.containers.add(place)


def _inside(schema: Schema, place: str) -> Iterator[tuple[str, JsonValue]]:
    """The schemas inside one, with their places."""
    for key, value in schema.items():
        below = pointer(place, key)
        if key in BY_NAME and isinstance(value, dict):
            yield from ((pointer(below, name), member) for name, member in value.items())
        elif key in LISTED and isinstance(value, list):
            yield from ((f"{below}/{at}", member) for at, member in enumerate(value))
        elif key in SINGLE:
            yield below, value


def _order(schema: Schema) -> list[str]:
    vendor, properties = schema.get(VENDOR, {}), schema["properties"]
    assert isinstance(vendor, dict) and isinstance(properties, dict)
    order = vendor.get("order", list(properties))
    assert isinstance(order, list)
    return [name for name in order if isinstance(name, str)]


def _spoken_of(schema: Schema) -> Iterator[str]:
    """The names in the keywords of one schema."""
    if "properties" in schema:
        yield from _order(schema)
    required = schema.get("required", [])
    assert isinstance(required, list)
    yield from (name for name in required if isinstance(name, str))
    for key in ("dependentRequired", "dependentSchemas", "dependencies"):
        members = schema.get(key, {})
        assert isinstance(members, dict)
        for name in sorted(members):
            yield name
            others = members[name]
            yield from (
                other for other in (others if isinstance(others, list) else []) if isinstance(other, str)
            )
    listed = schema.get("enum", [])
    assert isinstance(listed, list)
    for value in [*listed, schema.get("const")]:
        if isinstance(value, dict):
            yield from sorted(value)


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#") or not reference:
        return f"{base}{reference}"
    if base.startswith("urn:"):
        return reference
    return urljoin(base, reference)

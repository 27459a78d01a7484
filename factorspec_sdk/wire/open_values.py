"""Schemas that admit values of several types or of any size: their texts, as a grammar, for free parts.

Such a schema means what JSON Schema says: an object is open unless it says otherwise, a pattern is searched.
"""

from __future__ import annotations

from collections.abc import Mapping

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import ANNOTATIONS, VENDOR, Schema
from factorspec_sdk.wire.languages.grammar import grammar_of
from factorspec_sdk.wire.languages.resources import NotFree
from factorspec_sdk.wire.languages.rules import ValueKey
from factorspec_sdk.wire.languages.value_rules import Rules
from factorspec_sdk.wire.languages.wellformed import has_order_only
from factorspec_sdk.wire.problems import Problems
from factorspec_sdk.wire.schema import FreeNode

#: characters of all grammars of a document
MAX_GRAMMARS = 4_000_000
#: keywords that are enforced in free parts only
_OPEN = frozenset(
    {
        "not", "if", "then", "else", "contains", "minContains", "maxContains", "prefixItems", "uniqueItems",
        "unevaluatedItems", "patternProperties", "propertyNames", "minProperties", "maxProperties",
        "unevaluatedProperties", "dependentRequired", "dependentSchemas", "dependencies", "$id", "$anchor",
        "$dynamicAnchor", "$dynamicRef", "$defs", "definitions",
    }
)  # fmt: skip
_LISTED = frozenset({"type", "enum", "const", "format", VENDOR})


def is_open(schema: JsonValue) -> bool:
    """True if a schema is read as an open value: it has no single type, or keywords that records have not."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    if VENDOR in schema and not has_order_only(schema):
        return False
    keys = schema.keys() - ANNOTATIONS - {VENDOR}
    if keys & _OPEN:
        return True
    if "$ref" in keys:
        reference = schema["$ref"]
        return len(keys) > 1 or (isinstance(reference, str) and not _names_definition(reference))
    for key in ("anyOf", "oneOf", "allOf"):
        if key in keys:
            branches = schema[key]
            keys -= {"discriminator"}
            several = key == "allOf" and isinstance(branches, list) and len(branches) > 1
            return several or len(keys) > 1 or (isinstance(branches, list) and any(map(is_open, branches)))
    if keys & {"enum", "const"}:
        return bool(keys - _LISTED) or any(isinstance(v, float | dict | list) for v in _values(schema))
    return _is_open_type(schema)


def _names_definition(reference: str) -> bool:
    parts = reference.split("/")
    return len(parts) == 3 and parts[0] == "#" and parts[1] in ("$defs", "definitions")


def _values(schema: Schema) -> list[JsonValue]:
    listed = schema.get("enum", [])
    values = listed if isinstance(listed, list) else []
    return [*values, schema["const"]] if "const" in schema else values


def _is_open_type(schema: Schema) -> bool:
    kind = schema.get("type")
    names = [name for name in kind if name != "null"] if isinstance(kind, list) else [kind]
    if "type" not in schema or len(names) > 1:
        return True
    if names == ["object"]:
        return schema.get("additionalProperties", False) is not False
    return names == ["array"] and "items" not in schema


class OpenValues:
    """Writes the grammars of one document's open values."""

    def __init__(self, document: Mapping[str, JsonValue], problems: Problems) -> None:
        self._document = document
        self._problems = problems
        self._rules: Rules | None = None
        self._written: dict[ValueKey | None, str | None] = {}
        self._size = 0

    @property
    def rules(self) -> Rules:
        """What the schemas of the document admit, made when first needed."""
        if self._rules is None:
            self._rules = Rules(dict(self._document))
        return self._rules

    def node(self, schema: JsonValue, place: str) -> FreeNode | None:
        """The free node of an open value; None if it has problems (noted)."""
        try:
            grammar = self.grammar(place)
        except NotFree as problem:
            problem.note(self._problems)
            return None
        if grammar is None:
            self._problems.empty(place, "no value satisfies this schema")
            return None
        return FreeNode(place, schema if isinstance(schema, dict) else {}, grammar)

    def orders(self) -> list[tuple[Schema, list[str]]]:
        """All schemas with properties that were read, and their names in writing order."""
        return [] if self._rules is None else self._rules.orders()

    def trial(self, schema: Schema, place: str) -> FreeNode | None:
        """The free node of a value that may as well be read as an open one; None if it cannot."""
        try:
            grammar = self.grammar(place)
        except NotFree:
            return None
        return None if grammar is None else FreeNode(place, schema, grammar)

    def grammar(self, place: str) -> str | None:
        """The grammar of the values of a schema; None if there are none.

        Raises:
            NotFree: a keyword cannot be enforced exactly.
        """
        key = self.rules.root(place)
        if key not in self._written:
            found = grammar_of(self.rules, key, place)
            self._size += len(found or "")
            if self._size > MAX_GRAMMARS:
                raise NotFree(place, "the open values are too large together", hint="narrow their choices")
            self._written[key] = found
        return self._written[key]

"""The JSON Schema keywords of a document, place by place, and who enforces each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import ANNOTATIONS, ROOT_ONLY, VENDOR
from factorspec_sdk.wire.problems import pointer

_OF_SCHEMAS = ("properties", "$defs", "definitions", "dependentSchemas", "patternProperties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames")


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords of one sub-schema, in order; annotations are left out.

    pointer: where the sub-schema stands in the document.
    """

    pointer: str
    names: tuple[str, ...]


def keywords_of(schema: JsonValue, place: str = "") -> Iterator[Keywords]:
    """The keywords of a schema and of all schemas in it. O(size of the document)."""
    if not isinstance(schema, dict):
        return
    names = tuple(name for name in sorted(schema) if name not in ANNOTATIONS | ROOT_ONLY and name != VENDOR)
    if names:
        yield Keywords(place, names)
    for name, inner in _below(schema):
        yield from keywords_of(inner, f"{place}{name}")


def _below(schema: dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    for name in _OF_SCHEMAS:
        held = schema.get(name)
        for key, inner in held.items() if isinstance(held, dict) else ():
            yield pointer("", name, key), inner
    for name in _LISTS:
        branches = schema.get(name)
        for at, inner in enumerate(branches) if isinstance(branches, list) else ():
            yield pointer("", name, at), inner
    for name in _SINGLE:
        if name in schema:
            yield pointer("", name), schema[name]

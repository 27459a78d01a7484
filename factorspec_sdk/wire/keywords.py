"""JSON Schema keywords: which are read, which only annotate, and why the others are refused."""

from __future__ import annotations

from collections.abc import Iterable

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.problems import Problems, pointer

Schema = dict[str, JsonValue]

VENDOR = "x-factorspec"
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
ROOT_ONLY = frozenset({"$defs", "definitions", "$schema", "$id"})

_LATER = "is not enforced in this version"
_RELATION = "declare a relation under x-factorspec"
#: keyword -> (reason, hint)
_REASONS: dict[str, tuple[str, str | None]] = {
    "uniqueItems": (_LATER, "declare all_different over the items"),
    "contains": (_LATER, "declare a count over the items"),
    "minContains": (_LATER, "declare a count over the items"),
    "maxContains": (_LATER, "declare a count over the items"),
    "prefixItems": (_LATER, "write an object with one property per position"),
    "additionalItems": (_LATER, "write an object with one property per position"),
    "unevaluatedItems": (_LATER, None),
    "patternProperties": (_LATER, "list the properties"),
    "propertyNames": (_LATER, "list the properties"),
    "unevaluatedProperties": (_LATER, "objects are closed anyway; leave it out"),
    "minProperties": (_LATER, "list what is required"),
    "maxProperties": (_LATER, "list the properties"),
    "dependentRequired": (_LATER, _RELATION),
    "dependentSchemas": (_LATER, _RELATION),
    "dependencies": (_LATER, _RELATION),
    "if": (_LATER, "declare an implies relation under x-factorspec"),
    "then": (_LATER, "declare an implies relation under x-factorspec"),
    "else": (_LATER, "declare an implies relation under x-factorspec"),
    "not": (_LATER, _RELATION),
    "allOf": ("is enforced only around a single schema", "write the schema itself"),
    "anyOf": ("is not enforced beside other keywords", "write them into its branches"),
    "oneOf": ("is not enforced beside other keywords", "write them into its branches"),
    "discriminator": ("stands beside oneOf or anyOf only", None),
    "$anchor": ("references go to #/$defs only", None),
    "$dynamicRef": ("references go to #/$defs only", None),
    "$dynamicAnchor": ("references go to #/$defs only", None),
    "$recursiveRef": ("references go to #/$defs only", None),
    "$vocabulary": (_LATER, None),
    "contentEncoding": (_LATER, "leave it out, or write a pattern"),
    "contentMediaType": (_LATER, "leave it out"),
    "contentSchema": (_LATER, "leave it out"),
    "nullable": ("is not JSON Schema", "write anyOf [schema, {'type': 'null'}]"),
}
_ELSEWHERE = frozenset(
    {
        "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "minLength", "maxLength", "pattern", "format", "items", "minItems", "maxItems", "properties",
        "required", "additionalProperties", "$ref",
    }
)  # fmt: skip


def refuse_others(schema: Schema, known: Iterable[str], what: str, place: str, problems: Problems) -> None:
    """Note every keyword that is neither known here nor an annotation."""
    allowed = ANNOTATIONS.union(known)
    if not place:
        allowed |= ROOT_ONLY
    for key in schema:
        if key not in allowed:
            _refuse(key, schema[key], what, pointer(place, key), problems, allowed)


def _refuse(
    key: str, value: JsonValue, what: str, place: str, problems: Problems, allowed: frozenset[str]
) -> None:
    if key in _REASONS:
        reason, hint = _REASONS[key]
        problems.refuse(place, f"{key} {reason}", value, hint)
    elif key in ROOT_ONLY:
        problems.refuse(place, f"{key} stands at the root of a document only", value)
    elif key in _ELSEWHERE or key == VENDOR:
        problems.refuse(place, f"{key} is not enforced on {what}", value, "leave it out")
    else:
        problems.refuse(
            place, f"unknown keyword {key!r}", value, problems.did_you_mean(key, allowed | _ELSEWHERE)
        )

"""Is a schema well formed, and are its keywords known? Looked at once for each schema, before it is read."""

from __future__ import annotations

from collections.abc import Callable

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.finite import TYPES
from factorspec_sdk.wire.keywords import ANNOTATIONS, ROOT_ONLY, VENDOR, Schema
from factorspec_sdk.wire.languages.formats import OPEN_FORMATS
from factorspec_sdk.wire.languages.resources import BY_NAME, LISTED, SINGLE, NotFree, Resources
from factorspec_sdk.wire.problems import pointer

#: the largest count in an open value
MOST_COUNTED = 1_000
#: what a text holds; annotations by the standard
CONTENT = frozenset({"contentEncoding", "contentMediaType", "contentSchema"})
_SILENT = (
    ANNOTATIONS | CONTENT | {"$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "discriminator"}
)


def _is_count(value: JsonValue) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        return "a whole number from 0"
    return None


def _is_number(value: JsonValue) -> str | None:
    return "a number" if isinstance(value, bool) or not isinstance(value, int | float) else None


def _is_step(value: JsonValue) -> str | None:
    wrong = _is_number(value)
    assert wrong or isinstance(value, int | float)
    return wrong or ("a number above 0" if value <= 0 else None)  # type: ignore[operator]  # a number


def _is_text(value: JsonValue) -> str | None:
    return None if isinstance(value, str) else "a text"


def _is_flag(value: JsonValue) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _is_names(value: JsonValue) -> str | None:
    fine = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return None if fine else "a list of names"


def _is_type(value: JsonValue) -> str | None:
    names = value if isinstance(value, list) else [value]
    fine = names and all(isinstance(name, str) and name in TYPES for name in names)
    return None if fine else f"one of {', '.join(sorted(TYPES))}, or a list of them"


def _is_names_by_name(value: JsonValue) -> str | None:
    fine = isinstance(value, dict) and not any(map(_is_names, value.values()))
    return None if fine else "an object of lists of names"


_FORMS: dict[str, Callable[[JsonValue], str | None]] = {
    **dict.fromkeys(
        (
            "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
            "minContains", "maxContains",
        ),
        _is_count,
    ),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("pattern", "format", "$ref", "$dynamicRef"), _is_text),
    "multipleOf": _is_step,
    "uniqueItems": _is_flag,
    "required": _is_names,
    "dependentRequired": _is_names_by_name,
    "type": _is_type,
    "enum": lambda value: None if isinstance(value, list) else "a list of values",
    "const": lambda value: None,
    **dict.fromkeys(BY_NAME, lambda value: None if isinstance(value, dict) else "an object of schemas"),
    **dict.fromkeys(LISTED, lambda value: None if isinstance(value, list) and value else "a list of schemas"),
    **dict.fromkeys(SINGLE, lambda value: None),
}  # fmt: skip


def check_schema(schema: Schema, place: str, resources: Resources) -> None:
    """Look at the keywords of one schema; those of the schemas inside are looked at when they are read.

    Raises:
        NotFree: a keyword is unknown or not well formed.
    """
    for key, value in schema.items():
        below = pointer(place, key)
        if key in _FORMS:
            wrong = _FORMS[key](value)
            if wrong is not None:
                raise NotFree(below, f"{key} is {wrong}", value)
            if _FORMS[key] is _is_count and isinstance(value, int | float) and value > MOST_COUNTED:
                raise NotFree(below, f"{key} above {MOST_COUNTED} is not enforced here", value)
            if key == "format" and value not in OPEN_FORMATS:
                hint = "leave it out, or write a pattern"
                raise NotFree(below, "this format cannot be enforced exactly", value, hint=hint)
        elif key == VENDOR:
            if not has_order_only(schema):
                raise NotFree(below, "in an open value, only 'order' is taken here", value)
        elif key not in _SILENT | (ROOT_ONLY if not place else set()) and below not in resources.containers:
            raise NotFree(below, f"unknown keyword {key!r}", value)


def has_order_only(schema: Schema) -> bool:
    """True if the vendor key of a schema says the writing order of its properties and nothing else."""
    vendor, properties = schema.get(VENDOR), schema.get("properties")
    if not isinstance(vendor, dict) or not isinstance(properties, dict) or vendor.keys() != {"order"}:
        return False
    order = vendor["order"]
    return (
        isinstance(order, list)
        and len(order) == len(properties)
        and all(isinstance(name, str) and name in properties for name in order)
    )

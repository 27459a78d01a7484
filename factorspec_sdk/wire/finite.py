"""Values that are listed: ``enum``, ``const``, booleans, null; and null added to any schema."""

from __future__ import annotations

from collections.abc import Callable

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import (
    CodeType,
    EnumDomain,
    MomentType,
    Scalar,
    canonical_code,
    moment_kind,
    typed_key,
    zone_of,
)
from factorspec_sdk.wire.decimals import listed_type
from factorspec_sdk.wire.keywords import VENDOR, Schema, refuse_others
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import FiniteNode, NullableNode, SchemaNode, UnionNode
from factorspec_sdk.wire.vendor import vendor_of

_IS_TYPE: dict[str, Callable[[Scalar], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: False,
    "object": lambda value: False,
}
TYPES = frozenset(_IS_TYPE)

FALSE_TRUE = EnumDomain((False, True))
NULL_ONLY = EnumDomain((None,))


def types_of(schema: Schema, place: str, problems: Problems) -> tuple[str, ...] | None:
    """The names in ``type``: empty where it is absent, None where it is wrong (noted)."""
    value = schema.get("type", [])
    names = value if isinstance(value, list) else [value]
    place = pointer(place, "type")
    known = [name for name in names if isinstance(name, str) and name in _IS_TYPE]
    if len(known) < len(names) or len(set(known)) < len(known) or (value == [] and "type" in schema):
        hint = (
            problems.did_you_mean(value, _IS_TYPE)
            if isinstance(value, str)
            else "use one type, or [type, 'null']"
        )
        problems.add(place, "unknown type", value, hint)
        return None
    return tuple(known)


def read_listed(schema: Schema, place: str, limits: Limits, problems: Problems) -> SchemaNode | None:
    """Read a schema with ``enum`` or ``const``."""
    refuse_others(
        schema, {"type", "enum", "const", "format", VENDOR}, "values that are listed", place, problems
    )
    types = types_of(schema, place, problems)
    values = _listed_values(schema, place, limits, problems)
    if types is None or values is None:
        return None
    if types:
        values = tuple(v for v in values if any(_IS_TYPE[name](v) for name in types))
    if "format" in schema:
        vendor_of(schema, place, frozenset(), problems)
        code_type = _moment_type(schema, values, place, problems)
    else:
        code_type = listed_type(schema, values, place, problems)
    if not values:
        problems.empty(place, "no value is left in the list")
        return None
    return FiniteNode(place, EnumDomain(values, code_type))


def _listed_values(
    schema: Schema, place: str, limits: Limits, problems: Problems
) -> tuple[Scalar, ...] | None:
    found: dict[tuple[str, Scalar], Scalar] | None = None
    for key in ("enum", "const"):
        if key not in schema:
            continue
        listed = schema[key] if key == "enum" else [schema[key]]
        below = pointer(place, key)
        if not isinstance(listed, list):
            problems.add(below, "enum is a list of values", listed)
            return None
        if len(listed) > limits.enum_values:
            problems.refuse(below, f"more than {limits.enum_values} values")
            return None
        values = _scalars(listed, below, key == "enum", problems)
        if values is None:
            return None
        found = values if found is None else {k: v for k, v in found.items() if k in values}
    assert found is not None
    return tuple(found.values())


def _scalars(
    listed: list[JsonValue], place: str, is_list: bool, problems: Problems
) -> dict[tuple[str, Scalar], Scalar] | None:
    found: dict[tuple[str, Scalar], Scalar] = {}
    before = len(problems)
    for at, value in enumerate(listed):
        if isinstance(value, float | list | dict):
            below = f"{place}/{at}" if is_list else place
            hint = "write decimals as texts" if isinstance(value, float) else None
            problems.refuse(below, "only texts, integers, booleans and null can be listed", value, hint)
        else:
            found.setdefault(typed_key(value), value)
    return found if len(problems) == before else None


def moment_name(name: JsonValue) -> MomentType | None:
    """The format, if it is one of those that relations can compute with."""
    return _FORMATS.get(name) if isinstance(name, str) else None


_FORMATS: dict[str, MomentType] = {"date": "date", "time": "time", "date-time": "datetime"}


def _moment_type(
    schema: Schema, values: tuple[Scalar, ...], place: str, problems: Problems
) -> CodeType | None:
    """What the format says; every text must then be one."""
    place = pointer(place, "format")
    name = moment_name(schema["format"])
    if name is None:
        message = "beside enum or const, format is date, time or date-time"
        problems.refuse(place, message, schema["format"], "leave it out")
        return None
    kinds = {name, *(moment_kind(name, value) for value in values)} - {"datetime"} or {name}
    kind = kinds.pop()
    zones = {zone_of(value) for value in values if isinstance(value, str)}
    for value in values:
        if isinstance(value, str) and (canonical_code(kind, value) is None or len(zones) > 1):
            what = "names another time zone" if len(zones) > 1 else f"is no ISO {schema['format']}"
            problems.add(place, f"a listed value {what}", value)
            return None
    return kind


def nullable(node: SchemaNode, place: str, limits: Limits) -> SchemaNode:
    """The schema with null beside it: null joins a finite domain after its values; a wide one is a branch."""
    if isinstance(node, NullableNode):
        return node
    if not isinstance(node, FiniteNode):
        return NullableNode(place, node)
    domain = node.domain
    if domain.index(None) is not None:
        return node
    if len(domain) > limits.enum_values:
        return UnionNode(place, (node, FiniteNode(place, NULL_ONLY)))
    listed = [domain.value(i) for i in range(len(domain))]
    values = tuple(value for value in listed if not isinstance(value, float))
    if len(values) < len(listed):  # decimals that are written as numbers
        return UnionNode(place, (node, FiniteNode(place, NULL_ONLY)))
    return FiniteNode(place, EnumDomain((*values, None), domain.code_type))

"""The vendor key ``x-factorspec``: order, relations, tables on objects, domains on values, an objective."""

from __future__ import annotations

from dataclasses import dataclass, field

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.wire.keywords import VENDOR, Schema
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import Row

VERSION = 1
_ON_OBJECTS = frozenset({"order", "relations", "tables"})
_ON_VALUES = frozenset({"domain"})
_AT_ROOT = frozenset({"objective"})
_HEAD = frozenset({"version", "max_depth"})


@dataclass(frozen=True, slots=True)
class ObjectVendor:
    """What the vendor key of an object says; ``relations`` and ``objective`` are still JSON."""

    order: list[JsonValue] | None = None
    relations: list[JsonValue] = field(default_factory=list)
    objective: list[JsonValue] = field(default_factory=list)
    tables: dict[str, tuple[Row, ...]] = field(default_factory=dict)


def vendor_of(schema: Schema, place: str, allowed: frozenset[str], problems: Problems) -> Schema:
    """The vendor object of a schema with only ``allowed`` keys in it (and those of a head at the root)."""
    if VENDOR not in schema:
        return {}
    value = schema[VENDOR]
    place = pointer(place, VENDOR)
    if not isinstance(value, dict):
        problems.add(place, f"{VENDOR} is an object", value)
        return {}
    at_root = place == f"/{VENDOR}"
    kept: Schema = {}
    for key, item in value.items():
        below = pointer(place, key)
        if key in _HEAD and at_root:
            continue
        if key in allowed:
            kept[key] = item
        else:
            _refuse(key, item, below, allowed, problems)
    return kept


def _refuse(key: str, value: JsonValue, place: str, allowed: frozenset[str], problems: Problems) -> None:
    if key in _HEAD:
        problems.refuse(place, f"{key} stands at the root of a document only", value)
    elif key in _AT_ROOT:
        problems.refuse(place, f"{key} stands at the root of a document only, on an object", value)
    elif key in _ON_OBJECTS | _ON_VALUES:
        where = "objects" if key in _ON_OBJECTS else "dates, times (beside 'format') and decimals"
        problems.refuse(place, f"{key} stands on {where} only", value)
    else:
        problems.refuse(place, f"unknown keyword {key!r}", value, problems.did_you_mean(key, allowed))


def check_version(document: Schema, problems: Problems) -> None:
    """The root says the version if it says anything about relations."""
    vendor = document.get(VENDOR)
    if not isinstance(vendor, dict):
        return
    place = pointer("", VENDOR, "version")
    if "version" not in vendor:
        problems.add(place, "the version is missing", hint=f"write '\"version\": {VERSION}'")
    elif vendor["version"] != VERSION or isinstance(vendor["version"], bool | float):
        problems.refuse(place, "unknown version", vendor["version"], f"this reads version {VERSION}")


def object_vendor(schema: Schema, place: str, problems: Problems) -> ObjectVendor:
    """Read the vendor key of an object."""
    vendor = vendor_of(schema, place, _ON_OBJECTS if place else _ON_OBJECTS | _AT_ROOT, problems)
    place = pointer(place, VENDOR)
    return ObjectVendor(
        order=_list_of(vendor, "order", place, problems),
        relations=_list_of(vendor, "relations", place, problems) or [],
        objective=_list_of(vendor, "objective", place, problems) or [],
        tables=_tables(vendor.get("tables", {}), pointer(place, "tables"), problems),
    )


def _list_of(vendor: Schema, key: str, place: str, problems: Problems) -> list[JsonValue] | None:
    if key not in vendor:
        return None
    value = vendor[key]
    if isinstance(value, list):
        return value
    problems.add(pointer(place, key), f"{key} is a list", value)
    return None


def _tables(value: JsonValue, place: str, problems: Problems) -> dict[str, tuple[Row, ...]]:
    if not isinstance(value, dict):
        problems.add(place, "tables is an object of lists of rows", value)
        return {}
    found: dict[str, tuple[Row, ...]] = {}
    for name, rows in value.items():
        below = pointer(place, name)
        if not name:
            problems.add(below, "the name of a table is empty")
        if not isinstance(rows, list):
            problems.add(below, "a table is a list of rows", rows)
            found[name] = ()
        else:
            found[name] = _rows(rows, below, problems)
    return found


def _rows(rows: list[JsonValue], place: str, problems: Problems) -> tuple[Row, ...]:
    width = len(rows[0]) if rows and isinstance(rows[0], list) else None
    found: list[Row] = []
    for at, row in enumerate(rows):
        if not isinstance(row, list) or not row:
            problems.add(f"{place}/{at}", "a row is a list of one or more cells", row)
            continue
        if width is not None and len(row) != width:
            problems.add(f"{place}/{at}", f"the row has {len(row)} cells, the first row has {width}", row)
            continue
        found.append(tuple(_cell(cell, f"{place}/{at}/{k}", problems) for k, cell in enumerate(row)))
    return tuple(found)


def _cell(cell: JsonValue, place: str, problems: Problems) -> Scalar:
    if isinstance(cell, float | list | dict):
        hint = "write integers, or decimals as texts" if isinstance(cell, float) else None
        problems.add(place, "a cell is a text, an integer, a boolean or null", cell, hint)
        return None
    return cell


def ordered_names(
    names: list[str], order: list[JsonValue] | None, place: str, problems: Problems
) -> list[str]:
    """Property names in writing order; ``order`` must be a permutation of them."""
    if order is None:
        return names
    place = pointer(place, VENDOR, "order")
    known, seen = set(names), set[str]()
    for at, name in enumerate(order):
        below = f"{place}/{at}"
        if not isinstance(name, str) or name not in known:
            hint = problems.did_you_mean(name, known) if isinstance(name, str) else None
            problems.add(below, "order names a property that does not exist", name, hint)
        elif name in seen:
            problems.add(below, "order names a property twice", name)
        else:
            seen.add(name)
    for name in names:
        if name not in seen:
            problems.add(place, f"order leaves out the property {name!r}")
    texts = [name for name in order if isinstance(name, str)]
    return texts if seen == known and len(texts) == len(order) == len(names) else names

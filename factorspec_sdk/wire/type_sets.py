"""Types of values as sets of code types: what may be compared and calculated with what.

A type is the set of code types that a value may have, null apart: ``{"int"}``, ``{"date"}``, both for mixed
values. The empty set is null, or a value whose problems are noted already; it goes with everything.
"""

from __future__ import annotations

from factorspec_sdk.fields.decimals import DECIMALS, places_of
from factorspec_sdk.fields.domains import MOMENTS
from factorspec_sdk.wire.places import Kind, Scope

Type = frozenset[Kind]

ANY: Type = frozenset()
INT: Type = frozenset({"int"})
BOOL: Type = frozenset({"bool"})
DATE: Type = frozenset({"date"})
TEXT: Type = frozenset({"text"})
TIME: Type = frozenset({"time"})
COMPOUND: Type = frozenset({"compound"})
DECIMAL: Type = frozenset(DECIMALS)
NUMBER: Type = INT | DECIMAL
MOMENT: Type = frozenset(MOMENTS)
ORDERED: Type = NUMBER | MOMENT
TIMELINE: Type = INT | MOMENT
_EQUALITIES = frozenset({"eq", "ne"})
_NAMES: dict[str, str] = {
    "int": "an integer", "date": "a date", "time": "a time", "text": "a text", "bool": "a boolean",
    "datetime": "a date with a time", "instant": "a date with a time and a zone",
    "compound": "no single value",
}  # fmt: skip
_DATE_HINT = 'write {"const": "2026-05-01", "type": "date"}'
_TIME_HINT = 'write {"const": "09:30:00", "type": "time"}'
_DECIMAL_HINT = 'write {"const": "12.30", "type": "decimal"}'


def expect(found: Type, wanted: Type, message: str, scope: Scope, place: str) -> None:
    """Note that a value has another type than is needed. ``found`` must lie within ``wanted``."""
    if found - wanted:
        scope.problems.add(place, f"{message}, this is {names_of(found)}")


def check_comparison(op: str, left: Type, right: Type, scope: Scope, place: str) -> None:
    """Note a comparison that is never definite, or never true."""
    if op not in _EQUALITIES:
        for side in (left, right):
            if side - ORDERED - TEXT or (side == TEXT and not (left | right) & (MOMENT | DECIMAL)):
                scope.problems.add(place, f"{op} compares numbers, dates or times, this is {names_of(side)}")
                return
    if left and right and not may_equal(left, right):
        both = left | right
        hint = _DATE_HINT if both == DATE | TEXT else _TIME_HINT if both == TIME | TEXT else None
        hint = _DECIMAL_HINT if both & DECIMAL and both > TEXT else hint
        scope.problems.add(place, f"{names_of(left)} cannot be compared with {names_of(right)}", hint=hint)
    for side, other in ((left, right), (right, left)):
        if side & DECIMAL and other & INT and other - NUMBER:
            scope.problems.add(place, f"a decimal cannot be compared with mixed values: {names_of(other)}")


def calculable(found: Type) -> Type:
    """The type of a value that something is calculated with: texts of tables are what they spell."""
    return found - TEXT if found & (MOMENT | DECIMAL) else found


def one_scale(found: Type, scope: Scope, place: str) -> None:
    """Note numbers of different decimal places where they are compared as they stand."""
    if found & DECIMAL and len(found & NUMBER) > 1:
        message = "these fields have different numbers of decimal places"
        scope.problems.add(place, message, hint="give them the same decimal places, or compare them in pairs")


def places_in(found: Type) -> int:
    """The most decimal places of a type's numbers."""
    return max((places_of(name) or 0 for name in found), default=0)


def may_equal(left: Type, right: Type) -> bool:
    """True if a value of one type can equal one of the other."""
    return bool(left & right) or bool(left & NUMBER and right & NUMBER)


def names_of(found: Type) -> str:
    """A type in words."""
    return " or ".join(dict.fromkeys(_NAMES.get(name, "a decimal") for name in sorted(found))) or "null"

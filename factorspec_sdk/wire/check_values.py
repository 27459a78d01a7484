"""Checks of the kinds over the values of several fields and lists; see ``check_relations.py``."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.relations import AllEqual, Maximum, Minimum, SameLength
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.type_sets import one_scale
from factorspec_sdk.wire.types import (
    ANY,
    ORDERED,
    Type,
    check_comparison,
    expect,
    field_type,
    type_of,
)


def check_all_equal(relation: AllEqual, scope: Scope, place: str) -> None:
    """Values of different types are never equal."""
    one_type(relation.over, scope, pointer(place, "over"))


def check_extremum(relation: Maximum | Minimum, scope: Scope, place: str) -> None:
    """Numbers, dates or times of one type, compared with a value of that type."""
    over = pointer(place, "over")
    found = one_type(relation.over, scope, over)
    expect(found, ORDERED, f"{relation.kind} takes numbers, dates or times", scope, over)
    value = pointer(place, "value")
    check_comparison(relation.op, found, type_of(relation.value, scope, value), scope, value)


def check_same_length(relation: SameLength, scope: Scope, place: str) -> None:
    """Every path leads to bounded lists."""
    for at, path in enumerate(relation.over):
        scope.lists(path, pointer(place, "over", at))


def one_type(paths: Sequence[str], scope: Scope, place: str) -> Type:
    """The common type of all fields that some paths name; a path of another type is noted."""
    found: Type = ANY
    for at, path in enumerate(paths):
        below = f"{place}/{at}"
        own = field_type(path, scope, below)
        check_comparison("eq", found, own, scope, below)
        one_scale(found | own, scope, below)
        found = found | own if not found or found & own else found
    return found

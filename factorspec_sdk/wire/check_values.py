"""Checks of the kinds over the values of several fields and lists; see ``check_relations.py``."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.relations import AllEqual, Maximum, MemberOf, Minimum, PermutationOf, SameLength, SubsetOf
from factorspec_sdk.relations.expressions import Const
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.type_sets import may_equal, names_of, one_scale
from factorspec_sdk.wire.types import (
    ANY,
    INT,
    ORDERED,
    Type,
    check_comparison,
    column_type,
    const_type,
    expect,
    field_type,
    table_rows,
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


def check_occurring(relation: MemberOf | SubsetOf, scope: Scope, place: str) -> None:
    """One of ``of`` and ``table``; what is there has the fields' type."""
    over = pointer(place, "over")
    found = one_type(relation.over, scope, over)
    if (relation.of is None) == (relation.table is None):
        scope.problems.add(
            place, "one of 'of' and 'table' is needed", hint="name fields, or a table's column"
        )
        return
    if relation.of is not None:
        below = pointer(place, "of")
        _same_type(found, one_type(relation.of, scope, below), scope, below)
    else:
        _check_column(relation, found, scope, place)


def _check_column(relation: MemberOf | SubsetOf, found: Type, scope: Scope, place: str) -> None:
    assert relation.table is not None
    rows = scope.tables.get(relation.table)
    width = len(rows[0]) if rows else relation.column + 1
    if rows is not None and relation.column >= width:
        message = f"rows of {relation.table!r} have {width} cells, counted from 0"
        scope.problems.add(pointer(place, "column"), message, relation.column)
        return
    cells = column_type(table_rows(relation.table, width, scope, place), relation.column, found, scope)
    if found and cells and not may_equal(found, cells):
        message = f"{names_of(found)} never equals a cell of column {relation.column}: {names_of(cells)}"
        scope.problems.add(pointer(place, "over"), message)


def _same_type(found: Type, other: Type, scope: Scope, place: str) -> None:
    check_comparison("eq", found, other, scope, place)
    one_scale(found | other, scope, place)


def check_permutation(relation: PermutationOf, scope: Scope, place: str) -> None:
    """One of ``values``, ``of`` and ``start``; what is given has the fields' type."""
    found = one_type(relation.over, scope, pointer(place, "over"))
    given = [part for part in (relation.values, relation.of, relation.start) if part is not None]
    if len(given) != 1:
        scope.problems.add(place, "one of 'values', 'of' and 'start' is needed")
        return
    if relation.start is not None:
        expect(found, INT, "start counts integers", scope, pointer(place, "over"))
    if relation.of is not None:
        below = pointer(place, "of")
        _same_type(found, one_type(relation.of, scope, below), scope, below)
    check_constants(found, relation.values or (), scope, pointer(place, "values"))


def check_constants(found: Type, values: Sequence[Const], scope: Scope, place: str) -> None:
    """Constants that fields of a type may take; null is none of them, since null fields are left out."""
    for at, const in enumerate(values):
        below = pointer(place, at)
        check_comparison("eq", found, const_type(const, scope, below), scope, below)
        if const.const is None:
            scope.problems.add(below, "null does not count here", hint="leave it out")


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

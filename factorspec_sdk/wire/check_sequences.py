"""Checks of the kinds over values by how often and in which order they occur; see ``check_relations.py``."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.fields.domains import Scalar, typed_key
from factorspec_sdk.relations import Cardinality, Precedence, Regular
from factorspec_sdk.relations.evaluate import constant
from factorspec_sdk.relations.expressions import Const
from factorspec_sdk.wire.check_values import check_constants, one_type
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.schema import Row
from factorspec_sdk.wire.type_sets import may_equal, names_of
from factorspec_sdk.wire.types import column_type, table_rows


def check_cardinality(relation: Cardinality, scope: Scope, place: str) -> None:
    """Each value once, of the fields' type, with bounds in order."""
    found = one_type(relation.over, scope, pointer(place, "over"))
    occurs = pointer(place, "occurs")
    check_constants(found, relation.occurs, scope, occurs)
    _check_once(relation.occurs, scope, occurs)
    for at, own in enumerate(relation.occurs):
        if own.most is not None and own.least > own.most:
            scope.problems.add(pointer(occurs, at), f"least {own.least} is above most {own.most}")


def check_precedence(relation: Precedence, scope: Scope, place: str) -> None:
    """Each value once, of the fields' type."""
    found = one_type(relation.over, scope, pointer(place, "over"))
    values = pointer(place, "values")
    check_constants(found, relation.values, scope, values)
    _check_once(relation.values, scope, values)


def _check_once(values: Sequence[Const], scope: Scope, place: str) -> None:
    seen: set[object] = set()
    for at, const in enumerate(values):
        key = constant(const).key  # decimals are one value whatever their places
        if key in seen:
            scope.problems.add(pointer(place, at), "this value is there already", const.const)
        seen.add(key)


def check_regular(relation: Regular, scope: Scope, place: str) -> None:
    """A deterministic automaton over values of the fields' type; start and final states are its states."""
    found = one_type(relation.over, scope, pointer(place, "over"))
    table = pointer(place, "table")
    rows = table_rows(relation.table, 3, scope, place)
    if not rows:
        return
    cells = column_type(rows, 1, found, scope)
    if found and cells and not may_equal(found, cells):
        message = f"{names_of(found)} never equals a value of a transition: {names_of(cells)}"
        scope.problems.add(pointer(place, "over"), message)
    problem = _transitions_problem(rows)
    if problem is not None:
        scope.problems.add(table, *problem)
    states = {typed_key(row[0]) for row in rows} | {typed_key(row[2]) for row in rows}
    names = [str(name) for _, name in states if name is not None]
    for below, name in [
        ("start", relation.start),
        *((f"final/{n}", f) for n, f in enumerate(relation.final)),
    ]:
        if typed_key(name) not in states:
            hint = scope.problems.did_you_mean(str(name), names)
            scope.problems.add(f"{place}/{below}", "no transition knows this state", name, hint)


def _transitions_problem(rows: Sequence[Row]) -> tuple[str, Row] | None:
    """What is wrong with transitions, and the row."""
    seen: set[tuple[object, object]] = set()
    for row in rows:
        state, value, after = row
        if not (_is_name(state) and _is_name(after)):
            return "a state is a text or an integer", row
        if value is None:
            return "null fields are skipped, so null has no transition", row
        key = typed_key(state), typed_key(value)
        if key in seen:
            return "two transitions from one state by one value: give each value one next state", row
        seen.add(key)
    return None


def _is_name(state: Scalar) -> bool:
    return isinstance(state, str | int) and not isinstance(state, bool)

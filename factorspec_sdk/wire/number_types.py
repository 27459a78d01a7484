"""Types of what is calculated: integers, decimals with their places, dates and times."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.fields.decimals import MAX_PLACES, decimal_type, exact_decimal
from factorspec_sdk.relations.expressions import Const, Expr, Op
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.type_sets import (
    ANY,
    DECIMAL,
    INT,
    NUMBER,
    ORDERED,
    Type,
    calculable,
    expect,
    names_of,
    places_in,
)


def arithmetic_type(expr: Op, types: Sequence[Type], scope: Scope, place: str) -> Type:
    """Numbers; a date (or time) plus or minus an integer; the difference of two dates (or times)."""
    before = len(scope.problems)
    if expr.op == "mod":
        check_divisor(expr.args[1], scope, f"{place}/1")
    wanted = ORDERED if expr.op in ("add", "sub") else NUMBER
    types = [calculable(found) for found in types]
    for at, (arg, found) in enumerate(zip(expr.args, types, strict=True)):
        needed = "numbers, dates or times" if wanted is ORDERED else "numbers"
        if isinstance(arg, Const) and arg.const is None:
            scope.problems.add(f"{place}/{at}", f"{expr.op} of null is always unknown")
        else:
            expect(found, wanted, f"{expr.op} takes {needed}", scope, f"{place}/{at}")
    if len(scope.problems) > before:
        return ANY
    moments = [found for found in types if found - NUMBER]
    if not moments:
        return number_type(expr.op, types, scope, place)
    if expr.op == "sub" and types[0] == types[1] and len(types[0]) == 1:
        return INT
    others = [found for found in types if not found - NUMBER]
    mixed = len(moments) > 1 or (expr.op == "sub" and types[0] not in moments) or len(moments[0]) > 1
    if mixed or any(found & DECIMAL for found in others):
        shown = " and ".join(names_of(found) for found in types)
        hint = "a date or time takes integers (days, seconds); sub takes two of one type"
        scope.problems.add(place, f"{expr.op} cannot take {shown}", hint=hint)
        return ANY
    return moments[0]


def number_type(op: str, types: Sequence[Type], scope: Scope, place: str) -> Type:
    """Integers, or decimals of the most places; those of a product add up."""
    if not any(found & DECIMAL for found in types):
        return INT
    places = [places_in(found) for found in types]
    most = sum(places) if op == "mul" else max(places)
    if most > MAX_PLACES:
        hint = "round a factor first, as in rounded(value, unit)"
        scope.problems.add(
            place, f"the product has {most} decimal places, at most {MAX_PLACES} are", hint=hint
        )
        return ANY
    return frozenset({decimal_type(most)})


def extreme_type(expr: Op, types: Sequence[Type], scope: Scope, place: str) -> Type:
    """Values of one type, or numbers; the type is theirs."""
    types = [calculable(found) for found in types]
    for at, found in enumerate(types):
        expect(found, ORDERED, f"{expr.op} takes numbers, dates or times", scope, f"{place}/{at}")
    known = {found for found in types if found}
    if not any(found - NUMBER for found in known):
        return number_type(expr.op, types, scope, place)
    if len(known) > 1:
        scope.problems.add(place, f"{expr.op} takes values of one type", hint="here are several")
    return known.pop()


def check_divisor(divisor: Expr, scope: Scope, place: str) -> None:
    """Note a divisor that is the constant 0."""
    if not isinstance(divisor, Const):
        return
    if divisor.const == 0 or (divisor.type == "decimal" and exact_decimal(str(divisor.const)) == 0):
        scope.problems.add(place, "a division by 0 never has a value", divisor.const)

"""What operators do to quantities: part of the definition in ``evaluate.py``.

Numbers are exact: integers, and fractions for decimals. MISSING dominates; a value that is no number makes
the result unknown; a divisor of 0 makes it MISSING. Texts of tables are read as the number, date or time that
they spell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor

from factorspec_sdk.fields.decimals import MAX_PLACES, decimal_type, exact, is_decimal, places_of
from factorspec_sdk.fields.domains import CodeType, spelled_type
from factorspec_sdk.fields.rounding import Rounding, divided
from factorspec_sdk.relations.view import Quantity, Special, read_as

Number = int | Fraction

_COMPUTE: dict[str, Callable[[Sequence[Number]], Number]] = {
    "add": sum,
    "sub": lambda n: n[0] - n[1],
    "mul": lambda n: n[0] * n[1],
    "mod": lambda n: n[0] - n[1] * floor(Fraction(n[0]) / Fraction(n[1])),
    "neg": lambda n: -n[0],
    "abs": lambda n: max(n[0], -n[0]),
}


def computed(op: str, args: Sequence[Quantity]) -> Quantity:
    """The result of an arithmetic operator."""
    args = [read_text(arg) for arg in args]
    trouble = _trouble(args)
    if trouble is not None:
        return trouble
    numbers = _numbers(args)
    if op == "mod" and not numbers[1]:
        return Quantity(Special.MISSING)
    return Quantity(exact(_COMPUTE[op](numbers)), _result_type(op, args))


def divided_by(op: str, args: Sequence[Quantity], mode: Rounding) -> Quantity:
    """The rounded quotient, or the multiple of the divisor that rounding gives."""
    args = [read_text(arg) for arg in args]
    trouble = _trouble(args)
    if trouble is not None:
        return trouble
    number, divisor = _numbers(args)
    if divisor == 0:
        return Quantity(Special.MISSING)
    ratio = Fraction(number) / Fraction(divisor)
    whole = divided(ratio.numerator, ratio.denominator, mode)
    return Quantity(whole, "int") if op == "quotient" else Quantity(exact(whole * divisor), args[1].type)


def extreme_of(values: Sequence[Quantity], *, smallest: bool) -> Quantity:
    """The smallest or largest number; others are left out, MISSING is not."""
    if any(value.code is Special.MISSING for value in values):
        return Quantity(Special.MISSING)
    found = [(number, read) for read in map(read_text, values) if (number := read.number) is not None]
    if not found:
        return Quantity(Special.UNKNOWN)
    best = min(found, key=lambda pair: pair[0]) if smallest else max(found, key=lambda pair: pair[0])
    return best[1]


def total_of(values: Sequence[Quantity]) -> Quantity:
    """The sum of the numbers among some values; others count as 0, MISSING does not."""
    if any(value.code is Special.MISSING for value in values):
        return Quantity(Special.MISSING)
    found = [read for read in map(read_text, values) if read.number is not None]
    return Quantity(exact(sum(_numbers(found))), _result_type("add", found))


def read_text(value: Quantity) -> Quantity:
    """A text of a table as the number, date or time that it spells; other values as they are."""
    if value.type != "text" or not isinstance(value.code, str):
        return value
    kind = spelled_type(value.code)
    return value if kind is None else Quantity(read_as(value.code, kind), kind)


def _trouble(args: Sequence[Quantity]) -> Quantity | None:
    if any(arg.code is Special.MISSING for arg in args):
        return Quantity(Special.MISSING)
    return Quantity(Special.UNKNOWN) if any(arg.number is None for arg in args) else None


def _numbers(args: Sequence[Quantity]) -> list[Number]:
    return [number for arg in args if (number := arg.number) is not None]


def _result_type(op: str, args: Sequence[Quantity]) -> CodeType:
    moments = [arg.type for arg in args if arg.type is not None and places_of(arg.type) is None]
    if moments:
        return moments[0] if len(moments) == 1 and op in ("add", "sub") else "int"
    if not any(is_decimal(arg.type) for arg in args):
        return "int"
    places = [places_of(arg.type) or 0 for arg in args]
    return decimal_type(min(sum(places) if op == "mul" else max(places), MAX_PLACES))

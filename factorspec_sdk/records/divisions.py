"""Functions for ``@relation`` methods: quotients rounded to integers, numbers rounded to a unit.

Given ordinary numbers they compute, exactly and by the same rule.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeVar, cast

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.fields.rounding import Rounding, divided
from factorspec_sdk.records.symbols import recorded, term_of
from factorspec_sdk.records.terms import division
from factorspec_sdk.records.tracing import trace_of

N = TypeVar("N", int, Decimal)


def quotient(dividend: int | Decimal, divisor: int | Decimal, *, mode: Rounding = "half_up") -> int:
    """``dividend / divisor`` rounded to an integer: ``quotient(net * rate, 100)`` is a tax in cents.

    Args:
        dividend: a number.
        divisor: a number; where it is 0, the comparison around the quotient is false.
        mode: "half_up" takes ties away from zero, "half_even" to the even neighbour; "floor", "ceiling".
    """
    return cast(int, _divided("quotient", dividend, divisor, mode))


def rounded(value: int | Decimal, unit: N, *, mode: Rounding = "half_up") -> N:
    """The multiple of ``unit`` nearest to a value: ``rounded(net * rate, Decimal("0.01"))``.

    Where the rate is in percent: ``rounded(net * percent * Decimal("0.01"), Decimal("0.01"))``. Modes as in
    ``quotient``.
    """
    return cast(N, _divided("rounded", value, unit, mode))


def _divided(op: Literal["quotient", "rounded"], left: object, right: object, mode: Rounding) -> object:
    trace = trace_of(left, right)
    if trace is not None:
        return recorded(trace, lambda: division(op, term_of(left, trace), term_of(right, trace), mode))
    exact = _exact(left) / _exact(right)
    whole = divided(exact.numerator, exact.denominator, mode)
    return whole if op == "quotient" else whole * cast(int, right)


def _exact(value: object) -> Fraction:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Fraction(value)
    message = "only integers and decimals are divided here"
    raise DeclarationError("not a number", [Problem("", message, shown(value))])

"""Division of open values: the rounded integer quotient, and the remainder of floor division.

A divisor of 0 makes the value MISSING, so that the comparison around it is false: a record cannot make a
relation hold by dividing by zero. null and absent operands make it UNKNOWN; UNKNOWN waits for the other
operand only as long as that may turn out MISSING.

Readers of residuals (the register tier, CP-SAT) find the operands in ``dividend`` and ``divisor`` and the
rounding in ``mode``; ``fields.rounding.numerators`` gives the inverse image of a quotient's interval.
Rounding to a multiple of a unit is a product: the quotient times the unit.
"""

from __future__ import annotations

from collections.abc import Callable

from factorspec_sdk.automata.nodes import Code, Known, Mark, NodeStore, ValueNode
from factorspec_sdk.fields.rounding import Rounding, divided

Bounds = tuple[int | None, int | None]


class Quotient(ValueNode):
    """``dividend / divisor`` rounded to an integer by ``mode``."""

    __slots__ = ("dividend", "divisor", "mode")

    def __init__(self, store: NodeStore, dividend: ValueNode, divisor: ValueNode, mode: Rounding) -> None:
        lo, hi = _quotient_bounds(dividend, divisor, mode)
        definite, may_miss = _certainty(dividend, divisor)
        super().__init__(store, dividend.slots | divisor.slots, lo, hi, definite, may_miss)
        self.dividend, self.divisor, self.mode = dividend, divisor, mode

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        dividend, divisor = self.dividend.assign(slot, index, code), self.divisor.assign(slot, index, code)
        return quotient(self.store, dividend, divisor, self.mode)

    def _at(self, shift: int) -> ValueNode:
        return quotient(self.store, self.dividend.moved(shift), self.divisor.moved(shift), self.mode)


class Modulo(ValueNode):
    """What floor division leaves over: it has the sign of the divisor."""

    __slots__ = ("dividend", "divisor")

    def __init__(self, store: NodeStore, dividend: ValueNode, divisor: ValueNode) -> None:
        lo, hi = _modulo_bounds(dividend, divisor)
        definite, may_miss = _certainty(dividend, divisor)
        super().__init__(store, dividend.slots | divisor.slots, lo, hi, definite, may_miss)
        self.dividend, self.divisor = dividend, divisor

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return modulo(
            self.store, self.dividend.assign(slot, index, code), self.divisor.assign(slot, index, code)
        )

    def _at(self, shift: int) -> ValueNode:
        return modulo(self.store, self.dividend.moved(shift), self.divisor.moved(shift))


def quotient(store: NodeStore, dividend: ValueNode, divisor: ValueNode, mode: Rounding) -> ValueNode:
    """The rounded quotient."""
    settled = _settled(store, dividend, divisor, lambda a, b: divided(a, b, mode))
    if settled is not None:
        return settled
    key = (Quotient, dividend, divisor, mode)
    return store.intern(key, lambda: Quotient(store, dividend, divisor, mode))


def modulo(store: NodeStore, dividend: ValueNode, divisor: ValueNode) -> ValueNode:
    """The remainder of floor division."""
    settled = _settled(store, dividend, divisor, lambda a, b: a % b)
    if settled is not None:
        return settled
    return store.intern((Modulo, dividend, divisor), lambda: Modulo(store, dividend, divisor))


def _settled(
    store: NodeStore, dividend: ValueNode, divisor: ValueNode, compute: Callable[[int, int], int]
) -> ValueNode | None:
    """The constant that the operands decide; None while they do not."""
    for one, other in ((dividend, divisor), (divisor, dividend)):
        if isinstance(one, Known) and one.number is None:
            if one.code is Mark.MISSING:
                return one
            if not other.may_miss:
                return store.known(Mark.UNKNOWN)
    if not isinstance(divisor, Known):
        return None
    if divisor.number == 0:
        return store.known(Mark.MISSING) if dividend.definite else None
    if not isinstance(dividend, Known) or dividend.number is None or divisor.number is None:
        return None
    return store.known(compute(dividend.number, divisor.number))


def _certainty(dividend: ValueNode, divisor: ValueNode) -> tuple[bool, bool]:
    """(a number for sure, may be MISSING)."""
    never_zero = _never_zero(divisor)
    may_miss = dividend.may_miss or divisor.may_miss or not never_zero
    return dividend.definite and divisor.definite and never_zero, may_miss


def _never_zero(divisor: ValueNode) -> bool:
    return divisor.lo is not None and divisor.hi is not None and (divisor.lo > 0 or divisor.hi < 0)


def _divisor_ends(divisor: ValueNode) -> list[int]:
    """The divisors at which a quotient is extreme: the ends of the ranges on both sides of 0."""
    lo, hi = divisor.lo, divisor.hi
    if lo is None or hi is None:
        return []
    ends = [lo, hi] + ([1] if hi >= 1 else []) * (lo <= 0) + ([-1] if lo <= -1 else []) * (hi >= 0)
    return [end for end in ends if end]


def _quotient_bounds(dividend: ValueNode, divisor: ValueNode, mode: Rounding) -> Bounds:
    """Rounding is monotone in both operands on either side of 0, so the corners bound it."""
    ends = _divisor_ends(divisor)
    if dividend.lo is None or dividend.hi is None or not ends:
        return None, None
    corners = [divided(number, end, mode) for number in (dividend.lo, dividend.hi) for end in ends]
    return min(corners), max(corners)


def _modulo_bounds(dividend: ValueNode, divisor: ValueNode) -> Bounds:
    lo, hi = divisor.lo, divisor.hi
    if dividend.lo is None or dividend.hi is None or lo is None or hi is None:
        return None, None
    if lo > 0 and dividend.lo >= 0 and dividend.hi < lo:
        return dividend.lo, dividend.hi
    return min(0, lo + 1), max(0, hi - 1)

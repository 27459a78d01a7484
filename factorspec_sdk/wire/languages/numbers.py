"""Numbers as texts of one spelling each, and the numbers above, below or divisible by one, as automata.

A number is written as its value, without exponent: integers with at most 19 digits, others with at most 15
digits of which the last is not 0. So each text is one value, and no two of the others are the same binary
floating-point number: whatever reads them compares them right.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

from factorspec_sdk.wire.languages.automaton import MAX_STATES, Automaton, Span, TooManyStates, explore

_INTEGER_DIGITS = 19
_DIGITS = 15
_MINUS, _POINT, _ZERO, _NINE = map(ord, "-.09")


class _Place(NamedTuple):
    """Where a number stands: sign, phase, digits so far (those of the fraction too), what is remembered.

    phase: "start", "sign" (behind the minus), "zero" (a single 0), "whole", "point", "part" (a fraction).
    """

    phase: str
    negative: bool
    digits: int
    memory: int


def _steps(at: _Place) -> Iterator[tuple[Span, int | None, _Place]]:
    """Characters, the digit, and the place after them; the memory is the caller's to change."""
    if at.phase == "start":
        yield (_MINUS, _MINUS), None, at._replace(phase="sign", negative=True)
    if at.phase in ("start", "sign"):
        yield (_ZERO, _ZERO), None, at._replace(phase="zero")
        for digit in range(1, 10):
            yield _one(digit), digit, at._replace(phase="whole", digits=1)
    elif at.phase in ("whole", "point", "part"):
        for digit in range(10):
            phase = "whole" if at.phase == "whole" else "part"
            yield _one(digit), digit, at._replace(phase=phase, digits=at.digits + 1)
    if at.phase in ("zero", "whole"):
        yield (_POINT, _POINT), None, at._replace(phase="point")


def _one(digit: int) -> Span:
    return (_ZERO + digit, _ZERO + digit)


@cache
def numbers() -> Automaton:
    """All numbers that are written."""

    def step(at: _Place) -> Iterator[tuple[Span, _Place]]:
        for span, digit, after in _steps(at):
            most = _INTEGER_DIGITS if after.phase == "whole" else _DIGITS
            if after.digits <= most:
                yield span, after._replace(memory=int(after.phase == "part" and digit != 0))

    def ends(at: _Place) -> bool:
        return at.phase == "whole" or (at.phase == "zero" and not at.negative) or at.memory == 1

    return explore(_Place("start", False, 0, 0), step, ends)


@cache
def integers() -> Automaton:
    """The numbers without a fraction."""

    def step(at: _Place) -> Iterator[tuple[Span, _Place]]:
        for span, _, after in _steps(at):
            if after.phase != "point":
                yield span, after._replace(digits=0)

    return numbers() & explore(_Place("start", False, 0, 0), step, lambda at: at.phase in ("whole", "zero"))


@lru_cache(maxsize=256)
def compared(op: str, bound: Fraction) -> Automaton:
    """The numbers ``x`` with ``x op bound``; ``op`` is one of lt, le, gt, ge."""
    below, with_equal = op in ("lt", "le"), op in ("le", "ge")
    sizes = _sizes(abs(bound))

    def ends(at: _Place) -> bool:
        if at.phase in ("start", "sign", "point"):
            return False
        if at.negative is (bound < 0):
            order = -sizes.order(at) if at.negative else sizes.order(at)
        else:
            order = -1 if at.negative else 1
        return with_equal if order == 0 else (order < 0) is below

    return numbers() & explore(_Place("start", False, 0, 0), sizes.step, ends)


class _Sizes:
    """Compares a number's size with a bound, digit by digit; memory: -1 below, 0 same so far, 1 above."""

    def __init__(self, whole: str, part: str) -> None:
        self._whole, self._part = whole, part

    def step(self, at: _Place) -> Iterator[tuple[Span, _Place]]:
        for span, digit, after in _steps(at):
            if after.phase == "point":
                yield span, after._replace(digits=0, memory=self._order_of_whole(at))
            elif digit is None:
                yield span, after
            elif after.phase == "whole":
                if after.digits <= _INTEGER_DIGITS:
                    yield span, after._replace(memory=self._next(at, digit, self._whole))
            else:
                memory = self._next(at, digit, self._part) if at.digits < len(self._part) else at.memory
                if at.digits >= len(self._part) and memory == 0 and digit:
                    memory = 1
                yield span, after._replace(memory=memory, digits=min(after.digits, len(self._part) + 1))

    @staticmethod
    def _next(at: _Place, digit: int, digits: str) -> int:
        if at.memory or at.digits >= len(digits):
            return at.memory
        there = int(digits[at.digits])
        return (digit > there) - (digit < there)

    def _order_of_whole(self, at: _Place) -> int:
        size = at.digits if at.phase == "whole" else 0
        if size != len(self._whole):
            return 1 if size > len(self._whole) else -1
        return at.memory

    def order(self, at: _Place) -> int:
        """-1, 0 or 1: the number that ends here is below, at or above the bound."""
        if at.phase != "part":
            order = self._order_of_whole(at)
            return order if order or not self._part else -1
        return -1 if at.memory == 0 and at.digits < len(self._part) else at.memory


def _sizes(bound: Fraction) -> _Sizes:
    whole, rest = divmod(bound, 1)
    part = ""
    while rest:
        digit, rest = divmod(rest * 10, 1)
        part += str(digit)
        if len(part) >= MAX_STATES:
            raise TooManyStates
    return _Sizes(str(whole) if whole else "", part)


@lru_cache(maxsize=256)
def multiples(step: Fraction) -> Automaton:
    """The numbers that are a whole multiple of ``step``, a decimal above 0.

    Raises:
        TooManyStates: its digits are too many to divide by.
    """
    decimals = 0
    while (step * 10**decimals).denominator != 1:
        decimals += 1
    unit = int(step * 10**decimals)
    if unit * (decimals + 1) > MAX_STATES:
        raise TooManyStates

    def walk(at: _Place) -> Iterator[tuple[Span, _Place]]:
        for span, digit, after in _steps(at):
            memory = at.memory if digit is None else (at.memory * 10 + digit) % unit
            digits = after.digits if after.phase == "part" else 0
            if digits <= decimals:
                yield span, after._replace(memory=memory, digits=digits)

    def ends(at: _Place) -> bool:
        if at.phase in ("start", "sign", "point"):
            return False
        return at.memory * pow(10, decimals - at.digits, unit) % unit == 0

    return numbers() & explore(_Place("start", False, 0, 0), walk, ends)


def number_text(value: int | float) -> str | None:
    """How a number is written, or None if it is none of ``numbers``."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)
    return text if numbers().holds(text) else None

"""Integer division with a rounding mode, and its inverse image.

``half_up`` takes a tie away from zero, ``half_even`` to the even neighbour, as Python's ``decimal`` does.
"""

from __future__ import annotations

from typing import Literal

Rounding = Literal["floor", "ceiling", "half_up", "half_even"]


def divided(number: int, divisor: int, mode: Rounding) -> int:
    """``number / divisor`` rounded to an integer; ``divisor`` is not 0. Exact."""
    if divisor < 0:
        number, divisor = -number, -divisor
    whole, rest = divmod(number, divisor)
    match mode:
        case "floor":
            return whole
        case "ceiling":
            return whole + (rest > 0)
        case "half_up":
            up = 2 * rest > divisor or (2 * rest == divisor and number > 0)
        case "half_even":
            up = 2 * rest > divisor or (2 * rest == divisor and whole % 2 == 1)
    return whole + up


def numerators(least: int, most: int, divisor: int, mode: Rounding) -> tuple[int, int]:
    """The interval of the numbers n with ``least <= divided(n, divisor, mode) <= most``.

    Rounding is monotone, so the inverse image of an interval is one. ``divisor`` is not 0; empty (first
    above last) only if ``least > most``.
    """
    if divisor > 0:
        return _first_reaching(least, divisor, mode), _first_reaching(most + 1, divisor, mode) - 1
    first, last = numerators(least, most, -divisor, mode)
    return -last, -first


def _first_reaching(whole: int, divisor: int, mode: Rounding) -> int:
    """The least n with ``divided(n, divisor, mode) >= whole``; ``divisor`` is positive."""
    if mode == "floor":
        return whole * divisor
    if mode == "ceiling":
        return (whole - 1) * divisor + 1
    tie = (2 * whole - 1) * divisor  # twice the number half-way between whole - 1 and whole
    included = whole > 0 if mode == "half_up" else whole % 2 == 0
    return -(-tie // 2) if included else tie // 2 + 1

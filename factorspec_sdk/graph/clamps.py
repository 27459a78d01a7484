"""Clamps: how a running number can go on, as a relation between the number before and the number after.

``y`` follows ``r`` if ``first <= r <= last`` and ``max(low, r + least) <= y <= min(high, r + most)``. For
every ``r`` in its range there is such a ``y``. Waiting, lasting at least so long, travelling, opening hours
are clamps; one after the other they are again one clamp, exactly, so a whole item of a list is one operation.
"""

from __future__ import annotations

from typing import NamedTuple

#: stands for no bound; sums of a few of them and of numbers stay far beyond any number
FAR = 1 << 80

Spans = tuple[tuple[int, int], ...]


class Clamp(NamedTuple):
    """See the module."""

    first: int
    last: int
    least: int
    most: int
    low: int
    high: int


#: the number stays as it is
SAME = Clamp(-FAR, FAR, 0, 0, -FAR, FAR)
#: any number is forgotten: 0 follows
FORGET = Clamp(-FAR, FAR, -FAR, FAR, 0, 0)


def clamp(least: int, most: int, low: int, high: int) -> Clamp | None:
    """The clamp with these bounds, its range as wide as they allow; None if nothing ever follows."""
    if least > most or low > high:
        return None
    return Clamp(low - most, high - least, least, most, low, high)


def then(one: Clamp, two: Clamp) -> Clamp | None:
    """Both, one after the other; None if nothing passes."""
    low, high = max(one.low, two.first), min(one.high, two.last)
    first, last = max(one.first, low - one.most), min(one.last, high - one.least)
    if low > high or first > last:
        return None
    return Clamp(
        first,
        last,
        one.least + two.least,
        one.most + two.most,
        max(two.low, low + two.least),
        min(two.high, high + two.most),
    )


def after(move: Clamp, low: int, high: int) -> tuple[int, int] | None:
    """The numbers that follow those from ``low`` to ``high``: an interval; None if there are none."""
    low, high = max(low, move.first), min(high, move.last)
    if low > high:
        return None
    return max(move.low, low + move.least), min(move.high, high + move.most)


def before(move: Clamp, numbers: Spans) -> list[tuple[int, int]]:
    """The numbers that some of ``numbers`` follows."""
    found = []
    for low, high in numbers:
        if low <= move.high and move.low <= high:
            first, last = max(move.first, low - move.most), min(move.last, high - move.least)
            if first <= last:
                found.append((first, last))
    return found


def joined(spans: list[tuple[int, int]]) -> Spans:
    """Intervals in any order as sorted disjoint ones; adjacent ones are one."""
    if len(spans) < 2:
        return tuple(spans)
    spans.sort()
    merged = [spans[0]]
    for low, high in spans[1:]:
        if low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)

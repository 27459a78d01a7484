"""Sets of integers as sorted disjoint intervals, unbounded ends included: sums and running totals.

Immutable. ``spans`` holds closed intervals; ``-INFINITY`` and ``INFINITY`` stand for no bound. The
set operations are exact; those whose exact result would need more than ``MAX_SPANS`` intervals raise
``TooManySpans`` instead of approximating.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

INFINITY = 1 << 200
MAX_SPANS = 4_096
Span = tuple[int, int]
#: an arithmetic progression (first, last, step) with step > 0
Progression = tuple[int, int, int]


class TooManySpans(Exception):
    """An exact result would have too many intervals."""


class Intervals:
    """A set of integers."""

    __slots__ = ("spans",)

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self.spans = spans

    @classmethod
    def union(cls, spans: Iterable[Span]) -> Intervals:
        """The union of intervals in any order; adjacent ones are joined. O(n log n)."""
        merged: list[Span] = []
        for lo, hi in sorted(span for span in spans if span[0] <= span[1]):
            if merged and lo <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
            else:
                merged.append((lo, hi))
                if len(merged) > MAX_SPANS:
                    raise TooManySpans
        return cls(tuple(merged))

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        at = bisect_right(self.spans, (number, INFINITY)) - 1
        return at >= 0 and self.spans[at][1] >= number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Intervals) and self.spans == other.spans

    def __hash__(self) -> int:
        return hash(self.spans)

    def __repr__(self) -> str:
        return f"Intervals({list(self.spans)!r})"

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals.union(self.spans + other.spans)

    def shifted(self, by: int) -> Intervals:
        """{n + by}."""
        return Intervals(tuple((_add(lo, by), _add(hi, by)) for lo, hi in self.spans))

    def less(self, steps: Iterable[Progression]) -> Intervals:
        """{n : n + m is a member for some m of the progressions} (Minkowski difference). Exact."""
        out: list[Span] = []
        for lo, hi in self.spans:
            for first, last, step in steps:
                if hi - lo + 1 >= step or first == last:  # the copies touch
                    out.append((_add(lo, -last), _add(hi, -first)))
                    continue
                if (last - first) // step > MAX_SPANS:
                    raise TooManySpans
                out.extend((_add(lo, -m), _add(hi, -m)) for m in range(first, last + 1, step))
        return Intervals.union(out)


NOTHING = Intervals(())
ALL = Intervals(((-INFINITY, INFINITY),))


def of_progressions(steps: Iterable[Progression]) -> Intervals:
    """The members of progressions as intervals."""
    out: list[Span] = []
    for first, last, step in steps:
        if step == 1 or first == last:
            out.append((first, last))
        elif (last - first) // step > MAX_SPANS:
            raise TooManySpans
        else:
            out.extend((m, m) for m in range(first, last + 1, step))
    return Intervals.union(out)


def _add(end: int, by: int) -> int:
    return end if abs(end) >= INFINITY else end + by

"""Immutable sets of value indices, kept as sorted disjoint intervals.

A set of k intervals costs O(k) memory whatever its size, so a range of ten million values is one
interval. Used for feasible values (``Feasibility.values``) and for the residuals' allowed sets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

#: masks with more bits are read as a text of digits
_LONG = 4_096
_ONES = re.compile("1+")


class IndexSet:
    """A finite set of non-negative integers.

    ``spans`` holds sorted, disjoint, non-adjacent closed intervals ``(lo, hi)``. ``complete``: False where a
    budget cut the question whose answer this is, so that members may be left out; equality ignores it.
    """

    __slots__ = ("_size", "complete", "spans")

    def __init__(self, spans: tuple[tuple[int, int], ...], *, complete: bool = True) -> None:
        self.spans = spans
        self.complete = complete
        self._size = sum(hi - lo + 1 for lo, hi in spans)

    @classmethod
    def of(cls, indices: Iterable[int]) -> IndexSet:
        """The set of the given indices, in any order. O(n log n)."""
        spans: list[tuple[int, int]] = []
        for index in sorted(set(indices)):
            if spans and spans[-1][1] == index - 1:
                spans[-1] = (spans[-1][0], index)
            else:
                spans.append((index, index))
        return cls(tuple(spans))

    @classmethod
    def union_of(cls, spans: Iterable[tuple[int, int]]) -> IndexSet:
        """The union of intervals in any order, overlapping or not; empty ones are skipped. O(n log n)."""
        merged: list[tuple[int, int]] = []
        for lo, hi in sorted(span for span in spans if span[0] <= span[1]):
            if merged and lo <= merged[-1][1] + 1:
                if hi > merged[-1][1]:
                    merged[-1] = (merged[-1][0], hi)
            else:
                merged.append((lo, hi))
        return cls(tuple(merged))

    @classmethod
    def full(cls, size: int) -> IndexSet:
        """All indices below ``size``."""
        return cls(((0, size - 1),)) if size else cls(())

    @classmethod
    def from_mask(cls, mask: int) -> IndexSet:
        """The set of the bits that are 1 in ``mask``. O(number of runs), for long masks O(their length)."""
        if mask.bit_length() > _LONG:
            digits = f"{mask:b}"[::-1]
            return cls(tuple((run.start(), run.end() - 1) for run in _ONES.finditer(digits)))
        spans: list[tuple[int, int]] = []
        while mask:
            lo = (mask & -mask).bit_length() - 1
            run = mask >> lo
            length = (~run & (run + 1)).bit_length() - 1
            spans.append((lo, lo + length - 1))
            mask = (run >> length) << (lo + length)
        return cls(tuple(spans))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        for lo, hi in self.spans:
            yield from range(lo, hi + 1)

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int):
            return False
        at = bisect_right(self.spans, (index, 1 << 62)) - 1
        return at >= 0 and self.spans[at][1] >= index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexSet) and self.spans == other.spans

    def __hash__(self) -> int:
        return hash(self.spans)

    def __repr__(self) -> str:
        parts = ", ".join(str(lo) if lo == hi else f"{lo}..{hi}" for lo, hi in self.spans[:8])
        return f"IndexSet({parts}{', …' if len(self.spans) > 8 else ''})"

    def listed(self) -> IndexSet:
        """The same set with all members at hand."""
        return self

    def any_in(self, lo: int, hi: int) -> bool:
        """True if some member lies in ``[lo, hi]``. O(log spans)."""
        at = bisect_right(self.spans, (hi, 1 << 62)) - 1
        return at >= 0 and self.spans[at][1] >= lo

    def all_in(self, lo: int, hi: int) -> bool:
        """True if all of ``[lo, hi]`` are members. O(log spans)."""
        at = bisect_right(self.spans, (lo, 1 << 62)) - 1
        return lo > hi or (at >= 0 and self.spans[at][1] >= hi)

    def first_in(self, lo: int, hi: int) -> int | None:
        """The smallest member in ``[lo, hi]``, or None. O(log spans)."""
        at = bisect_right(self.spans, (lo, 1 << 62)) - 1
        if at >= 0 and self.spans[at][1] >= lo:
            return lo if lo <= hi else None
        at += 1
        return self.spans[at][0] if at < len(self.spans) and self.spans[at][0] <= hi else None

    def __and__(self, other: IndexSet) -> IndexSet:
        out: list[tuple[int, int]] = []
        left, right, i, j = self.spans, other.spans, 0, 0
        while i < len(left) and j < len(right):
            lo = max(left[i][0], right[j][0])
            hi = min(left[i][1], right[j][1])
            if lo <= hi:
                out.append((lo, hi))
            if left[i][1] < right[j][1]:
                i += 1
            else:
                j += 1
        return IndexSet(tuple(out), complete=self.complete and other.complete)

    def __or__(self, other: IndexSet) -> IndexSet:
        return IndexSet.union_of(self.spans + other.spans)

    def complement(self, size: int) -> IndexSet:
        """All indices below ``size`` that are not members."""
        out: list[tuple[int, int]] = []
        start = 0
        for lo, hi in self.spans:
            if lo > start:
                out.append((start, min(lo, size) - 1))
            start = hi + 1
        if start < size:
            out.append((start, size - 1))
        return IndexSet(tuple(out))

    @property
    def is_single(self) -> bool:
        """True if it has one member for sure, and none was left out."""
        return self._size == 1 and self.complete

    @property
    def first(self) -> int:
        """The smallest member; the set must not be empty."""
        return self.spans[0][0]

    @property
    def last(self) -> int:
        """The largest member; the set must not be empty."""
        return self.spans[-1][1]

    def mask(self) -> int:
        """The set as an integer whose bit i is 1 for each member i. O(largest member / 64)."""
        out = 0
        for lo, hi in self.spans:
            out |= ((1 << (hi - lo + 1)) - 1) << lo
        return out

"""A set of indices whose members are found by questions, and only as far as somebody wants to know.

Where a slot has millions of values and no form for its feasible ones is known, listing them is out of reach,
but "is there one between these bounds" is a question that a solver answers. Digits are decided by few such
questions. What was learned is kept::

    members   found ones, sorted            empty   intervals without a member (as far as the budget told)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence

from factorspec_sdk.fields.intervals import Intervals
from factorspec_sdk.fields.sets import IndexSet

Spans = tuple[tuple[int, int], ...]
MAX_AT_HAND = 16
#: some member within the spans, or None; and whether None is final
Ask = Callable[[Spans], tuple[int | None, bool]]


class AskedSet(IndexSet):
    """A subset of ``0 .. size - 1``. Not for use by two threads at once, unless ``ask`` sees to that.

    ``spans`` are the members found so far, ``len`` is no less than the number of members, and ``complete``
    turns False once a question had no final answer. Set operations are not for this class.
    """

    __slots__ = ("_ask", "_empty", "_given", "_members", "_whole")

    def __init__(self, size: int, ask: Ask, members: Iterable[int]) -> None:
        """``members``: those that are known beforehand."""
        self._members = sorted(set(members))
        super().__init__(IndexSet.of(self._members).spans)
        self._whole = size
        self._ask = ask
        self._given = tuple(self._members)
        self._empty: Intervals = Intervals(())

    def _note(self, member: int) -> None:
        insort(self._members, member)
        self.spans = IndexSet.of(self._members).spans

    def __len__(self) -> int:
        return self._whole - sum(hi - lo + 1 for lo, hi in self._empty.spans)

    def __iter__(self) -> Iterator[int]:
        at = self.first_in(0, self._whole - 1)
        while at is not None:
            yield at
            at = self.first_in(at + 1, self._whole - 1)

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and self.any_in(index, index)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"AskedSet({self._members[:8]!r} .., below {self._whole})"

    def any_in(self, lo: int, hi: int) -> bool:
        """True if some member lies in ``[lo, hi]``. One question where that is not known."""
        return self._some_in(max(lo, 0), min(hi, self._whole - 1)) is not None

    def first_in(self, lo: int, hi: int) -> int | None:
        """The smallest member in ``[lo, hi]``, or None. O(log size) questions."""
        lo, hi = max(lo, 0), min(hi, self._whole - 1)
        best = self._some_in(lo, hi)
        while best is not None and lo < best:
            middle = (lo + best - 1) // 2
            found = self._some_in(lo, middle)
            if found is None:
                lo = middle + 1
            else:
                best = found
        return best

    @property
    def first(self) -> int:
        """The smallest member; the set must not be empty."""
        found = self.first_in(0, self._whole - 1)
        assert found is not None
        return found

    @property
    def last(self) -> int:
        """The largest member; the set must not be empty. O(log size) questions."""
        best, hi = self.first, self._whole - 1
        while best < hi:
            middle = (best + 1 + hi + 1) // 2
            found = self._some_in(middle, hi)
            if found is None:
                hi = middle - 1
            else:
                best = found
        return best

    @property
    def is_single(self) -> bool:
        """False: that would be a question too many."""
        return False

    @property
    def at_hand(self) -> Sequence[int]:
        """Members that are known, at most ``MAX_AT_HAND``; those given beforehand come first."""
        return [*self._given, *self._members][:MAX_AT_HAND]

    def listed(self) -> IndexSet:
        """All members, one question for each that is not known; ``complete`` as far as the budget went."""
        while True:
            known = Intervals.union((*self._empty.spans, *self.spans)).spans
            others = tuple(_less(0, self._whole - 1, known))
            found, final = self._ask(others) if others else (None, True)
            if found is None:
                self._empty |= Intervals(others)
                self.complete = self.complete and final
                return IndexSet(self.spans, complete=self.complete)
            self._note(found)

    def _some_in(self, lo: int, hi: int) -> int | None:
        at = bisect_left(self._members, lo)
        if at < len(self._members) and self._members[at] <= hi:
            return self._members[at]
        open_ = tuple(_less(lo, hi, self._empty.spans))
        if not open_:
            return None
        found, final = self._ask(open_)
        if found is not None:
            self._note(found)
            return found
        self.complete = self.complete and final
        self._empty |= Intervals(open_)
        return None


def _less(lo: int, hi: int, spans: Spans) -> Iterator[tuple[int, int]]:
    """What of ``[lo, hi]`` lies in none of the spans, which are sorted."""
    for first, last in spans:
        if last < lo:
            continue
        if first > hi:
            break
        if first > lo:
            yield lo, first - 1
        lo = last + 1
    if lo <= hi:
        yield lo, hi

"""Exact sets of sums: all numbers that are the sum of k members of a set made of progressions.

A line of an invoice can come to ``quantity * price``: of 999 progressions, one for each quantity. What can k
lines come to? Plain version: add the set to itself, k times. It has 10^9 members, so the middle is argued and
only the ends are counted::

    k·least |.: :::|===============================================|:: : :.   .| k·most
             bits                 main: everything                     bits

* **Main.** Two progressions with coprime steps a and b, long enough, give every number between their ends but
  for (a - 1)(b - 1) on either side: a number there is a·x + b·y with x, y >= 0 counted from the bottom, and
  also counted from the top, and the solutions between are a connected piece of a line that meets both. An
  interval plus a progression whose step is not above its length is an interval again.
* **Ends.** A sum that misses k·most by d is made of members that miss the most by at most d each. So the last
  w numbers of the k-fold sum follow from the last w of the set alone; they are kept as bits of one integer,
  and adding a progression is a few shifts. Likewise at the bottom.

Where main and ends do not meet within ``window`` bits, the set is refused (``TooRagged``): never guessed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.fields.intervals import Progression, Span

Array = NDArray[np.int64]
#: bits of an end that are counted: about 1 MB in all
WINDOW = 1 << 22
#: intervals of one set of sums
MAX_SUM_SPANS = 1 << 14
#: numbers stay below this, so that 64-bit arithmetic is exact
LARGEST = 1 << 58
#: .. and steps below this, so that products of two are
LARGEST_STEP = 1 << 28
#: partners that are tried for each progression, to find where two of them give everything
_PARTNERS = 12
_KEPT_SPANS = 8


class TooRagged(Exception):
    """An exact set of sums would need more than the budget."""


class Sumsets:
    """The sums of k members of a union of progressions, for k from 0 to ``most_terms``.

    Attributes:
        least, most: of the members.
        largest_gap: two neighbouring members are never further apart.
    """

    def __init__(self, progressions: Iterable[Progression], most_terms: int, window: int = WINDOW) -> None:
        """Raises ``TooRagged``."""
        self.progressions = _distinct(progressions)
        self._window = window
        self._memo: dict[int, tuple[Array, Array]] = {}
        steps = [step for _, _, step in self.progressions]
        self.least = min(first for first, _, _ in self.progressions)
        self.most = max(last for _, last, _ in self.progressions)
        if max(abs(self.least), abs(self.most)) * max(most_terms, 1) > LARGEST or max(steps) > LARGEST_STEP:
            raise TooRagged
        self.largest_gap = _largest_gap(self.progressions)
        self.most_terms = most_terms
        self._spans: list[list[Span] | None] = [[(0, 0)], *self._all_spans()]
        self._longest = [
            0 if spans is None else max(range(len(spans)), key=lambda at: spans[at][1] - spans[at][0])
            for spans in self._spans
        ]
        self._partners = _partners(self.progressions)

    def spans(self, terms: int) -> list[Span] | None:
        """The sums of so many members, as intervals; None for single members that are too many to list."""
        return self._spans[terms]

    def hull(self, terms: int) -> Span:
        """Least and most of the sums of so many members."""
        return terms * self.least, terms * self.most

    def meets(self, terms: int, lo: int, hi: int) -> bool:
        """True if some sum of so many members lies in ``[lo, hi]``. O(log spans), or O(progressions)."""
        found = self._spans[terms]
        if found is None:
            return self.member_in(lo, hi) is not None
        at = bisect_left(found, lo, key=_end)
        return at < len(found) and found[at][0] <= hi

    def member_in(self, lo: int, hi: int) -> int | None:
        """Some member in ``[lo, hi]``, or None. O(progressions)."""
        first, last, step = self.arrays
        value = first + np.maximum(-((first - lo) // step), 0) * step
        found = np.flatnonzero(value <= np.minimum(last, hi))
        return int(value[found[0]]) if len(found) else None

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """(first, last, step) of the progressions."""
        table = np.array(self.progressions, dtype=np.int64)
        return table[:, 0], table[:, 1], table[:, 2]

    def within(self, counts: Iterable[int], lo: int, hi: int) -> list[Span]:
        """Sums of some numbers of members within ``[lo, hi]``, as intervals; single members that are too many
        to list are left out.

        Ends that the long middle parts of other sums cover are not looked at.
        """
        listed = [(spans, self._longest[k]) for k in counts if (spans := self._spans[k]) is not None]
        middle = _union(spans[at] for spans, at in listed)
        out = [(max(first, lo), min(last, hi)) for first, last in middle if first <= hi and last >= lo]
        for spans, at in listed:
            for part in (spans[:at], spans[at + 1 :]):
                if part and part[-1][1] >= lo and part[0][0] <= hi and not _covers(middle, part):
                    begin, end = bisect_left(part, lo, key=_end), bisect_left(part, hi + 1, key=_begin)
                    out.extend((max(first, lo), min(last, hi)) for first, last in part[begin:end])
        return _union(out)

    def sure_pairs(self, total: int, first: Array, last: Array, step: Array) -> NDArray[np.bool_]:
        """For which progressions ``total`` less some member of theirs surely is a member (see the module)."""
        found = np.zeros(len(first), dtype=np.bool_)
        for begin, end, own in self._partners:
            cut = (step - 1) * (own - 1)
            long = ((last - first) // step >= own - 1) & ((end - begin) // own >= step - 1)
            inside = (first + begin + cut <= total) & (total <= last + end - cut)
            found |= long & inside & (np.gcd(step, own) == 1)
        return found

    def pair_index(self, total: int, progression: Progression, lo: int, hi: int) -> int | None:
        """Some i in ``[lo, hi]`` for which ``total`` less the i-th number of a progression is a member.

        For each own progression those i are one residue class within bounds. O(progressions).
        """
        begin, _, step = progression
        first, last, own = self.arrays
        common, inverse = self._inverses(step)
        rest = total - begin - first  # step·i + own·j = rest with 0 <= j <= (last - first) / own
        least = np.maximum(-((last - first - rest) // step), lo)
        most = np.minimum(rest // step, hi)
        modulus = own // common
        found = rest % common == 0
        residue = (rest // common) % modulus * inverse % modulus
        index = least + (residue - least) % modulus
        hits = np.flatnonzero(found & (index <= most))
        return int(index[hits[0]]) if len(hits) else None

    def _inverses(self, step: int) -> tuple[Array, Array]:
        """(common divisor of ``step`` and each own step, inverse of the one modulo the other, both by it)."""
        found = self._memo.get(step)
        if found is None:
            own = self.arrays[2]
            common = np.gcd(own, step)
            found = self._memo[step] = common, _inverse(step // common, own // common)
        return found

    # -- making ------------------------------------------------------------------------------------

    def _all_spans(self) -> list[list[Span] | None]:
        whole = self.most_terms * (self.most - self.least)
        if whole < self._window:
            below = self._ends(whole + 1, from_below=True)
            single = _placed(_runs(below[0]), self.least, 1)
            first = None if len(single) > MAX_SUM_SPANS else single
            others = enumerate(below[1:], start=2)
            return [first, *(_joined(_placed(_runs(bits), k * self.least, 1)) for k, bits in others)]
        mains = self._mains()
        gap_below = max((main[0] - k * self.least for k, main in mains.items()), default=0)
        gap_above = max((k * self.most - main[1] for k, main in mains.items()), default=0)
        if max(gap_below, gap_above) > self._window:
            raise TooRagged
        below, above = self._ends(gap_below, from_below=True), self._ends(gap_above, from_below=False)
        found: list[list[Span] | None] = [None]
        runs = cache(_runs)  # the ends of most sums are alike
        for k, main in mains.items():
            low = runs(below[k - 1] & ((1 << (main[0] - k * self.least)) - 1))
            high = runs(above[k - 1] & ((1 << (k * self.most - main[1])) - 1))
            ends = [*_placed(low, k * self.least, 1), *_placed(high, k * self.most, -1)]
            found.append(_joined([main, *ends]))
        return found

    def _mains(self) -> dict[int, Span]:
        """For each number of terms from 2 on an interval all of whose numbers are sums."""
        if self.most_terms < 2:
            return {}
        spans = _pair_spans(self.progressions)
        mains: dict[int, Span] = {}
        for terms in range(2, self.most_terms + 1):
            if not spans:
                raise TooRagged
            mains[terms] = max(spans, key=lambda span: span[1] - span[0])
            spans = _union(
                (lo + first, hi + last)
                for lo, hi in sorted(spans, key=lambda span: span[0] - span[1])[:_KEPT_SPANS]
                for first, last, step in self.progressions
                if step <= hi - lo + 1
            )
        return mains

    def _ends(self, width: int, *, from_below: bool) -> list[int]:
        """For each number of terms from 1 on, bits of the distances from the end that are below ``width``."""
        mask = (1 << width) - 1
        near = [
            (first - self.least if from_below else self.most - last, (last - first) // step + 1, step)
            for first, last, step in self.progressions
        ]
        near = [(distance, count, step) for distance, count, step in near if distance < width]
        bits, found = 1, list[int]()
        for _ in range(self.most_terms):
            after = 0
            for distance, count, step in near:
                after |= _spread(bits << distance & mask, count, step, mask)
            found.append(after)
            if len(found) > 1 and after == bits:
                found += [after] * (self.most_terms - len(found))
                break
            bits = after
        return found


def _spread(bits: int, count: int, step: int, mask: int) -> int:
    """The union of ``bits`` shifted by 0, step, .. (count - 1)·step, cut to the mask. O(log count) shifts."""
    done = 1
    while done < count and bits:
        more = min(done, count - done)
        shifted = bits << (step * more) & mask
        bits |= shifted
        done += more
        if not shifted:
            break
    return bits


def _distinct(progressions: Iterable[Progression]) -> list[Progression]:
    """Each once, by its members; those of one member have step 1."""
    return sorted({(first, last, step if first != last else 1) for first, last, step in progressions})


def _largest_gap(progressions: Sequence[Progression]) -> int:
    """A bound on the distance of neighbouring members: the least step for which progressions cover all."""
    least, most = min(p[0] for p in progressions), max(p[1] for p in progressions)

    def covers(limit: int) -> bool:
        spans = _union((first, last + own - 1) for first, last, own in progressions if own <= limit)
        return len(spans) == 1 and spans[0][0] == least and spans[0][1] >= most

    steps = sorted({step for _, _, step in progressions})
    at = bisect_left(steps, True, key=covers)
    return steps[at] if at < len(steps) else most - least + 1


def _pair_spans(progressions: Sequence[Progression]) -> list[Span]:
    """Intervals all of whose numbers are sums of two members; not all such numbers."""
    partners = _partners(progressions)
    return _union(span for one in progressions for other in partners if (span := _pair_span(one, other)))


def _partners(progressions: Sequence[Progression]) -> list[Progression]:
    """Some progressions that are likely to give everything together with another one."""
    by_step = sorted(progressions, key=lambda p: (p[2], p[0] - p[1]))[:_PARTNERS]
    by_last = sorted(progressions, key=lambda p: -p[1])[:_PARTNERS]
    by_first = sorted(progressions, key=lambda p: p[0])[:_PARTNERS]
    return list(dict.fromkeys((*by_step, *by_last, *by_first)))


def _pair_span(one: Progression, other: Progression) -> Span | None:
    """The middle of the sums of two progressions (see the module), None where nothing is certain."""
    (first, last, a), (begin, end, b) = one, other
    if gcd(a, b) != 1 or (last - first) // a < b - 1 or (end - begin) // b < a - 1:
        return None
    cut = (a - 1) * (b - 1)
    span = first + begin + cut, last + end - cut
    return span if span[0] <= span[1] else None


def _union(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for lo, hi in sorted(spans):
        if merged and lo <= merged[-1][1] + 1:
            if hi > merged[-1][1]:
                merged[-1] = (merged[-1][0], hi)
        else:
            merged.append((lo, hi))
    return merged


def _runs(bits: int) -> list[Span]:
    """The runs of 1 bits."""
    if not bits:
        return []
    data = np.frombuffer(bits.to_bytes(bits.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    ones = np.concatenate(([0], np.unpackbits(data, bitorder="little"), [0])).astype(np.int8)
    edges = np.flatnonzero(np.diff(ones))
    return list(zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True))


def _placed(runs: list[Span], origin: int, sign: int) -> list[Span]:
    """Runs of distances from an end as intervals of numbers."""
    if sign > 0:
        return [(origin + lo, origin + hi) for lo, hi in runs]
    return [(origin - hi, origin - lo) for lo, hi in runs]


def _joined(spans: list[Span]) -> list[Span]:
    joined = _union(spans)
    if len(joined) > MAX_SUM_SPANS:
        raise TooRagged
    return joined


def _covers(middle: Sequence[Span], part: Sequence[Span]) -> bool:
    """True if one of the intervals holds all of the others, which are sorted."""
    return any(lo <= part[0][0] and part[-1][1] <= hi for lo, hi in middle)


def _begin(span: Span) -> int:
    return span[0]


def _end(span: Span) -> int:
    return span[1]


def _inverse(numbers: Array, moduli: Array) -> Array:
    """X with number · x = 1 modulo each modulus; the two are coprime. Euclid's algorithm on all at once."""
    a, b = numbers % moduli, moduli.copy()
    x, y = np.ones_like(a), np.zeros_like(a)
    while b.any():
        whole = a // np.maximum(b, 1)
        going = b > 0
        a, b = np.where(going, b, a), np.where(going, a - whole * b, b)
        x, y = np.where(going, y, x), np.where(going, x - whole * y, y)
    return x % moduli

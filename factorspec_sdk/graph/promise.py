"""How much a state of a sequence can still gain, and whether enough values are left: bounds without a search.

Every value of the ``all_different`` is taken at most once, and, where the register never falls, not after the
last number from which any way takes it. So what is still to come gains at most the sum of the best gains of
the values that are unused and not too late, and at most one way per segment; and there must be as many such
values as slots that still have to take one.

The ways of the tail (``Cuts.tail``) are not known yet. Where every way takes one value and leads to the next
cut or to the end, the tail is only reached by as many values as there are segments before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from factorspec_sdk.automata.linear import Term
from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.graph.clamps import FAR
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.segments import Hop, Segments


class Promise:
    """Bounds for one component. ``reachable``: (cut, local residual) of all states before the tail."""

    def __init__(self, segments: Segments, reachable: Iterable[tuple[int, Condition]]) -> None:
        gains: dict[int, int] = {}
        latest: dict[int, int] = {}
        self._free = 0
        self._single = True
        regular = monotone = True
        noted = set[tuple[int, bool]]()
        for cut, local in reachable:
            jumps, others = segments.at_cut(cut, local)
            for hop in jumps if (id(others), cut > 0) in noted else jumps + others:
                self._note(hop, gains)
                target = segments.cuts.following[cut] if hop.target is None else hop.target
                onward = target != segments.size
                regular = regular and not (onward and (hop.target is not None or not hop.bits))
                if cut:
                    # after the last hop the number does not matter
                    monotone = monotone and (hop.move.least >= 0 or not onward)
                    for number in bits(hop.bits):
                        latest[number] = max(latest.get(number, -FAR), hop.move.last)
            noted.add((id(others), cut > 0))
        self._gains = {1 << number: gain for number, gain in gains.items() if gain > 0}
        tail = segments.cuts.tail
        known = len(segments.cuts.cuts) - (1 if tail is None else 2)
        self._rest = {cut: max(0, known - at) for at, cut in enumerate(segments.cuts.cuts)}
        self._open = segments.cuts.still_to_differ()
        self._tail_slots = 0 if tail is None else segments.cuts.num_differing(tail)
        self._tail = 0 if tail is None else sum(_most(term) for term in segments.cuts.terms[tail])
        ends = sorted({latest.get(number, FAR) if monotone else FAR for number in gains})
        self._ends = ends
        self._masks = [
            sum(
                1 << n
                for n, gain in gains.items()
                if gain > 0 and (not monotone or latest.get(n, FAR) >= end)
            )
            for end in ends
        ]
        self._in_time = [
            sum(1 << n for n in gains if not monotone or latest.get(n, FAR) >= end) for end in ends
        ]
        self._even = len(set(self._gains.values())) == 1 and self._single
        self._gain = max(self._gains.values(), default=0)
        self._must_fill = regular and self._even and len(self._gains) == len(gains)

    def _note(self, hop: Hop, gains: dict[int, int]) -> None:
        if not hop.bits:
            self._free = max(self._free, hop.gain)
        elif hop.bits & (hop.bits - 1):
            self._single = False
        for number in bits(hop.bits):
            gains[number] = max(gains.get(number, 0), hop.gain)

    def enough(self, cut: int, used: int, low: int, need: int | None) -> bool:
        """False if no completion from a state at ``cut`` with numbers from ``low`` on gains ``need``, or if
        fewer values are unused and not too late than must still be taken.
        """
        if need is not None and self.most(cut, used, low) < need:
            return False
        still = self._open[cut] - self._tail_slots
        if still <= 0:
            return True
        at = bisect_left(self._ends, low) if cut else 0
        return at < len(self._ends) and (self._in_time[at] & ~used).bit_count() >= still

    def most(self, cut: int, used: int, low: int) -> int:
        """No completion gains more from a state at ``cut`` whose numbers are ``low`` or later."""
        segments = self._rest[cut]
        free = self._free * segments
        at = bisect_left(self._ends, low) if cut else 0
        left = self._masks[at] & ~used if at < len(self._ends) else 0
        if not self._even:
            return free + self._tail + sum(gain for bit, gain in self._gains.items() if bit & left)
        count = left.bit_count()
        if self._must_fill and count < segments:
            return free + self._gain * count
        return free + self._tail + self._gain * min(count, segments)


def _most(term: Term) -> int:
    """The most that a term can come to; 0 at least."""
    node, factor = term
    if node.lo is None or node.hi is None:
        return FAR
    return max(0, factor * node.lo, factor * node.hi)

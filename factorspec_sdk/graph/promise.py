"""How much a state of a sequence can still gain, and whether enough values are left: bounds without a search.

Every value of the ``all_different`` is taken at most once, and, where the register never falls, not after the
last number from which any way takes it. So what is still to come gains at most the sum of the best gains of
the values that are unused and not too late, and at most one way per segment; and there must be as many such
values as slots that still have to take one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.graph.clamps import FAR
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.segments import Hop, Segments


class Promise:
    """Bounds for one component. ``reachable``: (cut, local residual) of all its states."""

    def __init__(self, segments: Segments, reachable: Iterable[tuple[int, Condition]]) -> None:
        gains: dict[int, int] = {}
        latest: dict[int, int] = {}
        self._free = 0
        self._single = True
        monotone = True
        for cut, local in reachable:
            for hop in segments.hops(cut, local, segments.cuts.terms[cut]):
                self._note(hop, gains)
                if cut:
                    # after the last hop the number does not matter
                    monotone = monotone and (hop.move.least >= 0 or hop.target == segments.cuts.size)
                    for number in bits(hop.bits):
                        latest[number] = max(latest.get(number, -FAR), hop.move.last)
        self._gains = {1 << number: gain for number, gain in gains.items() if gain > 0}
        self._rest = {cut: len(segments.cuts.cuts) - 1 - at for at, cut in enumerate(segments.cuts.cuts)}
        self._open = segments.cuts.still_to_differ()
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
        still = self._open[cut]
        if not still:
            return True
        at = bisect_left(self._ends, low) if cut else 0
        return at < len(self._ends) and (self._in_time[at] & ~used).bit_count() >= still

    def most(self, cut: int, used: int, low: int) -> int:
        """No completion gains more from a state at ``cut`` whose numbers are ``low`` or later."""
        segments = self._rest[cut]
        free = self._free * segments
        at = bisect_left(self._ends, low) if cut else 0
        if at == len(self._ends):
            return free
        left = self._masks[at] & ~used
        if self._even:
            return free + self._gain * min(left.bit_count(), segments)
        return free + sum(gain for bit, gain in self._gains.items() if bit & left)

"""Which places of an automaton lead to an end in time, by how many characters must and may still come.

A *window* (least, most) says so. What is asked of it are vectors over the places, after up to ``ahead``
characters more. Windows with equal answers are made equal first (``window``), so that answers are shared by
all that is far from the limits.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding.json_bytes import JsonBytes, shortest
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.wire.languages.automaton import Automaton
from factorspec_sdk.wire.languages.lengths import Lengths

Window = tuple[int, int]
#: as good as no limit
_ENDLESS = 1 << 40


class Remaining:
    """Of one automaton.

    Attributes:
        fewest: (places,) int64: characters of the shortest text from each place.
        amplest: the largest of them.
    """

    def __init__(self, automaton: Automaton, lengths: Lengths, table: JsonBytes, ahead: int) -> None:
        """O(bits of ``lengths``). ``ahead``: no token begins more characters."""
        self._automaton = automaton
        self._lengths = lengths
        self._ahead = ahead
        num_places = len(automaton.edges)
        size = -(-num_places // 8)
        packed = b"".join(row.to_bytes(size, "little") for row in lengths.rows)
        bits = np.frombuffer(packed, dtype=np.uint8).reshape(-1, size)
        #: (lengths, places): from the place on there is a text of so many characters
        self._there = np.unpackbits(bits, axis=1, count=num_places, bitorder="little").view(np.bool_)
        some = self._there.any(axis=0)
        self.fewest = np.where(some, self._there.argmax(axis=0), _ENDLESS).astype(np.int64)
        self.amplest = int(self.fewest[some].max(initial=0))
        self._owners = np.cumsum([0, *map(len, table.inner)])[:-1]
        self._ends = np.array([end for inner in table.inner for end in inner], dtype=np.int64)
        self._bytes = np.array([n for inner in table.inner for n in inner.values()], dtype=np.int64)

    def window(self, least: int, most: int | None) -> Window:
        """Equal for windows of equal answers up to ``ahead`` characters on. Costs are told by ``cost``."""
        hi = _ENDLESS if most is None else most
        if least <= 0:
            return 0, min(hi, self.amplest + self._ahead)
        first, period = self._lengths.again, self._lengths.period
        far = first + self._ahead
        if least >= far and hi - least >= period - 1:  # only whether there is no end of lengths matters
            return far, far + period
        if least > far:
            shift = (least - far) // period * period
            least, hi = least - shift, hi - shift
        return least, min(hi, max(least, first) + period + self._ahead)

    def is_ample(self, window: Window) -> bool:
        """True if every place leads to an end, ``ahead`` characters on too."""
        return window == (0, self.amplest + self._ahead)

    def ends(self, window: Window) -> NDArray[np.bool_]:
        """(states,) bool: an end is reached in time; by states of the table."""
        least, most = window
        if most < 0:
            return np.zeros(len(self._owners), dtype=np.bool_)
        whole: NDArray[np.bool_] = np.logical_or.reduceat(
            (self.numbers(least, most) <= most)[self._ends], self._owners
        )
        return whole

    def costs(self, least: int, most: int | None) -> NDArray[np.int64]:
        """(states,) int64: bytes that surely reach an end in time; ``UNBOUNDED`` where none is reached."""
        hi = _ENDLESS if most is None else most
        numbers = self.numbers(max(0, least), hi)
        by_place = numbers * self._widest if least > 0 else self._least_bytes
        by_place = np.where(numbers <= hi, by_place, UNBOUNDED)
        whole: NDArray[np.int64] = np.minimum.reduceat(by_place[self._ends] + self._bytes, self._owners)
        return np.minimum(whole, UNBOUNDED)

    def most_cost(self, least: int) -> int:
        """No cost is larger, for windows from ``least`` or fewer characters on, where there is an end."""
        number = max(least, self._lengths.again) + self._lengths.period if least > 0 else 0
        return number * self._widest + int(self._least_bytes.max(initial=0)) + int(self._bytes.max(initial=0))

    def numbers(self, least: int, most: int) -> NDArray[np.int64]:
        """(places,) int64: the fewest characters within the window; beyond ``most`` where there are none."""
        if least <= 0:
            return self.fewest
        there = self._there[self._indices(least, most)]
        return np.where(there.any(axis=0), least + there.argmax(axis=0), _ENDLESS)

    def way(self, place: int, number: int) -> bytes:
        """So many characters that lead from a place to an end; it must have such a text."""
        written = bytearray()
        for left in range(number - 1, -1, -1):
            on = self._ways[place]
            place = min(
                (at for at in on if self._lengths.row(left) >> at & 1), key=lambda at: (len(on[at]), at)
            )
            written += on[place]
        return bytes(written)

    def _indices(self, least: int, most: int) -> NDArray[np.int64]:
        """The rows of the lengths of a window, none of them twice for nothing."""
        size, again = len(self._lengths.rows), self._lengths.again
        lengths = np.arange(least, min(most, max(least, again) + self._lengths.period - 1) + 1)
        return np.where(lengths < size, lengths, again + (lengths - again) % self._lengths.period)

    @cached_property
    def _ways(self) -> list[dict[int, bytes]]:
        """From each place the shortest characters on, by where they lead."""
        return [shortest(edges) for edges in self._automaton.edges]

    @cached_property
    def _widest(self) -> int:
        return max((len(data) for on in self._ways for data in on.values()), default=1)

    @cached_property
    def _least_bytes(self) -> NDArray[np.int64]:
        """(places,) int64: bytes of the shortest texts (by characters) from each place."""
        found = np.zeros(len(self.fewest), dtype=np.int64)
        for at in np.argsort(self.fewest, kind="stable").tolist():
            if 0 < self.fewest[at] < _ENDLESS:
                nearer = self.fewest[at] - 1
                on = self._ways[at].items()
                found[at] = min(len(data) + found[to] for to, data in on if self.fewest[to] == nearer)
        return found

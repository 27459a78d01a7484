"""The JSON strings of an automaton, byte by byte: one table.

States 0 to ``num_places`` - 1 are the automaton's own, between two characters; the others stand inside a
character of several bytes or an escape. A character has one spelling: JSON's short escapes, ``\\u00xx`` for
other control characters, all others as themselves.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding.json_strings import PLAIN, STOP, transitions
from factorspec_sdk.wire.languages.automaton import Automaton, Edge, Span

#: states of one table
MAX_STATES = 30_000
_ESCAPED: tuple[Span, ...] = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
_UTF8_LAST = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)

Sequence = tuple[Span, ...]
#: what is left of characters, each with where it leads
Rest = tuple[tuple[Sequence, int], ...]


class TooManyBytes(Exception):
    """A table would have more than ``MAX_STATES`` states."""


class JsonBytes:
    """The table of one automaton.

    Attributes:
        num_places: the automaton's states.
        table: (states + 1, 256) int16: next state, -1 refused; the last row keeps refused bytes refused.
        steps: the same, flat: faster for single bytes.
        modes: by state, where it stands in a JSON string (``json_strings.py``).
        inner: by state, the places that a character may end at, each with the bytes until then at least.
    """

    def __init__(self, automaton: Automaton) -> None:
        """O(states of the table). Raises ``TooManyBytes``."""
        self.num_places = len(automaton.edges)
        self.modes = [PLAIN] * self.num_places
        self.inner: list[dict[int, int]] = [{at: 0} for at in range(self.num_places)]
        self._rows: list[list[int]] = [[STOP] * 256 for _ in range(self.num_places)]
        self._known: dict[tuple[int, Rest], int] = {}
        for at, edges in enumerate(automaton.edges):
            self._fill(at, tuple(_sequences(edges)))
        self.table: NDArray[np.int16] = np.array([*self._rows, [STOP] * 256], dtype=np.int16)
        self.steps = array("h", self.table.tobytes())
        del self._rows, self._known

    def walk(self, state: int, data: bytes) -> tuple[int, int] | None:
        """(the state after some bytes, characters begun), or None. The loop that single tokens go through."""
        steps, num_places, begun = self.steps, self.num_places, 0
        for byte in data:
            begun += state < num_places
            state = steps[state << 8 | byte]
            if state < 0:
                return None
        return state, begun

    def into(self, state: int, place: int) -> bytes:
        """The shortest bytes that finish a character so that it leads to a place."""
        written = bytearray()
        while state != place:
            row = self.table[state].tolist()
            size = self.inner[state][place] - 1
            byte = next(b for b, to in enumerate(row) if to >= 0 and self.inner[to].get(place, -1) == size)
            written.append(byte)
            state = row[byte]
        return bytes(written)

    def _fill(self, at: int, rest: Rest) -> None:
        after: dict[Span, list[tuple[Sequence, int]]] = {}
        for (first, *more), target in rest:
            after.setdefault(first, []).append((tuple(more), target))
        row = self._rows[at]
        for (lo, hi), ways in after.items():
            # Ranges of first bytes are equal or disjoint, so a whole character stands alone.
            target = ways[0][1] if not ways[0][0] else self._inside(self.modes[at], lo, tuple(ways))
            row[lo : hi + 1] = [target] * (hi + 1 - lo)

    def _inside(self, mode: int, byte: int, rest: Rest) -> int:
        mode = int(transitions(False)[mode, byte])
        key = (mode, rest)
        known = self._known.get(key)
        if known is not None:
            return known
        if len(self._rows) >= MAX_STATES:
            raise TooManyBytes
        made = self._known[key] = len(self._rows)
        self._rows.append([STOP] * 256)
        self.modes.append(mode)
        self.inner.append({})
        self._fill(made, rest)
        for sequence, target in rest:
            size = min(len(sequence), self.inner[made].get(target, len(sequence)))
            self.inner[made][target] = size
        return made


def spelled(code: int) -> bytes:
    """How a character is written."""
    return json.dumps(chr(code), ensure_ascii=False)[1:-1].encode()


def shortest(edges: Iterable[Edge]) -> dict[int, bytes]:
    """By target the first of the shortest spellings of a character that leads there."""
    found: dict[int, bytes] = {}
    for lo, hi, target in edges:
        firsts = [lo, *(first for first in (0x20, 0x23, 0x5D) if lo < first <= hi)]
        best = min((spelled(code) for code in firsts), key=len)
        if target not in found or len(best) < len(found[target]):
            found[target] = best
    return found


def _sequences(edges: Iterable[Edge]) -> Iterator[tuple[Sequence, int]]:
    for lo, hi, target in edges:
        at = lo
        for first, last in _ESCAPED:
            for code in range(max(lo, first), min(hi, last) + 1):
                if at < code:
                    yield from ((one, target) for one in _utf8(at, code - 1))
                yield tuple((byte, byte) for byte in spelled(code)), target
                at = code + 1
        yield from ((one, target) for one in _utf8(at, hi))


def _utf8(lo: int, hi: int) -> Iterator[Sequence]:
    """Characters as ranges of bytes; behind a range of several first bytes, any others follow."""
    for last in _UTF8_LAST:
        if lo <= hi and lo <= last:
            yield from _of_one_size(lo, min(hi, last))
            lo = last + 1


def _of_one_size(lo: int, hi: int) -> Iterator[Sequence]:
    for bits in (18, 12, 6):
        low = (1 << bits) - 1
        if lo >> bits == hi >> bits or hi <= low:
            continue
        if lo & low:
            yield from _of_one_size(lo, lo | low)
            yield from _of_one_size((lo | low) + 1, hi)
            return
        if hi & low != low:
            yield from _of_one_size(lo, (hi & ~low) - 1)
            yield from _of_one_size(hi & ~low, hi)
            return
    yield tuple(zip(chr(lo).encode(), chr(hi).encode(), strict=True))

"""How many characters the texts of an automaton have, from each of its states on.

The states from which some text of exactly k characters leads to an end are a set for each k. Each set follows
from the one before, so from some k on they recur::

    rows[k]                                     bit q: from state q on there is a text of k characters
    rows[again + (k - again) % period]          the same for k >= len(rows); period = len(rows) - again
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.wire.languages.automaton import Automaton

#: steps from a state to those before it
MAX_STEPS = 1 << 20
#: bits of all sets
MAX_BITS = 1 << 23


class LengthsTooMany(Exception):
    """The sets do not recur, or end, within ``MAX_STEPS`` and ``MAX_BITS``."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """See the module. Of lengths above the ``most`` that was asked for nothing is known."""

    rows: tuple[int, ...]
    again: int

    @property
    def period(self) -> int:
        """After so many characters the sets recur."""
        return len(self.rows) - self.again

    def row(self, length: int) -> int:
        """The states from which there is a text of so many characters, as bits."""
        if length < len(self.rows):
            return self.rows[length]
        return self.rows[self.again + (length - self.again) % self.period]

    def some(self, least: int, most: int | None) -> bool:
        """True if the automaton holds a text of ``least`` to ``most`` characters."""
        enough = max(least, self.again) + self.period
        last = enough if most is None else min(most, enough)
        return any(self.row(length) & 1 for length in range(least, last + 1))


def lengths_of(automaton: Automaton, most: int | None) -> Lengths:
    """The lengths of an automaton's texts up to ``most`` (None: all).

    Raises:
        LengthsTooMany: finding them would take too long.
    """
    before = [0] * len(automaton.edges)
    for at, row in enumerate(automaton.edges):
        for target in {edge.target for edge in row}:
            before[target] |= 1 << at
    now = sum(1 << at for at, accepts in enumerate(automaton.accepting) if accepts)
    rows: list[int] = []
    seen: dict[int, int] = {}
    steps = 0
    while now not in seen:
        if most is not None and len(rows) > most:
            return Lengths((*rows, 0), len(rows))
        seen[now] = len(rows)
        rows.append(now)
        steps += now.bit_count() + 1
        if steps > MAX_STEPS or len(rows) * len(before) > MAX_BITS:
            raise LengthsTooMany
        now = _union(before[at] for at in _bits(now))
    return Lengths(tuple(rows), seen[now])


def _union(sets: Iterator[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low

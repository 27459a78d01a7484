"""The cells of a ledger's items as columns, so that all are asked at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.fields.intervals import Intervals, Progression, Span
from factorspec_sdk.fields.sumsets import Sumsets
from factorspec_sdk.graph.ledger_cells import Cell, Roles

Mask = NDArray[np.bool_]
Array = NDArray[np.int64]
#: what a slot of an item is ("small", "wide", "computed"), and its place among those
Role = tuple[str, int]


#: so many cells are asked one by one
_FEW = 8


class Reach(NamedTuple):
    """What one item may add to a sum.

    numbers: as intervals. total: where a single other item may do the rest, what the two must add together
    (its numbers are too many to list); else None.
    """

    numbers: Intervals
    total: int | None


class CellTable:
    """Cells by number. ``taken``: indices of the first slots of an item, in writing order.

    progressions: what each cell adds, rising. registers: of each cell, -1 for none.
    """

    def __init__(self, cells: Sequence[Cell], roles: Roles, slots: Sequence[int]) -> None:
        self.cells = cells
        self.roles = roles
        self.role_of = _named(roles)
        self._order = [self.role_of[slot] for slot in slots]
        self.progressions = [_progression(cell, roles) for cell in cells]
        self.registers = np.array([cell.register for cell in cells])
        self._small = np.array([cell.small for cell in cells], dtype=np.int64)
        self._lo = np.array([cell.lo for cell in cells], dtype=np.int64)
        self._hi = np.array([cell.hi for cell in cells], dtype=np.int64)
        columns = np.array(self.progressions, dtype=np.int64)
        self._first, self._last, self._step = columns[:, 0], columns[:, 1], columns[:, 2]

    @property
    def has_idle(self) -> bool:
        """True if some items add to no sum."""
        return bool((self.registers < 0).any())

    def consistent(self, taken: Sequence[int]) -> Mask:
        """Cells that agree with the values of a begun item."""
        kept: Mask = np.ones(len(self.cells), dtype=np.bool_)
        for (role, at), index in zip(self._order, taken, strict=False):
            if role == "small":
                kept &= self._small[:, at] == index
            elif role == "wide":
                kept &= (self._lo <= index) & (self._hi >= index)
        return kept

    def taken_x(self, taken: Sequence[int]) -> int | None:
        """The index of the wide slot, None if it is not taken."""
        found = (index for (role, _), index in zip(self._order, taken, strict=False) if role == "wide")
        return next(found, None)

    def small_values(self, cells: Array, at: int) -> list[int]:
        """The indices of a small slot in some cells."""
        found: list[int] = np.unique(self._small[cells, at]).tolist()
        return found

    def added(self, number: int, x: int) -> int:
        """What a cell adds for an index of the wide slot."""
        factor, constant = self.cells[number].added
        return factor * self.roles.codes.code(x) + constant

    def adding(self, register: int, number: int) -> tuple[int, int]:
        """(cell, index of the wide slot) by which an item adds a number to a register; there must be one."""
        divides = (number - self._first) % self._step == 0
        inside = (self._first <= number) & (number <= self._last)
        cell = int(np.flatnonzero(divides & inside & (self.registers == register))[0])
        return cell, self.xs(cell, Intervals(((number, number),)))[0][0]

    def reached(self, cells: Array, reach: Reach, sums: Sumsets, x: int | None) -> Mask:
        """Which of some cells of one register can add a number within reach; ``x``: by that value alone."""
        first, last, step = self._first[cells], self._last[cells], self._step[cells]
        if x is not None:
            first = last = np.array([self.added(int(cell), x) for cell in cells], dtype=np.int64)
            step = np.ones_like(step)
        found = _meets_any(first, last, step, reach.numbers.spans)
        if reach.total is None:
            return found
        possible = ~found & (reach.total - last <= sums.most) & (reach.total - first >= sums.least)
        open_ = np.flatnonzero(possible)
        if len(open_) > _FEW:
            found[open_] = sums.sure_pairs(reach.total, first[open_], last[open_], step[open_])
        for at in np.flatnonzero(possible & ~found).tolist():
            progression = int(first[at]), int(last[at]), int(step[at])
            count = (progression[1] - progression[0]) // progression[2]
            found[at] = sums.pair_index(reach.total, progression, 0, count) is not None
        return found

    def xs(self, number: int, numbers: Intervals) -> list[Span]:
        """Indices of the wide slot by which a cell adds one of some numbers."""
        cell, (first, last, step) = self.cells[number], self.progressions[number]
        if not cell.added[0]:
            return [(cell.lo, cell.hi)] if first in numbers else []
        out = []
        for lo, hi in numbers.spans:
            begin, end = max(-((first - lo) // step), 0), (min(hi, last) - first) // step
            if begin <= end:
                rising = cell.added[0] > 0
                out.append((cell.lo + begin, cell.lo + end) if rising else (cell.hi - end, cell.hi - begin))
        return out

    def paired_x(self, number: int, sums: Sumsets, total: int, within: Span) -> int | None:
        """An index of the wide slot by which a cell leaves a number that a single item adds, or None."""
        cell, progression = self.cells[number], self.progressions[number]
        lo, hi = max(within[0], cell.lo), min(within[1], cell.hi)
        if lo > hi:
            return None
        if not cell.added[0]:
            return None if sums.pair_index(total, progression, 0, 0) is None else lo
        if cell.added[0] > 0:
            at = sums.pair_index(total, progression, lo - cell.lo, hi - cell.lo)
            return None if at is None else cell.lo + at
        at = sums.pair_index(total, progression, cell.hi - hi, cell.hi - lo)
        return None if at is None else cell.hi - at


def _meets_any(first: Array, last: Array, step: Array, spans: Sequence[Span]) -> Mask:
    """Which progressions have a member in one of some intervals, which are sorted and disjoint.

    The longest interval first, for all at once; then what is left, by progressions or by intervals.
    """
    found: Mask = np.zeros(len(first), dtype=np.bool_)
    if not spans:
        return found
    longest = max(spans, key=lambda span: span[1] - span[0])
    found |= _meets(first, last, step, *longest)
    open_ = np.flatnonzero(~found & (last >= spans[0][0]) & (first <= spans[-1][1]))
    if len(spans) == 1 or not len(open_):
        return found
    if len(open_) < len(spans):
        table = np.array(spans, dtype=np.int64)
        for at in open_.tolist():
            found[at] = _meets(first[at], last[at], step[at], table[:, 0], table[:, 1]).any()
    else:
        for lo, hi in spans:
            found[open_] |= _meets(first[open_], last[open_], step[open_], lo, hi)
    return found


def _meets(first: Array, last: Array, step: Array, lo: int | Array, hi: int | Array) -> Mask:
    member = first + np.maximum(-((first - lo) // step), 0) * step
    met: Mask = member <= np.minimum(last, hi)
    return met


def _progression(cell: Cell, roles: Roles) -> Progression:
    """What a cell adds, rising."""
    factor, constant = cell.added
    ends = sorted(factor * roles.codes.code(x) + constant for x in (cell.lo, cell.hi))
    return ends[0], ends[1], abs(factor) * roles.codes.step or 1


def _named(roles: Roles) -> dict[int, Role]:
    named = {slot: ("small", at) for at, slot in enumerate(roles.small)}
    named |= {slot: ("computed", at) for at, slot in enumerate(roles.computed)}
    return named if roles.wide is None else named | {roles.wide: ("wide", 0)}

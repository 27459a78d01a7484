"""Tables of candidates' certain tokens: what a session walks at a choice point.

Each candidate of a slot is one row, the tokens that are certain if it is chosen (``certain.py``)::

    row   candidate   tokens                   rows are sorted, so that those that share what is
     0        7       12  40  33               committed so far are a range lo..hi, and a committed
     1        2       12  41                   token narrows it by binary search in one column
     2        0       12  41  17   9

Fields of ``RowTable``: ``rows[k]`` tokens of row k; ``order[k]`` its candidate; ``helds[k]`` what is held
after it. Invariants: rows ascend lexicographically, a row before those that it begins; rows may be equal or
empty. A row that ends inside the range (``ending``) must be opened before the mask is read, since another
row may go on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from itertools import repeat
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.certain import certain
from factorspec_sdk.tokens.held import Continuation, Held

# Below this many rows plain Python beats NumPy's overhead per call.
_SMALL = 64
_MAX_PARTS = 16
_MAX_TABLES = 4096
_MAX_ROWS = 1 << 18

_row_key = itemgetter(0)


class RowTable:
    """Candidates' certain tokens, sorted. See the drawing above. Immutable."""

    def __init__(
        self,
        rows: Sequence[tuple[int, ...]],
        order: Sequence[int],
        helds: Sequence[Held],
        *,
        matrix: NDArray[np.int32] | None = None,
    ) -> None:
        """The rows must be sorted; use ``build``. ``matrix``: theirs, if it is known."""
        self.rows = rows
        self.order = order
        self.helds = helds
        self._matrix = matrix
        self._parts: dict[IndexSet, RowTable] = {}

    @classmethod
    def build(
        cls,
        canonical: Canonical,
        held: Held,
        candidates: Sequence[str],
        after: Continuation | Sequence[Continuation],
        *,
        indices: Sequence[int] | None = None,
    ) -> RowTable:
        """The table of some candidates. About 5 µs a candidate on its first use.

        Args:
            canonical: encodes.
            held: what the session holds when the slot is opened.
            candidates: their JSON texts (empty for a decision without own text).
            after: what follows, one for all or one for each candidate.
            indices: numbers of the candidates for ``order``; None: their positions.
        """
        numbers = range(len(candidates)) if indices is None else indices
        follow = repeat(after, len(candidates)) if isinstance(after, Continuation) else after
        made = [
            (*certain(canonical, held, text, after_it), number)
            for text, after_it, number in zip(candidates, follow, numbers, strict=True)
        ]
        made.sort(key=_row_key)
        return cls(
            [row for row, _, _ in made], [number for _, _, number in made], [held for _, held, _ in made]
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def matrix(self) -> NDArray[np.int32]:
        """(rows, longest row) int32, CPU, columns contiguous: the tokens, padded with -1. Made once."""
        if self._matrix is None:
            self._matrix = self._filled()
        return self._matrix

    def _filled(self) -> NDArray[np.int32]:
        width = max(map(len, self.rows), default=0)
        out = np.full((len(self.rows), width), -1, dtype=np.int32, order="F")
        for at, row in enumerate(self.rows):
            out[at, : len(row)] = row
        return out

    def ending(self, lo: int, hi: int, depth: int) -> int:
        """Where the rows that end at ``depth`` end: they are ``lo`` up to there.

        Rows ``lo`` to ``hi`` (exclusive) share their first ``depth`` tokens, here and below.
        """
        rows = self.rows
        at = lo
        while at < hi and len(rows[at]) == depth:
            at += 1
        return at

    def distinct(self, lo: int, hi: int, depth: int) -> list[int]:
        """The tokens at ``depth`` of rows lo..hi, ascending; none of them may end there."""
        if hi - lo == 1:
            return [self.rows[lo][depth]]
        if hi - lo <= _SMALL:
            return sorted({row[depth] for row in self.rows[lo:hi]})
        column = self.matrix[lo:hi, depth]
        found: list[int] = column[np.flatnonzero(np.diff(column, prepend=-1))].tolist()
        return found

    def narrow(self, lo: int, hi: int, depth: int, token: int) -> tuple[int, int]:
        """Those of rows lo..hi whose token at ``depth`` is ``token``; may be empty. O(log rows)."""
        if hi - lo > _SMALL:
            column = self.matrix[lo:hi, depth]
            left = int(np.searchsorted(column, token, "left"))
            return lo + left, lo + int(np.searchsorted(column, token, "right"))
        if hi - lo == 1:
            row = self.rows[lo]
            return (lo, hi) if len(row) > depth and row[depth] == token else (hi, hi)
        column_key = _column_key(depth)
        left = bisect_left(self.rows, token, lo, hi, key=column_key)
        return left, bisect_right(self.rows, token, left, hi, key=column_key)

    def filter(self, feasible: IndexSet) -> RowTable:
        """The table of those candidates that are in ``feasible``; the table itself if all are.

        O(rows); what a large table was asked last is kept.
        """
        if len(self.rows) <= _SMALL:
            kept = [at for at, number in enumerate(self.order) if number in feasible]
            return self if len(kept) == len(self.order) else self._part(kept)
        known = self._parts.get(feasible)
        if known is None:
            if len(self._parts) >= _MAX_PARTS:
                self._parts.clear()
            kept = np.flatnonzero(self._members(feasible)).tolist()
            known = self._parts[feasible] = self if len(kept) == len(self.order) else self._part(kept)
        return known

    def _members(self, feasible: IndexSet) -> NDArray[np.bool_]:
        """(rows,) bool: which rows' candidates are in the set."""
        numbers = np.asarray(self.order, dtype=np.int64)
        starts = np.array([lo for lo, _ in feasible.spans], dtype=np.int64)
        ends = np.array([-1, *(hi for _, hi in feasible.spans)], dtype=np.int64)
        return ends[np.searchsorted(starts, numbers, "right")] >= numbers

    def _part(self, kept: Sequence[int]) -> RowTable:
        rows, order, helds = self.rows, self.order, self.helds
        return RowTable([rows[at] for at in kept], [order[at] for at in kept], [helds[at] for at in kept])


class RowTables:
    """A cache of tables by content, least recently used out first. For one thread at a time."""

    def __init__(
        self, canonical: Canonical, *, max_tables: int = _MAX_TABLES, max_rows: int = _MAX_ROWS
    ) -> None:
        """At most ``max_tables`` tables, with together ``max_rows`` rows (a larger one is kept alone)."""
        self.canonical = canonical
        self._max_tables = max_tables
        self._max_rows = max_rows
        self._num_rows = 0
        self._tables: OrderedDict[Hashable, RowTable] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tables)

    def get(
        self,
        domain: Hashable,
        held: Held,
        after: Continuation | tuple[Continuation, ...],
        candidates: Callable[[], Sequence[str]],
        *,
        indices: tuple[int, ...] | None = None,
    ) -> RowTable:
        """The table of a domain after ``held``, before ``after``.

        Args:
            domain: content key of the candidates (never an ``id()``: those are used again).
            held: what the session holds when the slot is opened.
            after: what follows, one for all or one for each candidate.
            candidates: makes the candidates' texts; called only if the table is not there.
            indices: numbers of the candidates if they are a part of the domain, in the order of
            ``candidates()``.
        """
        key = (domain, held, after, indices)
        table = self._tables.get(key)
        if table is not None:
            self._tables.move_to_end(key)
            return table
        table = RowTable.build(self.canonical, held, candidates(), after, indices=indices)
        self._tables[key] = table
        self._num_rows += len(table)
        while len(self._tables) > 1 and (
            len(self._tables) > self._max_tables or self._num_rows > self._max_rows
        ):
            self._num_rows -= len(self._tables.popitem(last=False)[1])
        return table


def _column_key(depth: int) -> Callable[[Sequence[int]], int]:
    """The token at ``depth``, or -1 for a row that ends before: such a row sorts first."""
    return lambda row: row[depth] if len(row) > depth else -1

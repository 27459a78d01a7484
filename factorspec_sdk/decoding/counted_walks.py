"""All tokens of a vocabulary walked through a table of bytes, from one state at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding.json_bytes import JsonBytes
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.decoding.token_columns import TokenColumns
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.memo import Memo

_MAX_WALKS = 256
_MAX_BYTES = 1 << 25


class Walked(NamedTuple):
    """The tokens that stay inside the string: their ids, the states after them, the characters they begin."""

    ids: NDArray[np.int64]
    ends: NDArray[np.int16]
    begun: NDArray[np.uint16]


class CountedWalks:
    """Walks are kept, bounded."""

    def __init__(self, vocabulary: Vocabulary, table: JsonBytes) -> None:
        """Walks nothing yet."""
        self._columns = TokenColumns.of(vocabulary)
        masks = StringMasks.of(vocabulary)
        self._table = table
        self._may_end = np.array([*map(masks.may_end_in, table.modes), False])
        self._known: Memo[int, Walked] = Memo(max_entries=_MAX_WALKS, max_bytes=_MAX_BYTES)

    @property
    def num_bytes(self) -> int:
        """About the memory that the walks take now, in bytes."""
        return self._known.num_bytes

    def may_end_in(self, state: int) -> bool:
        """True if a token may leave the text in this state."""
        return bool(self._may_end[state])

    def of(self, state: int) -> Walked:
        """The tokens from a state on. Some milliseconds for 150,000 tokens the first time."""
        known = self._known.get(state)
        if known is None:
            known = self._walk_all(state)
            self._known.keep(state, known, sum(one.nbytes for one in known))
        return known

    def _walk_all(self, state: int) -> Walked:
        columns, table, num_places = self._columns, self._table.table, self._table.num_places
        alive = np.arange(len(columns.ids))
        states = np.full(len(alive), state, dtype=np.int16)
        begun = np.zeros(len(alive), dtype=np.uint16)
        for column in range(columns.longest):
            going = int(np.searchsorted(alive, columns.longer_than(column)))
            if not going:
                break
            before = states[:going]
            after = table[before, columns.bytes_at(alive[:going], column)]
            begun[:going] += before < num_places
            states[:going] = after
            kept = states >= 0
            if not kept.all():
                alive, states, begun = alive[kept], states[kept], begun[kept]
        kept = self._may_end[states]
        return Walked(columns.ids[alive[kept]], states[kept], begun[kept])

"""Allowed tokens of one position, as a short list of ids or as a packed row.

A packed row is what XGrammar, SGLang and vLLM share::

    word      0                    1                         row_words - 1
    bits   31 … 2 1 0   63 … 34 33 32       …
              tokens 0, 1, 2 … 31     tokens 32 … 63

``row``: (row_words,) int32, C order, CPU; bit j of word i is token 32·i + j, 1 = allowed.
Invariant: bits at or above the logit width are 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.int32]
Ids = NDArray[np.int32]

_INT32 = np.dtype(np.int32)
_WORD_BITS = 32
_SIGN = 1 << 31
# So many words are written one by one faster than by an array of them.
_FEW_WORDS = 16
# So many ids are packed one by one faster than as an array.
_FEW_IDS = 32


class Allowed:
    """An immutable set of token ids: those that may come at one position.

    Held as sorted ids, as a packed row, or as a row with some more ids (free text and what closes it); what
    is asked for is computed once and kept.
    """

    __slots__ = ("_ids", "_many", "_row", "_set", "_words", "count")

    count: int
    """How many tokens are allowed."""

    def __init__(self, ids: frozenset[int] | None, row: Row | None, count: int) -> None:
        """Use ``of`` or ``from_row``. One of ``ids`` and ``row`` is given, and never changed again."""
        self._set = ids
        self._row = row
        self.count = count
        self._ids: Ids | None = None
        self._words: Sequence[tuple[int, int]] | None = None
        self._many: tuple[NDArray[np.int64], Row] | None = None

    @classmethod
    def of(cls, token_ids: Iterable[int]) -> Allowed:
        """The given ids, in any order and however often."""
        unique = frozenset(token_ids)
        return cls(unique, None, len(unique))

    @classmethod
    def from_row(cls, row: Row, also: Iterable[int] = ()) -> Allowed:
        """The tokens of a packed row, and some more. Copies the row.

        Args:
            row: (row_words,) int32, layout as above, no bit at or above the logit width.
            also: further ids, below 32·row_words.
        """
        own = np.array(row, dtype=np.int32, copy=True).reshape(-1)
        for word, bits in _words_of(also):
            own[word] |= bits
        return cls(None, own, int.from_bytes(own.tobytes(), "little").bit_count())

    def ids(self) -> Ids:
        """(count,) int32: the allowed ids, ascending. Do not change."""
        if self._ids is None:
            if self._set is not None:
                self._ids = np.array(sorted(self._set), dtype=np.int32)
            else:
                assert self._row is not None
                self._ids = unpack_row(self._row)
        return self._ids

    def only(self) -> int | None:
        """The allowed token, if it is the only one."""
        if self.count != 1:
            return None
        return next(iter(self._set)) if self._set is not None else int(self.ids()[0])

    def write_row(self, out: Row, holds: Allowed | None = None) -> None:
        """Overwrite ``out``, (row_words,) int32, with the packed row. Allocates nothing once warm.

        ``holds``: what ``out`` holds, if that is known: of short lists only their words are written.
        """
        if self._row is not None:
            out[:] = self._row
            return
        if holds is None or not holds.take_out(out):
            out.fill(0)
        if self._many is not None:
            positions, values = self._many
            out[positions] = values
            return
        if self._words is None:
            assert self._set is not None
            if len(self._set) > _FEW_IDS:
                positions, values = _packed(self._set)
                if len(positions) > _FEW_WORDS:
                    self._many = positions, values
                    out[positions] = values
                    return
                self._words = [*zip(positions.tolist(), values.tolist(), strict=True)]
            else:
                self._words = _words_of(self._set)
        for word, bits in self._words:
            out[word] = bits

    def take_out(self, out: Row) -> bool:
        """Clear a row that holds just these tokens; False, and nothing is done, unless that is quick."""
        words = self._words
        if words is None or self._many is not None:
            return False
        for word, _ in words:
            out[word] = 0
        return True

    def __contains__(self, token_id: object) -> bool:
        if not isinstance(token_id, int | np.integer):
            return False
        if self._set is not None:
            return int(token_id) in self._set
        assert self._row is not None
        word = int(token_id) >> 5
        return 0 <= word < len(self._row) and bool((int(self._row[word]) >> (int(token_id) & 31)) & 1)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids().tolist())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Allowed)
            and self.count == other.count
            and np.array_equal(self.ids(), other.ids())
        )

    def __hash__(self) -> int:
        return hash(self.ids().tobytes())

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.ids()[:8].tolist()))
        return f"Allowed({shown}{', …' if self.count > 8 else ''}; count={self.count})"


def pack_ids(token_ids: Iterable[int], row_words: int) -> Row:
    """The packed row of some ids: (row_words,) int32."""
    row = np.zeros(row_words, dtype=np.int32)
    Allowed.of(token_ids).write_row(row)
    return row


def check_rows(out: Row, shape: tuple[int, ...]) -> None:
    """Raise ``ValueError`` unless ``out`` may take packed rows: int32, of this shape, any strides."""
    if out.shape != shape or out.dtype != _INT32:
        raise ValueError(
            f"packed rows need int32 of shape {shape}, got {out.dtype} of shape {tuple(out.shape)}"
        )


def unpack_row(row: Row) -> Ids:
    """The ids of a packed row, ascending: (number of bits that are 1,) int32."""
    bits = np.unpackbits(np.ascontiguousarray(row, dtype="<i4").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int32)


def _words_of(ids: Iterable[int]) -> Sequence[tuple[int, int]]:
    """The words that hold the ids, and their values as signed numbers."""
    words: dict[int, int] = {}
    for token_id in ids:
        word = token_id >> 5
        words[word] = words.get(word, 0) | 1 << (token_id & (_WORD_BITS - 1))
    return [(word, bits - ((bits & _SIGN) << 1)) for word, bits in words.items()]


def _packed(ids: Collection[int]) -> tuple[NDArray[np.int64], Row]:
    """As ``_words_of``, as arrays; for many ids."""
    every = np.fromiter(ids, dtype=np.int64, count=len(ids))
    every.sort()
    words = every >> 5
    starts = np.flatnonzero(np.diff(words, prepend=-1))
    bits = np.left_shift(np.uint32(1), (every & (_WORD_BITS - 1)).astype(np.uint32))
    return words[starts], np.bitwise_or.reduceat(bits, starts).view(np.int32)

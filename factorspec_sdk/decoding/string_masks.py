"""Masks of text in JSON strings for one vocabulary.

All tokens are walked through the automaton at once, column by column of their bytes, the first time that a
mode is met (10 ms for 150,000 tokens). A mask is then a comparison of whole arrays, and kept; going on by a
token is a look-up in one array.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding.json_strings import (
    C1,
    LONGEST_FINISH,
    NUM_MODES,
    OUTSIDE,
    PLAIN,
    STOP,
    StringState,
    finish,
    transitions,
    walk,
)
from factorspec_sdk.decoding.token_bytes import TokenBytes
from factorspec_sdk.decoding.token_columns import TokenColumns
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.tokens.memo import ENTRY_BYTES, ID_BYTES, Memo, text_bytes

_MAX_ROWS = 512
_MAX_BYTES = 1 << 24
#: a tuple and two numbers
_PAIR_BYTES = 100
_MAX_ALLOWED = 256

#: how ``codes`` are made up; a code is unlike any of a token that stays inside
MODE_SHIFT = 5
_MODE_BITS = (1 << MODE_SHIFT) - 1
REFUSED = 0xFFFF


class _Walked(NamedTuple):
    """All tokens walked from one mode.

    Attributes:
        codes: for each id ``begun << 5 | end``: the characters that it begins and the mode after it, or
            ``REFUSED`` where it does not stay inside the string.
        begun: (logit_width,) uint16: the former; larger than any number of characters where refused.
        finish_cost: (logit_width,) uint8: bytes of ``finish`` after it.
        longest: the largest number of characters begun.
    """

    codes: array[int]
    begun: NDArray[np.uint16]
    finish_cost: NDArray[np.uint8]
    longest: int


class StringMasks:
    """Masks of text in JSON strings for one vocabulary. Rows are made when asked for, and kept (bounded)."""

    def __init__(self, vocabulary: Vocabulary, in_value: bool) -> None:
        """Use ``of``."""
        self.in_value = in_value
        self._width = vocabulary.logit_width
        self._row_words = vocabulary.row_words
        self._tokens = TokenBytes.of(vocabulary)
        self._columns = TokenColumns.of(vocabulary)
        table = vocabulary.all_bytes
        single = {table[i] for i in vocabulary.text_ids if len(table[i]) == 1}
        # Without a token for each continuation byte a split character might have no end.
        self._may_split = all(bytes([byte]) in single for byte in range(0x80, 0xC0))
        self._modes: dict[int, _Walked] = {}
        self._rows: dict[tuple[int, int, int, int], Row] = {}
        self._allowed: Memo[tuple[int, int, int, tuple[bytes, ...]], Allowed] = Memo(
            max_entries=_MAX_ALLOWED, max_bytes=_MAX_BYTES
        )
        self._closing_by_begun: Memo[tuple[int, bytes], dict[int, list[int]]] = Memo(
            max_entries=_MAX_ROWS, max_bytes=_MAX_BYTES
        )
        self._closing: Memo[tuple[int, bytes], tuple[tuple[int, int], ...]] = Memo(
            max_entries=_MAX_ROWS, max_bytes=_MAX_BYTES
        )

    @staticmethod
    def of(vocabulary: Vocabulary, *, in_value: bool = False) -> StringMasks:
        """The masks of a vocabulary; ``in_value``: for whole JSON values. Made once."""
        return _masks(vocabulary, in_value)

    def walk_modes(self) -> None:
        """Walk all tokens from every mode now, not when one is met: 75 ms and 17 MB for 150,000 tokens."""
        for mode in range(NUM_MODES):
            self._walked(mode)

    def codes(self, mode: int) -> array[int]:
        """For each id what it does from a mode: ``begun << 5 | end``, or ``REFUSED``. Do not change."""
        return self._walked(mode).codes

    def row(
        self, mode: int, most_begun: int | None, most_finish: int = LONGEST_FINISH, least_begun: int = 0
    ) -> Row:
        """(row_words,) int32: tokens that stay inside the string. Do not change.

        Args:
            mode: the mode before the token.
            most_begun: characters that may still begin; None: any number.
            most_finish: a character or escape left unfinished must be finished by this many bytes.
            least_begun: characters that must begin.
        """
        walked = self._walked(mode)
        most = walked.longest if most_begun is None else min(most_begun, walked.longest)
        key = (mode, most, most_finish, least_begun)
        row = self._rows.get(key)
        if row is None:
            fits = walked.begun <= most
            if least_begun > 0:
                fits &= walked.begun >= least_begun
            if most_finish < LONGEST_FINISH:
                fits &= walked.finish_cost.view(np.int8) <= most_finish
            row = _packed(fits, self._row_words)
            if len(self._rows) >= _MAX_ROWS:
                self._rows.clear()
            self._rows[key] = row
        return row

    def allowed(
        self, mode: int, most_begun: int | None, least_begun: int, endings: tuple[bytes, ...]
    ) -> Allowed:
        """Tokens that stay inside the string, and those that hold its rest and then one of ``endings``. Kept.

        Args:
            mode: the mode before the token.
            most_begun: characters that may still begin; None: any number.
            least_begun: characters that must begin before the string ends.
            endings: what follows a text.
        """
        longest = max(self._walked(mode).longest, self.longest_closing)
        most = longest if most_begun is None else min(most_begun, longest)
        key = (mode, most, min(max(least_begun, 0), longest + 1), endings)
        known = self._allowed.get(key)
        if known is None:
            fits = self._walked(mode).begun <= most
            for ending in endings:
                pairs = self.closing(mode, ending)
                fits[[token_id for token_id, begun in pairs if least_begun <= begun <= most]] = True
            known = Allowed.from_row(_packed(fits, self._row_words))
            self._allowed.keep(key, known, 8 * self._row_words + text_bytes(*endings))
        return known

    def may_end_in(self, mode: int) -> bool:
        """True if a token may leave the text in this mode."""
        return self._may_split or mode < C1 or mode == OUTSIDE

    def closing(self, mode: int, ending: bytes) -> tuple[tuple[int, int], ...]:
        """Tokens that hold the rest of a text and then exactly ``ending``: (id, characters begun)."""
        key = (mode, ending)
        found = self._closing.get(key)
        if found is None:
            made: list[tuple[int, int]] = []
            for data, token_id in self._tokens.ending_with(ending):
                state = walk(StringState(mode), data)
                if state is not None and state.mode == PLAIN:
                    made.append((token_id, state.length))
            found = self._closing.keep(key, tuple(made), text_bytes(ending) + _PAIR_BYTES * len(made))
        return found

    def closing_with(self, mode: int, ending: bytes, begun: int) -> Sequence[int]:
        """Those of ``closing`` that begin so many characters."""
        key = (mode, ending)
        found = self._closing_by_begun.get(key)
        if found is None:
            found = {}
            for token_id, number in self.closing(mode, ending):
                found.setdefault(number, []).append(token_id)
            size = text_bytes(ending) + ENTRY_BYTES * len(found) + ID_BYTES * sum(map(len, found.values()))
            self._closing_by_begun.keep(key, found, size)
        return found.get(begun, ())

    @cached_property
    def longest_closing(self) -> int:
        """No token holds more characters of a text and its closing quote."""
        return max((len(data) for data, _ in self._tokens.holding(b'"')), default=1) - 1

    def longest(self, mode: int) -> int:
        """The most characters that a token begins inside the string."""
        return self._walked(mode).longest

    def strides(self, mode: int) -> tuple[tuple[int, int], ...]:
        """By number of characters a token that begins so many and leaves none unfinished: (number, id)."""
        codes = np.frombuffer(self.codes(mode), dtype=np.uint16)
        plain = np.flatnonzero((codes & _MODE_BITS) == PLAIN)
        begun, at = np.unique(codes[plain] >> MODE_SHIFT, return_index=True)
        return tuple(zip(begun.tolist(), plain[at].tolist(), strict=True))

    def _walked(self, mode: int) -> _Walked:
        known = self._modes.get(mode)
        if known is None:
            known = self._modes[mode] = self._walk_all(mode)
        return known

    def _walk_all(self, mode: int) -> _Walked:
        table, columns = transitions(self.in_value), self._columns
        modes = np.full(len(columns.ids), mode, dtype=np.int16)
        begun = np.zeros(len(columns.ids), dtype=np.uint16)
        alive = np.arange(len(columns.ids))
        for column in range(columns.longest):
            alive = alive[: np.searchsorted(alive, columns.longer_than(column))]
            before = modes[alive]
            after = table[before, columns.bytes_at(alive, column)]
            begun[alive] += (before == PLAIN) & (after != STOP)
            modes[alive] = after
            alive = alive[after != STOP]
        kept = modes != STOP
        if not self._may_split:
            kept &= (modes < C1) | (modes == OUTSIDE)
        ids, begun, end = columns.ids[kept], begun[kept], modes[kept].astype(np.uint16)
        assert begun.max(initial=0) < REFUSED >> MODE_SHIFT, "a token has more characters than a code holds"
        codes = np.full(self._width, REFUSED, dtype=np.uint16)
        codes[ids] = begun << MODE_SHIFT | end
        costs = np.zeros(self._width, dtype=np.uint8)
        costs[ids] = np.array([len(finish(m)) for m in range(NUM_MODES)], dtype=np.uint8)[end]
        numbers = (codes >> MODE_SHIFT).astype(np.uint16, copy=False)
        return _Walked(array("H", codes.tobytes()), numbers, costs, int(begun.max(initial=0)))


def _packed(fits: NDArray[np.bool_], row_words: int) -> Row:
    """(row_words,) int32: the packed row of the ids for which ``fits`` holds."""
    row = np.zeros(row_words, dtype="<i4")
    packed_bits = np.packbits(fits, bitorder="little")
    row.view(np.uint8)[: len(packed_bits)] = packed_bits
    return row.astype(np.int32, copy=False)


def packed(ids: NDArray[np.int32], row_words: int) -> Row:
    """(row_words,) int32: the packed row of some ids."""
    bits = np.zeros(row_words * 32, dtype=np.bool_)
    bits[ids] = True
    return _packed(bits, row_words)


@lru_cache(maxsize=16)
def _masks(vocabulary: Vocabulary, in_value: bool) -> StringMasks:
    return StringMasks(vocabulary, in_value)

"""Masks of text in JSON strings for one vocabulary.

All tokens are walked through the automaton at once, column by column of their bytes, the first time that a
mode is met (30 ms for 50,000 tokens). A mask is then a comparison of whole arrays, and kept.
"""

from __future__ import annotations

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
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.masks import Row

_MAX_ROWS = 512


class _Walked(NamedTuple):
    """All ordinary tokens walked from one mode; only those that stay inside the string.

    ids, begun, end, finish_cost: (n,) int32 each: token, characters that it begins, mode after it, bytes of
    ``finish`` then. ``longest``: the largest of ``begun``.
    """

    ids: NDArray[np.int32]
    begun: NDArray[np.int32]
    end: NDArray[np.int32]
    finish_cost: NDArray[np.int32]
    longest: int


class StringMasks:
    """Masks of text in JSON strings for one vocabulary. Rows are made when asked for, and kept (bounded)."""

    def __init__(self, vocabulary: Vocabulary, in_value: bool) -> None:
        """Use ``of``."""
        self.in_value = in_value
        self._row_words = vocabulary.row_words
        self._tokens = TokenBytes.of(vocabulary)
        ids = sorted(vocabulary.text_ids, key=lambda i: -len(vocabulary.token_bytes(i)))
        lengths = np.array([len(vocabulary.token_bytes(i)) for i in ids], dtype=np.int64)
        self._ids = np.array(ids, dtype=np.int32)
        self._flat = np.frombuffer(b"".join(vocabulary.token_bytes(i) for i in ids), dtype=np.uint8)
        self._starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(ids) else lengths
        self._lengths = lengths
        single = {vocabulary.token_bytes(i) for i in ids if len(vocabulary.token_bytes(i)) == 1}
        # Without a token for each continuation byte a split character might have no end.
        self._may_split = all(bytes([byte]) in single for byte in range(0x80, 0xC0))
        self._modes: dict[int, _Walked] = {}
        self._rows: dict[tuple[int, int, int, int], Row] = {}
        self._closing_by_begun: dict[tuple[int, bytes], dict[int, list[int]]] = {}
        self._closing: dict[tuple[int, bytes], tuple[tuple[int, int], ...]] = {}

    @staticmethod
    def of(vocabulary: Vocabulary, *, in_value: bool = False) -> StringMasks:
        """The masks of a vocabulary; ``in_value``: for whole JSON values. Made once."""
        return _masks(vocabulary, in_value)

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
            fits = (
                (walked.begun <= most) & (walked.begun >= least_begun) & (walked.finish_cost <= most_finish)
            )
            row = packed(walked.ids[fits], self._row_words)
            if len(self._rows) >= _MAX_ROWS:
                self._rows.clear()
            self._rows[key] = row
        return row

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
            if len(self._closing) >= _MAX_ROWS:
                self._closing.clear()
            found = self._closing[key] = tuple(made)
        return found

    def closing_with(self, mode: int, ending: bytes, begun: int) -> Sequence[int]:
        """Those of ``closing`` that begin so many characters."""
        key = (mode, ending)
        found = self._closing_by_begun.get(key)
        if found is None:
            found = {}
            for token_id, number in self.closing(mode, ending):
                found.setdefault(number, []).append(token_id)
            if len(self._closing_by_begun) >= _MAX_ROWS:
                self._closing_by_begun.clear()
            self._closing_by_begun[key] = found
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
        walked = self._walked(mode)
        plain = walked.end == PLAIN
        pairs = zip(walked.begun[plain].tolist(), walked.ids[plain].tolist(), strict=True)
        return tuple(sorted(dict(pairs).items()))

    def _walked(self, mode: int) -> _Walked:
        known = self._modes.get(mode)
        if known is None:
            known = self._modes[mode] = self._walk_all(mode)
        return known

    def _walk_all(self, mode: int) -> _Walked:
        """All tokens at once: tokens are sorted by length, so those with a byte in a column are a prefix."""
        table = transitions(self.in_value)
        modes = np.full(len(self._ids), mode, dtype=np.int16)
        begun = np.zeros(len(self._ids), dtype=np.int32)
        for column in range(int(self._lengths[0]) if len(self._ids) else 0):
            active = int(np.searchsorted(-self._lengths, -column, "left"))
            before = modes[:active]
            after = table[before, self._flat[self._starts[:active] + column]]
            begun[:active] += (before == PLAIN) & (after != STOP)
            modes[:active] = after
        kept = modes != STOP
        if not self._may_split:
            kept &= (modes < C1) | (modes == OUTSIDE)
        costs = np.array([len(finish(m)) for m in range(NUM_MODES)], dtype=np.int32)
        end = modes[kept].astype(np.int32)
        longest = int(begun[kept].max(initial=0))
        return _Walked(self._ids[kept], begun[kept], end, costs[end], longest)


def packed(ids: NDArray[np.int32], row_words: int) -> Row:
    """(row_words,) int32: the packed row of some ids."""
    bits = np.zeros(row_words * 32, dtype=np.uint8)
    bits[ids] = 1
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False)


@lru_cache(maxsize=16)
def _masks(vocabulary: Vocabulary, in_value: bool) -> StringMasks:
    return StringMasks(vocabulary, in_value)

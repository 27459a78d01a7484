"""The bytes of all ordinary tokens of a vocabulary, to be read column by column."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.tokens import Vocabulary


class TokenColumns:
    """Tokens from the longest to the shortest, so that those with a byte in a column are the first ones.

    Attributes:
        ids: (tokens,) int64: in this order.
        longest: bytes of the first of them.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Use ``of``."""
        table = vocabulary.all_bytes
        texts = [table[i] for i in vocabulary.text_ids]
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        order = np.argsort(-lengths, kind="stable")
        self.ids: NDArray[np.int64] = np.array(vocabulary.text_ids, dtype=np.int64)[order]
        self.longest = int(lengths.max(initial=0))
        self._flat = np.frombuffer(b"".join(texts), dtype=np.uint8)
        self._starts = (np.cumsum(lengths) - lengths)[order]
        self._falling = -lengths[order]

    @staticmethod
    def of(vocabulary: Vocabulary) -> TokenColumns:
        """Those of a vocabulary. Made once."""
        return _columns(vocabulary)

    def longer_than(self, column: int) -> int:
        """How many tokens have a byte in a column."""
        return int(np.searchsorted(self._falling, -column, "left"))

    def bytes_at(self, tokens: NDArray[np.int64], column: int) -> NDArray[np.uint8]:
        """The bytes of some tokens (by their order, each with a byte there) in a column."""
        found: NDArray[np.uint8] = self._flat[self._starts[tokens] + column]
        return found


@lru_cache(maxsize=16)
def _columns(vocabulary: Vocabulary) -> TokenColumns:
    return TokenColumns(vocabulary)

"""Answers kept by content, bounded by number and by bytes.

Caches of the token and decoding layers whose keys or answers come from requests are memos, so that no variety
of requests (100,000 texts, one of 100,000 characters) makes a process grow without end. When a memo is full,
all is forgotten: that costs making answers again, and needs no order of use. What is kept, and its bounds::

    for a vocabulary                        entries       bytes
    Canonical: words, tails, literals       65,536 …      32, 4, 16 MiB
    Cuts: pairs of characters, ends         65,536 each   10, 8 MiB
    TokenBytes: tokens by ending            1,024         32 MiB
    StringMasks (2): rows, masks, closings  512 each      10, 16, 16, 16 MiB
    StringRules (64): masks                 16 each       20 MiB in all
    PieceRules (32): going on, closing      512 each      4 MiB each
    TextRules: tokens that open a text      256 each      8 MiB each
    FreeNumbers (2): endings, allowed       256, 4,096    4, 8 MiB each
    GrammarRules                            64            64 MiB with XGrammar's grammars
    PlacedRules: states, their steps        1,024, 131,072
    XGrammar's own cache                                  64 MiB

    for a spec, counted by ``Decoder.num_bytes`` (the server's cache of specs is bounded by it)
    CanonicalText: answers, pairs           16,384 …      8, 16 MiB
    Opener: rows, tables                    131,072 rows  60, 64 MiB
    RunTree                                               as the decoder is told, 1 MiB
    NumberRuns: exits, what is allowed      256, 1,024
    ChoicePlans                             128
    Layout, Bounds, Holes                   as large as the program
    FactorGraph: residuals                  100,000, or twice those of compiling

    for the server
    SpecCache                               256 specs     512 MiB (``Budgets``), shared by constraint workers
    hashes of documents' texts              4 a spec
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Hashable
from typing import TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

#: an entry of a dictionary, its key's tuple and the like
ENTRY_BYTES = 200
#: a reference in a tuple and a small integer behind it
ID_BYTES = 40


class Memo(dict[KeyT, ValueT]):
    """A dictionary that only ``keep`` fills. Reading is a dictionary's own; threads may share it.

    Attributes:
        num_bytes: what is in it, by the callers' estimates.
    """

    __slots__ = ("_lock", "_max_bytes", "_max_entries", "num_bytes")

    def __init__(self, *, max_entries: int, max_bytes: int) -> None:
        super().__init__()
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self.num_bytes = 0

    def keep(self, key: KeyT, value: ValueT, num_bytes: int) -> ValueT:
        """Remember a value; returns it. One that would fill a quarter of the room alone is not kept.

        Args:
            key: content key.
            value: never changed afterwards.
            num_bytes: of key and value, approximately, an entry's own (``ENTRY_BYTES``) apart.
        """
        size = num_bytes + ENTRY_BYTES
        if size > self._max_bytes // 4:
            return value
        with self._lock:
            if len(self) >= self._max_entries or self.num_bytes + size > self._max_bytes:
                self.clear()
            if key not in self:
                self.num_bytes += size
            self[key] = value
        return value

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self.num_bytes = 0


def text_bytes(*texts: str | bytes) -> int:
    """Bytes that some texts take. O(1) each."""
    return sum(map(sys.getsizeof, texts))

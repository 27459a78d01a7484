"""Keys and values of prompts and answers that were run lately, for requests that begin the same way.

::

    entry 1   <system> You plan trips. <user> Oslo …            tokens 0 .. 40 of their row
    entry 2                            └ Rome …                 tokens 25 .. 60, behind 25 tokens of entry 1
    entry 3                                      └ {"city" …    tokens 41 .. 80, behind all of entry 1

Entries form a tree, those of each salt one of its own: each holds what its row had behind the tokens that
it shares with its parent. What is looked up longest ago goes first, entries with others behind them never
before those. Not for use by two threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from factorspec_server.drafting.seam import IntArray
from factorspec_server.engines.seam import Segment

SHORTEST = 16
"""Fewer tokens than this are neither kept nor waited for."""

_Key = tuple[int, int, str | None]
"""Of an entry behind another one: how many of the other's tokens it follows, its own first one, its salt."""


@dataclass(eq=False, slots=True)
class _Entry:
    """Tokens behind ``parent``, their keys and values, and the entries behind them."""

    key: _Key
    tokens: IntArray
    segment: Segment | None
    parent: _Entry | None = None
    behind: dict[_Key, _Entry] = field(default_factory=dict)


Match = list[tuple[Segment, int]]
"""Segments that follow each other, and how many of the first tokens of each to take."""


class PrefixStore:
    """What is kept, within ``max_bytes``; 0 keeps nothing.

    Args:
        max_bytes: bytes that keys and values may take.
        token_bytes: bytes that those of one token take.
    """

    def __init__(self, max_bytes: int, token_bytes: int) -> None:
        self._max_tokens = max_bytes // max(1, token_bytes)
        self._token_bytes = token_bytes
        self._root = _Entry((0, 0, None), np.empty(0, dtype=np.int32), None)
        self._by_use: dict[int, _Entry] = {}  # by id, the one used longest ago first
        self._num_tokens = 0

    @property
    def num_bytes(self) -> int:
        """Bytes that are kept now."""
        return self._num_tokens * self._token_bytes

    def fits(self, num_tokens: int) -> bool:
        """True if that many tokens of one row can be kept."""
        return num_tokens <= self._max_tokens

    def match(self, tokens: IntArray, salt: str | None = None) -> Match:
        """What is kept of the longest known beginning of these tokens, under that salt (``Request.salt``)."""
        path = self._path(tokens, salt)
        return [(entry.segment, count) for entry, count in path if entry.segment is not None]

    def add(
        self, token_ids: Sequence[int], save: Callable[[int], Segment | None], salt: str | None = None
    ) -> None:
        """Keep a row's tokens.

        Args:
            token_ids: all that the row holds.
            save: copies what the row holds from a token on, None if that cannot be kept; called where there
                is enough that is new.
            salt: as in ``match``.
        """
        tokens = np.asarray(token_ids, dtype=np.int32)
        path = self._path(tokens, salt)
        while path:
            parent, offset = path[-1]
            known = sum(count for _, count in path)
            size = len(tokens) - known
            if size < SHORTEST or not self.fits(size):
                return
            self._evict(self._max_tokens - size, {id(entry) for entry, _ in path})
            if self._num_tokens + size <= self._max_tokens:
                break
            path.pop()  # it has more that is not shared than there is room for
        else:
            return
        key = offset, int(tokens[known]), salt
        segment = save(known) if key not in parent.behind else None
        if segment is not None:
            entry = parent.behind[key] = _Entry(key, tokens[known:], segment, parent)
            self._by_use[id(entry)] = entry
            self._num_tokens += size

    def clear(self) -> None:
        """Forget everything."""
        self._root.behind.clear()
        self._by_use.clear()
        self._num_tokens = 0

    def _path(self, tokens: IntArray, salt: str | None) -> list[tuple[_Entry, int]]:
        """Entries along these tokens, the root first, and how many tokens of each fit; notes their use."""
        entry, count, at = self._root, 0, 0
        path = [(entry, count)]
        while at < len(tokens):
            found = entry.behind.get((count, int(tokens[at]), salt))
            if found is None:
                break
            entry, count = found, common(found.tokens, tokens[at:])
            at += count
            path.append((entry, count))
            self._by_use[id(entry)] = self._by_use.pop(id(entry))
        return path

    def _evict(self, num_tokens: int, spared: set[int]) -> None:
        """Forget entries until at most ``num_tokens`` are kept, or only spared ones are left."""
        while self._num_tokens > num_tokens:
            last = (key for key, entry in self._by_use.items() if not entry.behind and key not in spared)
            oldest = next(last, None)
            if oldest is None:
                return
            entry = self._by_use.pop(oldest)
            assert entry.parent is not None
            del entry.parent.behind[entry.key]
            self._num_tokens -= len(entry.tokens)


def common(left: IntArray, right: IntArray) -> int:
    """How many of their first tokens agree."""
    length = min(len(left), len(right))
    differ = np.flatnonzero(left[:length] != right[:length])
    return int(differ[0]) if len(differ) else length

"""The ordinary tokens of a vocabulary by their bytes: those that begin or end with given bytes. Made once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.memo import Memo, text_bytes

_MAX_KEPT = 1 << 10
#: how more tokens than this part is kept
_MANY = 64
_MAX_KEPT_BYTES = 1 << 25
#: a tuple, the bytes in it and a number
_PAIR_BYTES = 150
StateT = TypeVar("StateT")


class TokenBytes:
    """Looks up ordinary tokens (no added ones). Answers are kept (bounded); otherwise without state.

    Attributes:
        vocabulary: whose tokens they are.
        ids: all ordinary tokens.
        sorted_bytes: (bytes, id) of all ordinary tokens, in order.
        longest: bytes of the longest of them.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Use ``of``."""
        self.vocabulary = vocabulary
        self.ids = frozenset(vocabulary.text_ids)
        table = vocabulary.all_bytes
        self.sorted_bytes = [(table[i], i) for i in vocabulary.sorted_ids]
        self.longest = max((len(data) for data, _ in self.sorted_bytes), default=1)
        self._by_byte: dict[int, list[tuple[bytes, int]]] = {}
        self._parted: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        self._ending: Memo[bytes, tuple[tuple[bytes, int], ...]] = Memo(
            max_entries=_MAX_KEPT, max_bytes=_MAX_KEPT_BYTES
        )

    @staticmethod
    def of(vocabulary: Vocabulary) -> TokenBytes:
        """The one of a vocabulary. 30 ms for 50,000 tokens the first time."""
        return _token_bytes(vocabulary)

    def of_token(self, token: int) -> bytes:
        """The bytes of an ordinary token; none of any other."""
        return self.vocabulary.token_bytes(token) if token in self.ids else b""

    def spelling(self, data: bytes) -> Iterator[int]:
        """The tokens with just these bytes: vocabularies with byte tokens may have two."""
        for at in range(bisect_left(self.sorted_bytes, (data, -1)), len(self.sorted_bytes)):
            found, token_id = self.sorted_bytes[at]
            if found != data:
                break
            yield token_id

    def beginning_with(self, prefix: bytes) -> Sequence[tuple[bytes, int]]:
        """What tokens that begin with ``prefix`` hold behind it (not nothing), with their ids. Not kept."""
        found = []
        for at in range(bisect_left(self.sorted_bytes, (prefix, -1)), len(self.sorted_bytes)):
            data, token_id = self.sorted_bytes[at]
            if not data.startswith(prefix):
                break
            if len(data) > len(prefix):
                found.append((data[len(prefix) :], token_id))
        return found

    def spelled_on(
        self, prefix: bytes, state: StateT, walk: Callable[[StateT, bytes], StateT | None]
    ) -> Iterator[tuple[bytes, int]]:
        """Those of ``beginning_with(prefix)`` whose bytes behind it ``walk`` takes from ``state``. Not kept.

        ``walk`` is asked once for each beginning that tokens share, so what no text begins with costs little
        however many tokens do: O(beginnings that are taken).
        """
        table = self.sorted_bytes
        size, last = len(prefix), bisect_left(table, (prefix + b"\xff" * self.longest, len(table)))
        pending = [(bisect_left(table, (prefix,)), last, size, state)]
        while pending:
            at, end, depth, state = pending.pop()
            while at < end and len(table[at][0]) == depth:
                if depth > size:
                    yield table[at][0][size:], table[at][1]
                at += 1
            for first, behind in self._branches(at, end, depth):
                data, token_id = table[first]
                is_only = behind == first + 1
                after = walk(state, data[depth:] if is_only else data[depth : depth + 1])
                if after is not None and is_only:
                    yield data[size:], token_id
                elif after is not None:
                    pending.append((first, behind, depth + 1, after))

    def _branches(self, at: int, end: int, depth: int) -> Sequence[tuple[int, int]]:
        """Where tokens from ``at`` to ``end`` (exclusive) that agree up to ``depth`` part by the byte there.

        Of many tokens it is kept.
        """
        key = (at, end, depth)
        known = self._parted.get(key)
        if known is None:
            table, known = self.sorted_bytes, []
            while at < end:
                last = table[at][0][: depth + 1] + b"\xff" * self.longest
                behind = bisect_left(table, (last, len(table)), at, end)
                known.append((at, behind))
                at = behind
            if end - key[0] > _MANY:
                if len(self._parted) >= _MAX_KEPT:
                    self._parted.clear()
                self._parted[key] = known
        return known

    def ending_with(self, ending: bytes) -> Sequence[tuple[bytes, int]]:
        """What tokens that end with ``ending`` (not empty) hold before it, with their ids."""
        found = self._ending.get(ending)
        if found is None:
            size = len(ending)
            pairs = self._holding(ending[0])
            found = tuple((data[:-size], token_id) for data, token_id in pairs if data.endswith(ending))
            self._ending.keep(ending, found, text_bytes(ending) + _PAIR_BYTES * len(found))
        return found

    def from_to(self, prefix: bytes, ending: bytes) -> Iterator[tuple[bytes, int]]:
        """What tokens that begin with ``prefix`` and end with ``ending`` hold between, with their ids."""
        pairs, size = self.ending_with(ending), len(prefix)
        # They stand in the order of their whole bytes, so those that begin alike stand together.
        at = bisect_left(pairs, prefix, key=lambda pair: pair[0] + ending)
        while at < len(pairs) and (pairs[at][0] + ending).startswith(prefix):
            data, token_id = pairs[at]
            if len(data) >= size:
                yield data[size:], token_id
            at += 1

    def holding(self, byte: bytes) -> Sequence[tuple[bytes, int]]:
        """(bytes, id) of the tokens that hold a byte, in order."""
        return self._holding(byte[0])

    def _holding(self, byte: int) -> list[tuple[bytes, int]]:
        found = self._by_byte.get(byte)
        if found is None:
            found = self._by_byte[byte] = [pair for pair in self.sorted_bytes if byte in pair[0]]
        return found


@lru_cache(maxsize=8)
def _token_bytes(vocabulary: Vocabulary) -> TokenBytes:
    return TokenBytes(vocabulary)

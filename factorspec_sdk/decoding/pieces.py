"""Where a text that is being written occurs in its sources, and by which tokens it can go on there.

The sources stand one after the other in JSON's escaped spelling, with a byte between them that is no UTF-8::

    sources   'He said "no".'   'So what?'
    escaped    H e   s a i d   \\ " n o \\ " . FF S o   w h a t ? FF
    starts     ^ ^ ^ ^ ^ ^ ^ ^ ^   ^ ^ ^   ^      ^ ^ ^ ..             one per character

A piece begins at the start of a character. It is named by where it *first* occurs: the offset behind it, and
its size in bytes. Its *places* are the offsets behind it wherever it occurs, rising. Tokens are found by
walking the places and a sorted table down together, byte by byte: each step keeps the places whose next byte
is the one taken.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.fields.text import json_text

_BETWEEN = 0xFF
_MAX_KEPT = 1024
#: offsets kept in memory, over all pieces of one source
_MAX_PLACES = 1 << 19
Places = NDArray[np.int64]
Table = Sequence[tuple[bytes, int]]


class Piece(NamedTuple):
    """A piece: the offset behind its first occurrence, and its bytes."""

    end: int = 0
    size: int = 0


class Pieces:
    """The pieces of some texts that have at least ``least`` characters or can be extended to so many."""

    def __init__(self, sources: tuple[str, ...], least: int) -> None:
        """Use ``of``. O(length of the sources)."""
        escaped = bytearray()
        offsets: list[int] = []
        left: list[int] = []
        for source in sources:
            for at, character in enumerate(source):
                offsets.append(len(escaped))
                left.append(len(source) - at)
                escaped += json_text(character)[1:-1].encode()
            offsets.append(len(escaped))
            left.append(0)
            escaped.append(_BETWEEN)
        self._raw = bytes(escaped)
        self._bytes = np.frombuffer(self._raw + bytes([_BETWEEN]), dtype=np.uint8)
        self._offsets = np.array(offsets, dtype=np.int64)
        self._starts = self._offsets[np.array(left, dtype=np.int64) >= max(1, least)]
        self._least = least
        self._places: dict[Piece, Places] = {}
        self._num_places = 0

    @staticmethod
    def of(sources: tuple[str, ...], least: int) -> Pieces:
        """The pieces of some texts. Kept (few)."""
        return _pieces(sources, least)

    def after(self, piece: Piece, data: bytes) -> Piece | None:
        """The piece with more bytes, or None if that is none; it may end within a character."""
        if not data:
            return piece
        places = self._places_of(piece)
        for byte in data:
            places = places[self._bytes[places] == byte] + 1
            if not len(places):
                return None
        return self._named(places, piece.size + len(data))

    def spelled_on(self, piece: Piece, table: Table) -> Iterator[tuple[bytes, int]]:
        """Entries of a table, sorted by bytes, that ``piece`` goes on with; those without bytes too."""
        stack = [(0, len(table), b"", self._places_of(piece))]
        while stack:
            low, high, prefix, here = stack.pop()
            while low < high and table[low][0] == prefix:
                yield table[low]
                low += 1
            if low == high:
                continue
            following = self._bytes[here]
            for byte in np.unique(following).tolist():
                longer = prefix + bytes([byte])
                first = bisect_left(table, (longer, -1), low, high)
                last = high if byte == _BETWEEN else bisect_left(table, (_after(longer), -1), first, high)
                if first < last and byte != _BETWEEN:
                    stack.append((first, last, longer, here[following == byte] + 1))

    def missing_bytes(self, piece: Piece, num_characters: int) -> int:
        """Bytes from a piece, of so many begun characters, to a character's end and to ``least``."""
        places = self._places_of(piece)
        if not len(places):
            return 0
        end = int(places[0])
        boundary = int(np.searchsorted(self._offsets, end, "left"))
        more = max(0, self._least - num_characters)
        return int(self._offsets[boundary + more]) - end

    def _named(self, places: Places, size: int) -> Piece:
        piece = Piece(int(places[0]), size)
        if piece not in self._places:
            if len(self._places) >= _MAX_KEPT or self._num_places + len(places) > _MAX_PLACES:
                self._places.clear()
                self._num_places = 0
            self._places[piece] = places
            self._num_places += len(places)
        return piece

    def _places_of(self, piece: Piece) -> Places:
        if not piece.size:
            return self._starts
        found = self._places.get(piece)
        return self._found_again(piece) if found is None else found

    def _found_again(self, piece: Piece) -> Places:
        """The places of a piece that were dropped from memory."""
        text = self._raw[piece.end - piece.size : piece.end]
        found: list[int] = []
        at = self._raw.find(text)
        while at >= 0:
            found.append(at)
            at = self._raw.find(text, at + 1)
        starts = np.array(found, dtype=np.int64)
        places = starts[np.isin(starts, self._starts)] + piece.size
        self._named(places, piece.size)
        return places


def _after(prefix: bytes) -> bytes:
    """The least bytes that are greater than all that begin with ``prefix``, whose last byte is below 0xFF."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


@lru_cache(maxsize=16)
def _pieces(sources: tuple[str, ...], least: int) -> Pieces:
    return Pieces(sources, least)

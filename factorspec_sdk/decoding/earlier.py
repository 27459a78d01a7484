"""What earlier records of a spec wrote: their tokens, searched for places that went as a record goes now.

Agents ask for the same records again and again, or for nearly the same. Who drafts proposes what came next
then; what is drawn does not depend on it. The records stand behind one another in one text, a character for
each token, those used last at its end::

    | a b c d | a b x y z |          |  the mark, in front of each record and behind the last

so that one search by the interpreter finds a place, in less than a microsecond. The certain tokens in front
of a value are part of what is searched for: at a text's beginning they say which text it is.

Bounds: ``MOST_RECORDS`` distinct records and ``MOST_TOKENS`` tokens, the least recently used out first; of a
longer record its beginning. Nothing of a record stays but its tokens, 8 bytes each (4 in its own text, 4 in
that of all).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

MOST_RECORDS = 32
MOST_TOKENS = 4096
"""Of all records together, their marks included."""

LENGTHS = (3, 8, 24)
"""Tokens that went alike before a place: at least the first; each further number is a level of its own."""

NOTHING_YET, WAS_RIGHT, WAS_WRONG = range(3)
"""What has become of the last proposal for a record."""

ALONE, AGREEING, DIFFERING = range(3)
"""What other places that went alike say: there is none, the same, something else."""

_MARK = chr(0x10FFFF)
#: places that are looked at for the same token as the last one's, or others
_MOST_LOOKS = 4
#: before anything is known: the chance that a proposal stands, by what became of the last one and by level
_FIRST_CHANCES = ((0.4, 0.5, 0.6), (0.75, 0.85, 0.93), (0.15, 0.25, 0.4))
#: of an empty memory; of a record's own objects; of a token, in its record's text and that of all
_BYTES, _BYTES_PER_RECORD, _BYTES_PER_TOKEN = 4096, 192, 8
_FADE = 0.97


class Rate:
    """The share of tries that went well, from a prior worth ``prior_tries`` tries."""

    __slots__ = ("_good", "_tries")

    def __init__(self, prior: float, prior_tries: float = 4.0) -> None:
        self._good = prior * prior_tries
        self._tries = prior_tries

    @property
    def value(self) -> float:
        """The estimate now."""
        return self._good / self._tries

    def learn(self, good: bool) -> None:
        """Count a try. Old ones fade, so that the state stays small and current."""
        self._good = self._good * _FADE + good
        self._tries = self._tries * _FADE + 1.0


_Rates = tuple[tuple[tuple[Rate, ...], ...], ...]


class Place(NamedTuple):
    """A place of an earlier record.

    Attributes:
        text: the records, as they stood when it was found.
        at: index of what came next there.
        length: so many tokens before it went alike, as far as is known.
        others: what other places say (``ALONE``, …); not asked of a place that is followed.
    """

    text: str
    at: int
    length: int
    others: int = ALONE

    @property
    def token(self) -> int:
        """What came next."""
        return ord(self.text[self.at])

    @property
    def level(self) -> int:
        """Of the length, see ``LENGTHS``."""
        return sum(self.length >= length for length in LENGTHS[1:])

    def behind(self, tokens: Sequence[int]) -> Place | None:
        """The place behind these tokens; None if the record went another way, or ended."""
        written = _text(tokens)
        at = self.at + len(written)
        if not self.text.startswith(written, self.at) or self.text[at] == _MARK:
            return None
        return Place(self.text, at, self.length + len(written))


class Earlier:
    """The memory of one spec.

    ``remember``, ``use`` and ``forget`` may be called from any thread, while others read. Rates are learnt by
    whoever reads.

    Attributes:
        readers: records for which it was read so far.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, None] = {}
        self._text = ""
        self._num_chars = 0
        self._rates = _first_rates()
        self.readers = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def num_bytes(self) -> int:
        """About the memory that it takes now, in bytes. Cheap."""
        return _BYTES + _BYTES_PER_RECORD * len(self._records) + _BYTES_PER_TOKEN * self._num_chars

    def remember(self, tokens: Sequence[int]) -> None:
        """A record is finished. O(``MOST_TOKENS``)."""
        try:
            record = _text(tokens[: MOST_TOKENS - 2])
        except (ValueError, OverflowError):  # no characters stand for such tokens
            return
        if not record or _MARK in record:
            return
        with self._lock:
            if record in self._records:
                del self._records[record]
                for last, others in product((NOTHING_YET, WAS_RIGHT), (ALONE, AGREEING)):
                    for rate in self._rates[last][others]:
                        rate.learn(True)
            else:
                self._num_chars += len(record) + 1
            self._records[record] = None
            while len(self._records) > MOST_RECORDS or self._num_chars >= MOST_TOKENS:
                oldest = next(iter(self._records))
                del self._records[oldest]
                self._num_chars -= len(oldest) + 1
            self._text = _MARK.join(("", *self._records, ""))

    def use(self, place: Place) -> None:
        """A place of a record was of use: it is not the next to go. O(characters)."""
        text = place.text
        record = text[text.rfind(_MARK, 0, place.at) + 1 : text.find(_MARK, place.at)]
        with self._lock:
            if record in self._records:
                self._records[record] = self._records.pop(record)

    def forget(self) -> None:
        """Forget all records, and what was learnt of them."""
        with self._lock:
            self._records, self._text, self._num_chars = {}, "", 0
            self._rates = _first_rates()

    def rate(self, place: Place, last: int) -> Rate:
        """How often such places were right; ``last``: what became of the proposal before."""
        return self._rates[last][place.others][place.level]

    def most_likely(self, last: int) -> float:
        """The chance of the best of all places."""
        return max(rate.value for rates in self._rates[last] for rate in rates)

    def places(self, tokens: Sequence[int], most: int) -> list[Place]:
        """Places that went as the end of ``tokens`` does, each with another token behind.

        The longest match that there is to a level (``LENGTHS``), the records used last first.

        Args:
            tokens: all of the record so far.
            most: how many are wanted.
        """
        text, wanted, best = self._text, "", -1
        tail = _tail(tokens) if text else ""
        end = len(text) - 1
        for length in LENGTHS:
            longer = tail[-length:]
            if len(longer) == len(wanted):
                break
            at = _next_place(text, longer, end)
            if at < 0:
                break
            best, wanted, end = at, longer, at  # what went alike for longer is not behind it
        return [] if best < 0 else _others(text, wanted, best, most)


def _others(text: str, wanted: str, first: int, most: int) -> list[Place]:
    """A place and earlier ones with other tokens behind."""
    found, looked = {text[first]: first}, 1
    at = first
    while looked < _MOST_LOOKS:
        at = _next_place(text, wanted, at - 1)
        if at < 0:
            break
        looked += 1
        found.setdefault(text[at], at)
    others = DIFFERING if len(found) > 1 else AGREEING if looked > 1 else ALONE
    return [Place(text, at, len(wanted), others) for at in [*found.values()][:most]]


def _next_place(text: str, wanted: str, end: int) -> int:
    """The index behind the last ``wanted`` in front of ``end`` that a record goes on behind; -1: none."""
    for _ in range(_MOST_LOOKS):
        at = text.rfind(wanted, 0, end)
        if at < 0:
            return -1
        if text[at + len(wanted)] != _MARK:
            return at + len(wanted)
        end = at + len(wanted) - 1
    return -1


def _tail(tokens: Sequence[int]) -> str:
    """The last tokens, the mark in front of the first one of all; nothing if no characters stand for them."""
    try:
        tail = _text(tokens[-LENGTHS[-1] :])
    except (ValueError, OverflowError):
        return ""
    return _MARK + tail if len(tail) < LENGTHS[-1] else tail


def _text(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))


def _first_rates() -> _Rates:
    return tuple(tuple(tuple(map(Rate, chances)) for _ in range(3)) for chances in _FIRST_CHANCES)

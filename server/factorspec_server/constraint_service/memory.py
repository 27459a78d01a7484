"""The memory that an engine and its constraint workers share: a file without a name, gone with its processes.

::

    bells   one line of 64 bytes for each worker: [step whose plans are out, step whose rows are out,
            step whose guesses are out, 1 while the engine sleeps until one of them rings, …]
    plans   one block for each record (``plan_words.py``), its first word the question that it answers
    ahead   another one for each (``ahead_words.py``): the plans behind each value of the last choice
    again   another one for each (``guess_words.py``): the same answer with guesses
    rows    for each record ``rows`` mask rows of ``row_words`` words (``tokens/masks.py``)

All words are int32 in the machine's order. Each has one writer: the worker that serves the record, or whose
bells they are; the engine writes whether it sleeps. A block is read only once the bell of its step has rung.
Processors that let words be seen in the order in which they were written (``IS_IN_ORDER``) find that in the
bells' line, and what is ahead or answered again as soon as its question stands there; the others hear bells
through a socket, and wait for them. A record's block goes to another worker only when the first one is dead
or has said that it is done with it.
"""

from __future__ import annotations

import mmap
import os
import platform
import sys
import threading
from array import array
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.errors import EngineError, Problem

#: bells, by their place in a worker's line
PLANS, ROWS, GUESSES = range(3)
#: what one process writes others see in that order
IS_IN_ORDER = platform.machine() in ("x86_64", "AMD64")
_LINE_WORDS = 16
_SLEEPS = 3
_WORD_BYTES = 4
_PAGE_WORDS = 1024
#: words of a plan block beside those that grow with the plan's tokens
_PLAN_WORDS = 2048
_WORDS_PER_TOKEN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Sizes: workers, records, mask rows of a record, words of a row, most tokens of a plan."""

    workers: int
    records: int
    rows: int
    row_words: int
    most_tokens: int

    @property
    def plan_words(self) -> int:
        """Words of a plan block."""
        return _PLAN_WORDS + _WORDS_PER_TOKEN * self.most_tokens

    @property
    def num_bytes(self) -> int:
        """Of the whole; the system gives room only to what is written."""
        per_record = 3 * self.plan_words + self.rows * self.row_words
        return _WORD_BYTES * (self.workers * _LINE_WORDS + self.records * per_record)


class Memory:
    """The blocks.

    Attributes:
        layout: their sizes.
        words: all of it up to the rows, as int32.
        rows: (records, rows, row_words) int32.
    """

    def __init__(self, layout: Layout, fd: int) -> None:
        """Map the file ``fd``, which stays its caller's."""
        self.layout = layout
        self._map = mmap.mmap(fd, layout.num_bytes)
        self._plans_at = layout.workers * _LINE_WORDS
        self._plan_words = layout.plan_words
        self._ahead_at = self._plans_at + layout.records * self._plan_words
        self._again_at = self._ahead_at + layout.records * self._plan_words
        rows_at = self._again_at + layout.records * self._plan_words
        self._view = memoryview(self._map)
        self.words = self._view[: rows_at * _WORD_BYTES].cast("i")
        shape = (layout.records, layout.rows, layout.row_words)
        flat = np.frombuffer(self._map, dtype=np.int32, offset=rows_at * _WORD_BYTES)
        self.rows: NDArray[np.int32] = flat.reshape(shape)
        self._order = threading.Lock()

    @classmethod
    def create(cls, layout: Layout) -> tuple[Self, int]:
        """New memory and its file.

        Raises:
            EngineError: the platform has no such files.
        """
        fd = nameless_file("factorspec-records")
        os.ftruncate(fd, layout.num_bytes)
        return cls(layout, fd), fd

    def plan_at(self, slot: int) -> int:
        """The first word of a record's plan block."""
        return self._plans_at + slot * self._plan_words

    def ahead_at(self, slot: int) -> int:
        """The first word of what is known ahead of a record."""
        return self._ahead_at + slot * self._plan_words

    def again_at(self, slot: int) -> int:
        """The first word of a record's answer with guesses."""
        return self._again_at + slot * self._plan_words

    def publish(self, at: int, question: int, serial: int, rest: array[int]) -> None:
        """Fill a block. Where processors are in order, who sees its question sees what is behind it."""
        words = self.words
        words[at] = 0
        words[at + 2 : at + 2 + len(rest)] = rest
        words[at + 1] = serial
        words[at] = question

    def touch(self, slot: int, rows: int) -> None:
        """Have the system give this process a record's pages, with so many rows: writing to one for the first
        time takes longer. Reads only: the slot may be another worker's by now.
        """
        at = self.plan_at(slot)
        for page in range(at, at + self._plan_words, _PAGE_WORDS):
            self.words[page]
        for row in self.rows[slot, :rows]:
            row[::_PAGE_WORDS].max(initial=0)

    def ring(self, worker: int, which: int, step: int) -> None:
        """Note that the plans, rows or guesses of a step are out."""
        self.words[worker * _LINE_WORDS + which] = step

    def rung(self, worker: int, which: int) -> int:
        """The last step whose plans, rows or guesses are out."""
        return self.words[worker * _LINE_WORDS + which]

    def sleep(self, worker: int, *, sleeps: bool) -> None:
        """Note that the engine sleeps until a bell of this worker's rings, or no longer."""
        self.words[worker * _LINE_WORDS + _SLEEPS] = sleeps
        self._settle()

    def must_wake(self, worker: int) -> bool:
        """True if the engine may sleep: behind ``ring``, whoever sees no sleep is seen to have rung."""
        self._settle()
        return not IS_IN_ORDER or self.words[worker * _LINE_WORDS + _SLEEPS] != 0

    def _settle(self) -> None:
        """What was written is seen by others before anything else is read: taking a lock does that."""
        with self._order:
            pass

    def close(self) -> None:
        """Give the memory back, as far as nobody holds a view of it."""
        self.words.release()
        self._view.release()
        self.rows = np.zeros((0, 0, 0), np.int32)
        self._map.close()


def nameless_file(name: str) -> int:
    """A file in memory that no directory lists; ``name`` stands in the process's own list of files.

    Raises:
        EngineError: the platform has none.
    """
    if sys.platform != "linux":
        problem = Problem(
            "platform", "constraint workers need Linux", sys.platform, "serve without them: workers 0"
        )
        raise EngineError("the constraint service cannot start", [problem])
    return os.memfd_create(name, os.MFD_CLOEXEC)

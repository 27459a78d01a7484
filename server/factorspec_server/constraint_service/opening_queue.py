"""The order in which a worker opens records: those of specs that it knows never wait for compiling.

::

    put ──► arrived ──► known?  yes ──► opened at once            (thread: open_known)
               ▲          no ──► waiting ──► compiled and opened   (thread: compile)
               └── all that wait, after each: their spec may be known now

The engine bounds how many there are.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A record to open: what is said of it, and its document."""

    header: dict[str, Any]
    document: bytes


class OpeningQueue:
    """See above. ``put`` may be called from any thread."""

    def __init__(self, knows: Callable[[bytes], bool], open_one: Callable[[Asked], None]) -> None:
        """``knows``: a document's spec is compiled. ``open_one``: opens a record; tells what goes wrong."""
        self._knows = knows
        self._open_one = open_one
        self._arrived: SimpleQueue[Asked] = SimpleQueue()
        self._waiting: deque[Asked] = deque()
        self._changed = threading.Condition()

    def put(self, asked: Asked) -> None:
        """One more."""
        self._arrived.put(asked)

    def open_known(self) -> None:
        """Sort what arrives, and open what is known; does not return."""
        while True:
            asked = self._arrived.get()
            if self._knows(asked.document):
                self._open_one(asked)
                continue
            with self._changed:
                self._waiting.append(asked)
                self._changed.notify()

    def compile(self) -> None:
        """Open the others, one after the other; does not return."""
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                asked = self._waiting.popleft()
            self._open_one(asked)
            with self._changed:
                others, self._waiting = self._waiting, deque()
            for other in others:
                self._arrived.put(other)

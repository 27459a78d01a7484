"""Places of records in shared memory: taken, given back, waited for."""

from __future__ import annotations

import threading
from time import monotonic

from factorspec_sdk.errors import Overloaded, Problem


class Slots:
    """Numbers 0, 1, … Methods may be called from any thread."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free: list[int] = [*range(count - 1, -1, -1)]
        self._leaving = 0
        self._changed = threading.Condition()

    @property
    def num_free(self) -> int:
        """How many can be taken now."""
        return len(self._free)

    def take(self, until: float) -> int:
        """A free one. Waits for those that are being given back, until a moment of ``monotonic``.

        Raises:
            Overloaded: all are taken.
        """
        with self._changed:
            while not self._free:
                left = until - monotonic()
                if not self._leaving or left <= 0:
                    problem = Problem("records", "all places are taken", str(self._count), "try again later")
                    raise Overloaded("no room for another record", [problem])
                self._changed.wait(left)
            return self._free.pop()

    def leave(self) -> None:
        """One will be given back soon."""
        with self._changed:
            self._leaving += 1

    def give_back(self, slot: int) -> None:
        """It is free, after ``leave``."""
        with self._changed:
            self._leaving -= 1
            self._free.append(slot)
            self._changed.notify()

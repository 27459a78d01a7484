"""Compiled specs, kept by hash: bounded by count and by approximate size, each compiled once.

Values grow while they are used: each is measured anew when it is asked for, which is before that use, and all
are once an eighth as many were asked for as are there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")

#: all values are measured anew after so many uses: the part of their number
_SHARE = 8


@dataclass(frozen=True, slots=True)
class Found(Generic[Value]):
    """A cached value and whether it had been there before."""

    value: Value
    was_cached: bool


class SpecCache(Generic[Value]):
    """Least recently used first out. Every method may be called from any thread.

    Two callers that miss the same key at the same time wait for one making; a failure is raised in both
    and not kept.
    """

    def __init__(self, *, max_entries: int, max_bytes: int, size_of: Callable[[Value], int]) -> None:
        """``size_of``: about what a value takes now, in bytes; cheap."""
        self._size_of = size_of
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._making: dict[Hashable, Future[Value]] = {}
        self._lock = threading.Lock()
        self._uses = 0
        self.num_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Hashable) -> Value | None:
        """The value of ``key`` if it is there."""
        with self._lock:
            return self._used(key)

    def values(self) -> list[Value]:
        """All that are there."""
        with self._lock:
            return [value for value, _ in self._entries.values()]

    def get(self, key: Hashable, make: Callable[[], Value]) -> Found[Value]:
        """The value of ``key``, made now if it is not there. Raises what ``make`` raises.

        Args:
            key: content key.
            make: called outside the lock, at most once at a time for each key.
        """
        with self._lock:
            known = self._used(key)
            if known is not None:
                return Found(known, True)
            pending = self._making.get(key)
            if pending is None:
                made: Future[Value] = Future()
                self._making[key] = made
        if pending is not None:
            return Found(pending.result(), True)
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._making[key]
            made.set_exception(error)
            raise
        with self._lock:
            del self._making[key]
            self._put(key, value)
        made.set_result(value)
        return Found(value, False)

    def _used(self, key: Hashable) -> Value | None:
        """The value of ``key``, measured anew and the last to go."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.num_bytes -= entry[1]
        self._put(key, entry[0])
        return entry[0]

    def _put(self, key: Hashable, value: Value) -> None:
        num_bytes = self._size_of(value)
        self._entries[key] = (value, num_bytes)
        self.num_bytes += num_bytes
        self._uses += 1
        if self._uses * _SHARE >= len(self._entries):
            self._measure()
        while len(self._entries) > self._max_entries or (self.num_bytes > self._max_bytes and self._entries):
            _, (_, dropped) = self._entries.popitem(last=False)
            self.num_bytes -= dropped

    def _measure(self) -> None:
        """Measure all values anew; that takes microseconds each."""
        self._uses = self.num_bytes = 0
        for key, (value, _) in self._entries.items():
            num_bytes = self._size_of(value)
            self._entries[key] = (value, num_bytes)
            self.num_bytes += num_bytes

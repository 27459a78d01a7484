"""The memories of one spec: what records wrote is known only to records of the same salt.

A salt names those who may know of each other's records, as that of a prefix cache names those who may know
of each other's prompts; records without one share a memory of their own. Whoever sends a new salt each time
makes a new memory each time, so there are at most ``MOST_SALTS``, the least recently used out first; the
one without a salt stays.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from factorspec_sdk.decoding.earlier import Earlier

MOST_SALTS = 64


class Memories:
    """See above. Methods may be called from any thread.

    Attributes:
        unsalted: of records without a salt.
    """

    def __init__(self) -> None:
        self.unsalted = Earlier()
        self._lock = threading.Lock()
        self._salted: OrderedDict[str, Earlier] = OrderedDict()

    def __len__(self) -> int:
        """How many salts have a memory."""
        return len(self._salted)

    @property
    def num_bytes(self) -> int:
        """About the memory that they take now, in bytes. Cheap."""
        with self._lock:
            return self.unsalted.num_bytes + sum(each.num_bytes for each in self._salted.values())

    def of(self, salt: str | None) -> Earlier:
        """The memory of a salt, an empty one if there is none; None: of records without one."""
        if salt is None:
            return self.unsalted
        with self._lock:
            earlier = self._salted.pop(salt, None)
            if earlier is None:
                earlier = Earlier()
            self._salted[salt] = earlier
            if len(self._salted) > MOST_SALTS:
                self._salted.popitem(last=False)
        return earlier

    def forget(self) -> None:
        """Forget all records, and what was learnt of them. Who reads a memory now finds it empty."""
        with self._lock:
            for earlier in (self.unsalted, *self._salted.values()):
                earlier.forget()
            self._salted.clear()

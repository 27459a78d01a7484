"""What a constraint service counts of itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

#: upper bounds of the waits that are counted together, in seconds; longer ones come last
WAIT_BOUNDS_S = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0)


@dataclass(frozen=True, slots=True)
class ServiceStats:
    """A snapshot.

    Attributes:
        workers_alive: processes that serve now.
        workers_replaced: that died or were killed since the start, and were started anew.
        nurseries: that were started, the first one included.
        records_open: now.
        records_rebuilt: opened elsewhere since their worker had died.
        asks_waiting: records that were asked about and whose plan nobody has read yet.
        compiles_waiting: records that are being opened.
        waits: how many waits of the step thread took at most so many seconds (``WAIT_BOUNDS_S``, then inf).
        waited_s: seconds of all of them together.
    """

    workers_alive: int
    workers_replaced: int
    nurseries: int
    records_open: int
    records_rebuilt: int
    asks_waiting: int
    compiles_waiting: int
    waits: Mapping[float, int]
    waited_s: float


class Waits:
    """Counts of waits by length; one thread writes.

    Attributes:
        total_s: seconds of all of them together.
        guesses_s: seconds of them in which certain plans were there, and guesses were waited for.
    """

    def __init__(self) -> None:
        self._counts = [0] * (len(WAIT_BOUNDS_S) + 1)
        self.total_s = self.guesses_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a wait."""
        self._counts[bisect_left(WAIT_BOUNDS_S, seconds)] += 1
        self.total_s += seconds

    def counts(self) -> dict[float, int]:
        """How many by upper bound."""
        return dict(zip((*WAIT_BOUNDS_S, float("inf")), self._counts, strict=True))

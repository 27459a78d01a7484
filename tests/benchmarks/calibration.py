"""How fast this machine runs plain Python, so that times of different machines compare."""

import os
import platform
import time
from collections.abc import Callable

REFERENCE_MS = 23.0
REPEATS = 5


def calibrate_ms(clock: Callable[[], float] = time.perf_counter) -> float:
    """Time in ms of a million iterations of ``x += i & 7``, best of five. The reference machine needs 23.

    ``clock``: that by which the figures are taken, in seconds.
    """
    return min(_loop_ms(clock) for _ in range(REPEATS))


def _loop_ms(clock: Callable[[], float]) -> float:
    start = clock()
    x = 0
    for i in range(1_000_000):
        x += i & 7
    return (clock() - start) * 1000


def machine() -> dict[str, str | int]:
    """Facts of this machine that a figure needs beside it."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }

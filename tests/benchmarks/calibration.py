"""How fast this machine runs plain Python, so that times of different machines compare."""

import os
import platform
import time

REFERENCE_MS = 23.0
REPEATS = 5


def calibrate_ms() -> float:
    """Time in ms of a million iterations of ``x += i & 7``, best of five. The reference machine needs 23."""
    return min(_loop_ms() for _ in range(REPEATS))


def _loop_ms() -> float:
    start = time.perf_counter()
    x = 0
    for i in range(1_000_000):
        x += i & 7
    return (time.perf_counter() - start) * 1000


def machine() -> dict[str, str | int]:
    """Facts of this machine that a figure needs beside it."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }

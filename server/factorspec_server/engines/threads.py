"""How many threads a matrix product should use."""

from __future__ import annotations

import os
from pathlib import Path


def num_physical_cores() -> int:
    """Physical cores that this process may use; hardware threads of one core count once."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    return max(1, len({_core(cpu) for cpu in allowed}))


def _core(cpu: int) -> str:
    """A name that the hardware threads of one core share."""
    siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return siblings.read_text(encoding="ascii").strip()
    except OSError:
        return str(cpu)

"""The cores of this machine, and how many threads a matrix product should use."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cores() -> int:
    """Cores that this process may use; each hardware thread counts."""
    return len(_usable())


def num_physical_cores() -> int:
    """Physical cores that this process may use; hardware threads of one core count once."""
    return max(1, len({_core(cpu) for cpu in _usable()}))


def _usable() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _core(cpu: int) -> str:
    """A name that the hardware threads of one core share."""
    siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return siblings.read_text(encoding="ascii").strip()
    except OSError:
        return str(cpu)

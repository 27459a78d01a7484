"""The machine that serves: its GPU and its processors."""

from __future__ import annotations

import os
import subprocess


def machine() -> dict[str, str]:
    """GPU, driver and processors that may be used."""
    return {"gpu": _query("name,driver_version"), "cpus": str(len(os.sched_getaffinity(0)))}


def gpu_memory_mb() -> int | None:
    """MiB in use on the first GPU that servers see; None without a GPU."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    found = _query("memory.used", f"--id={visible}").removesuffix(" MiB")
    return int(found) if found.isdigit() else None


def _query(what: str, *more: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader", *more]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "none"

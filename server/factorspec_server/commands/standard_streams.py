"""Standard input, output and error that whoever started the process has closed."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Lead closed ones to the null device: libraries write to them, and files that are opened later would
    get their numbers, which child processes take for standard streams.
    """
    for fd in range(3):
        _hold(fd)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _hold(fd: int) -> None:
    """See that the number is taken."""
    try:
        os.fstat(fd)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != fd:
            os.dup2(null, fd)
            os.close(null)
        os.set_inheritable(fd, True)

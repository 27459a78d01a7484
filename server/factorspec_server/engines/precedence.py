"""Which thread gets the interpreter's lock first: one that others wait for, before those that work long.

A thread that wants the lock sleeps for the switch interval and then asks the one that has it to let it go.
How much later than that it wakes up is a setting of each thread, the slack of its timers (Linux; elsewhere
nothing is set). So a short interval is one for those that go first alone: they have the lock soon, and the
others do not take it from them in the middle of what they do.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_SET_TIMER_SLACK = 29
_FIRST_NS, _LAST_NS = 1, 1_000_000


def go_first() -> None:
    """This thread has what others wait for."""
    _set_slack(_FIRST_NS)


def go_last() -> None:
    """This thread works for long and can wait, about 1 ms."""
    _set_slack(_LAST_NS)


def _set_slack(nanoseconds: int) -> None:
    if sys.platform == "linux":
        _library().prctl(_SET_TIMER_SLACK, ctypes.c_ulong(nanoseconds), 0, 0, 0)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)

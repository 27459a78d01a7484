"""What is asked of a session while there is time: what follows each value of its next choice.

The plans are of no use themselves; the spec's runs, which its sessions share, keep what was worked out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factorspec_server.drafting.seam import Guess, GuessPolicy, Position

MOST_VALUES = 16
"""A choice among more values is not looked behind."""
AT_ONCE_S = 0.002
"""Longest look behind one choice, in seconds."""


def every_value(position: Position) -> Sequence[Guess]:
    """Every value at the first decision, and nothing behind."""
    if position.free or position.chance < 1.0:
        return ()
    chance = 0.5 / position.allowed.count
    return [Guess(token, chance) for token in position.allowed]


def values_until(is_over: Callable[[], bool]) -> GuessPolicy:
    """Those of ``every_value`` whose runs are worked out by the time that somebody else waits."""

    def guess(position: Position) -> Sequence[Guess]:
        found = []
        for each in every_value(position):
            if is_over():
                break
            position.run(each.token)
            found.append(each)
        return found

    return guess

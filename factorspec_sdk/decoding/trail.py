"""The way that a session has come: where its runs began, and the runs of the last ones.

::

    marks      0   1   2   3   4   5   6   7   8   9      one for each run that the session has entered
    begins     0   12  14  30  31  33  40  41  50  52     where its tokens begin            (all are kept)
    kept       *       *           *       *   *   *      its run: of the last ones, of older ones some

Going back leads to the last kept mark at or before a position; the session writes the rest again from there.
A record of a thousand decisions so holds some dozens of runs, and some bytes for each decision.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.hypotheses import NARROWED
from factorspec_sdk.decoding.report import Origin
from factorspec_sdk.decoding.runs import Run

_MOST_KEPT = 40
_RECENT = 16
_FREE, _NARROWED = 1, 2


class Mark(NamedTuple):
    """A run that begins at ``position``; with a step, a text behind the run that stands there."""

    number: int
    position: int
    run: Run
    step: HoleStep | None


class Trail:
    """The marks of one session; invariant: the last one and the first one are kept."""

    __slots__ = ("_begins", "_certain", "_flags", "_kept")

    def __init__(self) -> None:
        self._begins = array("I")
        self._certain = array("I")
        self._flags = bytearray()
        self._kept: list[Mark] = []

    def copy(self) -> Trail:
        """Another one, for a session that goes its own way from here. O(marks)."""
        twin = Trail()
        twin._begins, twin._certain = self._begins[:], self._certain[:]
        twin._flags, twin._kept = self._flags[:], self._kept[:]
        return twin

    @property
    def last(self) -> Mark | None:
        """The last mark, if there is one."""
        return self._kept[-1] if self._kept else None

    def add(self, position: int, run: Run, step: HoleStep | None = None) -> None:
        """A run begins at ``position``, or the text behind it stands there."""
        self._kept.append(Mark(len(self._begins), position, run, step))
        self._begins.append(position)
        self._certain.append(len(run.tokens) if step is None else 0)
        self._flags.append((_FREE if run.free else 0) | (_NARROWED if NARROWED in run.after else 0))
        if len(self._kept) > _MOST_KEPT:
            self._kept[:-_RECENT] = self._kept[:-_RECENT:2]

    def back_to(self, position: int) -> Mark:
        """Drop what begins behind ``position``, up to a mark that is kept: the last one now."""
        most = bisect_right(self._begins, position)
        while self._kept[-1].number >= most:
            self._kept.pop()
        mark = self._kept[-1]
        del self._begins[mark.number + 1 :], self._certain[mark.number + 1 :]
        del self._flags[mark.number + 1 :]
        return mark

    @property
    def exact(self) -> bool:
        """False if a budget left out something at the end of some run."""
        return not any(flags & _NARROWED for flags in self._flags)

    def end_of_text(self, num_tokens: int) -> int:
        """How many of the tokens there are up to the last one of free text."""
        end = num_tokens
        for at in range(len(self._begins) - 1, -1, -1):
            if self._flags[at] & _FREE and end > self._begins[at] + self._certain[at]:
                return end
            end = self._begins[at]
        return 0

    def origins(self, num_tokens: int) -> Iterator[Origin]:
        """Of each token what brought it in: a run's are certain, those behind it are chosen or text."""
        ends = [*self._begins[1:], num_tokens]
        for begin, certain, flags, end in zip(self._begins, self._certain, self._flags, ends, strict=False):
            certain = min(certain, end - begin)
            yield from repeat("certain", certain)
            yield from repeat("free" if flags & _FREE else "chosen", end - begin - certain)

"""The way that a session has come: where its runs began, and the runs of the last ones.

::

    marks      0   1   2   3   4   5   6 | 7   8   9      one for each run that the session has entered
    begins     0   12  14  30  31  33  40| 41  50  52     where its tokens begin            (all are kept)
    kept       *       *           *     | *   *   *      its run: of the last ones, of older ones some
                                  folded | recent

Going back leads to the last kept mark at or before a position; the session writes the rest again from there.
A record of a thousand decisions so holds some dozens of runs, and some bytes for each decision. A mark costs
a tuple; what else is to be known of it is noted when it is folded, some at a time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import repeat

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.hypotheses import NARROWED
from factorspec_sdk.decoding.report import Origin
from factorspec_sdk.decoding.runs import Run

#: tokens of text between two marks
_TEXT_PER_MARK = 64
_MOST_RECENT = 24
_RECENT = 12
_MOST_KEPT = 12
_FREE, _NARROWED = 1, 2

Mark = tuple[int, Run, HoleStep | None]
"""A run that begins at a position; with a step, a text behind the run that stands there."""


class Trail:
    """The marks of one session; invariant: the last one and the first one are kept."""

    __slots__ = ("_begins", "_certain", "_flags", "_kept", "_recent")

    def __init__(self) -> None:
        self._recent: list[Mark] = []
        # Of those that are folded:
        self._begins = array("I")
        self._certain = array("I")
        self._flags = bytearray()
        self._kept: list[tuple[int, Mark]] = []

    def copy(self) -> Trail:
        """Another one, for a session that goes its own way from here. O(marks)."""
        twin = Trail()
        twin._begins, twin._certain = self._begins[:], self._certain[:]
        twin._flags, twin._kept = self._flags[:], self._kept[:]
        twin._recent = self._recent[:]
        return twin

    @property
    def last(self) -> Mark | None:
        """The last mark, if there is one."""
        if self._recent:
            return self._recent[-1]
        return self._kept[-1][1] if self._kept else None

    def add(self, position: int, run: Run, step: HoleStep | None = None) -> None:
        """A run begins at ``position``, or the text behind it stands there."""
        self._recent.append((position, run, step))
        if len(self._recent) > _MOST_RECENT:
            self._fold()

    def go_on(self, position: int, step: HoleStep) -> None:
        """The text behind the last run stands at ``position``; a mark is left now and then."""
        last = self.last
        if last is not None and position - last[0] >= _TEXT_PER_MARK:
            self.add(position, last[1], step)

    def _fold(self) -> None:
        """Note the older ones of the recent marks, and keep some of their runs."""
        older = self._recent[:-_RECENT]
        del self._recent[:-_RECENT]
        for mark in older:
            self._kept.append((len(self._begins), mark))
            begin, certain, flags = _facts(mark)
            self._begins.append(begin)
            self._certain.append(certain)
            self._flags.append(flags)
        if len(self._kept) > _MOST_KEPT:
            self._kept = self._kept[::2]

    def back_to(self, position: int) -> Mark:
        """Drop what begins behind ``position``, up to a mark that is kept: the last one now."""
        recent = self._recent
        while recent and recent[-1][0] > position:
            recent.pop()
        if recent:
            return recent[-1]
        most = bisect_right(self._begins, position)
        while self._kept[-1][0] >= most:
            self._kept.pop()
        number, mark = self._kept[-1]
        del self._begins[number + 1 :], self._certain[number + 1 :]
        del self._flags[number + 1 :]
        return mark

    def _backwards(self) -> Iterator[tuple[int, int, int]]:
        """Where each mark begins, how many of its tokens are certain, and its flags; the last mark first."""
        yield from map(_facts, reversed(self._recent))
        yield from zip(reversed(self._begins), reversed(self._certain), reversed(self._flags), strict=True)

    @property
    def exact(self) -> bool:
        """False if a budget left out something at the end of some run."""
        return not any(flags & _NARROWED for _, _, flags in self._backwards())

    def end_of_text(self, num_tokens: int) -> int:
        """How many of the tokens there are up to the last one of free text."""
        end = num_tokens
        for begin, certain, flags in self._backwards():
            if flags & _FREE and end > begin + certain:
                return end
            end = begin
        return 0

    def origins(self, num_tokens: int) -> Iterator[Origin]:
        """Of each token what brought it in: a run's are certain, those behind it are chosen or text."""
        marks = [*self._backwards()][::-1]
        ends = [*(begin for begin, _, _ in marks[1:]), num_tokens]
        for (begin, certain, flags), end in zip(marks, ends, strict=False):
            certain = min(certain, end - begin)
            yield from repeat("certain", certain)
            yield from repeat("free" if flags & _FREE else "chosen", end - begin - certain)


def _facts(mark: Mark) -> tuple[int, int, int]:
    position, run, step = mark
    flags = (_FREE if run.free else 0) | (_NARROWED if NARROWED in run.after else 0)
    return position, len(run.tokens) if step is None else 0, flags

"""Runs within a number that no relation reads, made from the number alone.

Plain version: each token leads to hypotheses, what may end there is opened, and the runs that begin or end
alike are found by their keys (``run_tree.py``, which is the reference). Where no relation reads a slot, all
that is known beforehand::

    run     digits, and the exit once the number may end     where any digits may follow a digit, what it
    exit    what follows the number, whatever it is          leads to hangs on how many (``DigitWalk.alike``)

So the exit is opened once for a number, a run costs a look at the values, and all digits behind which records
go on alike get it at once.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from factorspec_sdk.decoding.hypotheses import NumberStep, Opening, RowWalk
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.runs import Run
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.tokens import Allowed

_MAX_EXITS = 256
_MAX_ALLOWED = 1 << 10


class Exit(NamedTuple):
    """What follows a number.

    Attributes:
        at: the place behind the number.
        run: the empty run there, its hypotheses are rows of tables.
        ids: the tokens by which it goes on.
    """

    at: Opening
    run: Run
    ids: frozenset[int]


class Behind(NamedTuple):
    """What a token of a number leads to.

    Attributes:
        key: equal keys mean equal runs.
        step: the number behind the token; None: it ends there.
        ends: it may end there.
        alike: the tokens that lead to the same.
    """

    key: Hashable
    step: NumberStep | None
    ends: bool
    alike: frozenset[int]


class NumberRuns:
    """Makes the runs of one program. Keeps exits and what is allowed (bounded); threads may share it."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._exits: dict[Opening, Exit | None] = {}
        self._allowed: dict[tuple[frozenset[int], frozenset[int]], Allowed] = {}

    def exit_of(self, run: Run) -> Exit | None:
        """What follows the number that a run ends in; None if it is not for this module.

        It is if no relation reads the number, and the run goes on by its digits and the exit alone.
        """
        step = run.after[0]
        if not isinstance(step, NumberStep):
            return None
        feasibility, at, site = step.source
        if site.slot is None or feasibility.reads(site.slot) or type(step.feasible) is not IndexSet:
            return None
        found = self._exit(Opening(at.state, step.next_pc, step.walk.closing))
        if found is None or run.after[1:] not in ((), found.run.after):
            return None
        return found

    def behind(self, step: NumberStep, token: int, after: Exit) -> Behind | None:
        """What a token leads to by which the number goes on; None if that is not for this module."""
        walk, begun, values, feasible, source, next_pc, next_ids, lengths = step
        number = walk.advance(begun, token)
        if number is None or not next_ids.isdisjoint(after.ids):
            return None
        told = walk.alike(begun, values, token, lengths)
        key: Hashable
        if told is not None:
            lengths = told.lengths
            key = lengths
            ids, ends, alike = walk.any_digit(lengths), 0 in lengths, told.tokens
        else:
            key, alike, lengths = (walk, number, source.at.pc), frozenset((token,)), None
            ids, ends = frozenset(walk.allowed(number, values)), self._may_end(step, walk.value(number))
        on = NumberStep(walk, number, values, feasible, source, next_pc, ids, lengths) if ids else None
        return Behind((key, source.at.state, next_pc), on, ends, alike)

    def run_of(self, step: NumberStep, after: Exit | None) -> Run:
        """The run where a number goes on; ``after``: it may end too, and what follows."""
        if after is None:
            return Run((), (step,), self._union(step.next_ids, frozenset()), free=False, complete=False)
        allowed = self._union(step.next_ids, after.ids)
        return Run((), (step, *after.run.after), allowed, free=False, complete=False)

    def forget(self) -> None:
        """Begin anew."""
        self._exits.clear()
        self._allowed.clear()

    def _may_end(self, step: NumberStep, value: int | None) -> bool:
        index = None if value is None else step.index_of(value)
        return index is not None and index in step.feasible

    def _exit(self, at: Opening) -> Exit | None:
        if at in self._exits:
            return self._exits.get(at)
        known = None
        hypotheses = self._opener.close([at])
        if hypotheses and all(isinstance(each, RowWalk) for each in hypotheses):
            ids = frozenset(token for each in hypotheses for token in each.ids())
            known = Exit(at, Run((), hypotheses, Allowed.of(ids), free=False, complete=False), ids)
        if len(self._exits) >= _MAX_EXITS:
            self.forget()
        self._exits[at] = known
        return known

    def _union(self, ids: frozenset[int], more: frozenset[int]) -> Allowed:
        key = (ids, more)
        known = self._allowed.get(key)
        if known is None:
            if len(self._allowed) >= _MAX_ALLOWED:
                self._allowed.clear()
            known = self._allowed[key] = Allowed.of(ids | more)
        return known

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
from factorspec_sdk.decoding.runs import Exit, Run
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.tokens import Allowed, NumberState

_MAX_EXITS = 256
_MAX_ALLOWED = 1 << 10
_NO_IDS: frozenset[int] = frozenset()


class Behind(NamedTuple):
    """What a token of a number leads to.

    Attributes:
        key: equal keys mean equal runs.
        lengths: how many digits may follow, if any digits may; None: that is not known.
        alike: the tokens that lead to the same.
    """

    key: Hashable
    lengths: frozenset[int] | None
    alike: frozenset[int]


class Keyed(NamedTuple):
    """A run and its key."""

    key: Hashable
    run: Run


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
        if run.exit is not None:
            return run.exit
        step = run.after[0]
        if not isinstance(step, NumberStep):
            return None
        feasibility, at, site = step.source
        if site.slot is None or feasibility.reads(site.slot) or type(step.feasible) is not IndexSet:
            return None
        found = self._exit(Opening(at.state, step.next_pc, step.walk.closing))
        if found is None or run.after[1:] not in ((), found.run.after):
            return None
        if not step.next_ids.isdisjoint(found.ids):
            return None
        run.exit = found
        return found

    def behind(self, step: NumberStep, token: int) -> Behind:
        """What a token leads to by which the number goes on."""
        walk, begun, values, _, source, next_pc, _, lengths = step
        at = source.at
        told = walk.alike(begun, values, token, lengths)
        if told is not None:
            return Behind((told.lengths, at.state, next_pc), told.lengths, told.tokens)
        return Behind((walk, begun, token, at.state, at.pc), None, frozenset((token,)))

    def run_of(self, step: NumberStep, token: int, after: Exit) -> Run | None:
        """The run where a number goes on behind a token, and may end too; None: it ends there."""
        walk, begun, values, feasible, source, next_pc, _, _ = step
        number = walk.advance(begun, token)
        assert number is not None, "the token goes on with the number"
        ids = frozenset(walk.allowed(number, values))
        if not ids:
            return None
        on = NumberStep(walk, number, values, feasible, source, next_pc, ids)
        return self._run(on, self._may_end(step, walk.value(number)), after)

    def chain(self, step: NumberStep, token: int, lengths: frozenset[int], after: Exit) -> list[Keyed]:
        """The runs behind a token and then any digits, with their keys, up to the longest number.

        ``lengths``: how many digits may follow the token, whatever they are.
        """
        walk, begun, values, feasible, source, next_pc, _, _ = step
        number: NumberState | None = begun
        made: list[Keyed] = []
        ids = walk.any_digit(lengths)
        while ids:
            assert number is not None, "any digits may follow"
            number = walk.advance(number, token)
            assert number is not None, "any digits may follow"
            on = NumberStep(walk, number, values, feasible, source, next_pc, ids, lengths)
            made.append(Keyed((lengths, source.at.state, next_pc), self._run(on, 0 in lengths, after)))
            token, lengths = next(iter(ids)), walk.shorter(lengths)
            ids = walk.any_digit(lengths)
        return made

    def _run(self, step: NumberStep, ends: bool, after: Exit) -> Run:
        ids = step.next_ids
        is_alone = after.ids.isdisjoint(ids)
        if not ends:
            allowed = self._union(ids, _NO_IDS)
            return Run((), (step,), allowed, False, False, exit=after if is_alone else None)
        hypotheses, allowed = (step, *after.run.after), self._union(ids, after.ids)
        if not is_alone:
            return Run((), hypotheses, allowed, False, False)
        return Run((), hypotheses, allowed, False, False, children={**after.run.children}, exit=after)

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
            known = Exit(Run((), hypotheses, Allowed.of(ids), free=False, complete=False), ids)
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

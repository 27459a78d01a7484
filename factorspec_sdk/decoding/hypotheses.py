"""Hypotheses: what the tokens written so far may be the beginning of.

A session is a set of hypotheses, nearly always one. Each is immutable; a committed token makes new ones::

    RowWalk      rows lo..hi of a table of candidates' certain tokens; their first ``depth`` are written
    NumberStep   a number, date or time of a wide range, part way through its digits
    HoleStep     free text, part way through (holes.py)
    Done         the record is complete

*Closing*. A candidate whose certain tokens are all written must be opened (its next decision, with what is
held back) before the mask is read, since another candidate may go on. So ``split`` gives, for one hypothesis,
what is left of it and what must be opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from factorspec_sdk.decoding.layout import Site
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.feasibility import Feasibility, State
from factorspec_sdk.tokens import DigitWalk, Held, NumberState, RowTable, SteppedValues
from factorspec_sdk.tokens.masks import Row


class Opening(NamedTuple):
    """A place of the program that is reached: ``offset`` characters of its literal are written already."""

    state: State
    pc: int
    held: Held
    offset: int = 0


class Hypothesis(Protocol):
    """One way to read the tokens written so far."""

    @property
    def free(self) -> bool:
        """Free text may go on."""

    @property
    def row(self) -> Row | None:
        """Allowed tokens as a packed row, or None if ``ids`` are all."""

    def ids(self) -> Sequence[int] | frozenset[int]:
        """Allowed tokens (beside those of ``row``), in any order."""

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """What the hypothesis becomes when ``token`` is written; nothing if it ends there."""

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """What goes on by a token, and what must be opened now."""


class Source(NamedTuple):
    """Where a candidate comes from, so that its exit can be found."""

    feasibility: Feasibility
    at: Opening
    site: Site

    def exit(self, index: int, held: Held) -> Opening:
        """The place after a candidate."""
        slot, state = self.site.slot, self.at.state
        if slot is not None:
            state = self.feasibility.assign(state, slot, index)
        part = self.site.part(index)
        return Opening(state, part.pc, held, part.offset)


class RowWalk(NamedTuple):
    """Rows ``lo`` to ``hi`` (exclusive) of a table; ``depth`` of their tokens are written."""

    table: RowTable
    lo: int
    hi: int
    depth: int
    source: Source

    @property
    def free(self) -> bool:
        """Never free text."""
        return False

    @property
    def row(self) -> Row | None:
        """Never a packed row."""
        return None

    def ids(self) -> Sequence[int]:
        """The distinct tokens at ``depth``."""
        return self.table.distinct(self.lo, self.hi, self.depth)

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """The rows that have this token."""
        lo, hi = self.table.narrow(self.lo, self.hi, self.depth, token)
        if lo < hi:
            yield RowWalk(self.table, lo, hi, self.depth + 1, self.source)

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """Rows that end here are opened."""
        table, lo, hi, depth, source = self
        if len(table.rows[lo]) > depth:
            return self, ()
        end = table.ending(lo, hi, depth)
        openings = [source.exit(table.order[at], table.helds[at]) for at in range(lo, end)]
        return (RowWalk(table, end, hi, depth, source) if end < hi else None), openings

    def shared(self) -> Sequence[int]:
        """The tokens that all rows share from ``depth`` on. Rows are sorted: the first and the last tell."""
        first = self.table.rows[self.lo]
        if self.hi - self.lo == 1:
            return first[self.depth :]
        last = self.table.rows[self.hi - 1]
        at, end = self.depth, min(len(first), len(last))
        while at < end and first[at] == last[at]:
            at += 1
        return first[self.depth : at]


class NumberStep(NamedTuple):
    """A number, date or time part way through; ``feasible`` are the indices that lead to a valid record.

    Where it does not matter which digits follow, ``lengths`` are how many may (``DigitWalk.lengths``).
    """

    walk: DigitWalk
    number: NumberState
    values: SteppedValues
    feasible: IndexSet
    source: Source
    next_pc: int
    next_ids: frozenset[int]
    lengths: frozenset[int] | None = None

    @property
    def free(self) -> bool:
        """Never free text."""
        return False

    @property
    def row(self) -> Row | None:
        """Never a packed row."""
        return None

    def ids(self) -> frozenset[int]:
        """The tokens by which some feasible number goes on."""
        return self.next_ids

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """One token further into the digits."""
        if token not in self.next_ids:
            return
        walk, _, values, feasible, source, next_pc, _, lengths = self
        number = walk.advance(self.number, token)
        assert number is not None
        lengths = walk.lengths(number, values) if lengths is None else walk.shorter(lengths)
        ids = frozenset(walk.allowed(number, values)) if lengths is None else walk.any_digit(lengths)
        yield NumberStep(walk, number, values, feasible, source, next_pc, ids, lengths)
        if not self.feasible.complete:
            yield NARROWED

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """A number that may end here is opened; the hypothesis goes on if longer numbers are feasible."""
        value = self.walk.value(self.number)
        index = None if value is None else self.index_of(value)
        openings: list[Opening] = []
        if index is not None and index in self.feasible:
            openings.append(self.exit(index))
        return (self if self.next_ids else None), openings

    def index_of(self, value: int) -> int | None:
        """The index of a value by its code."""
        stride = self.source.site.stride
        assert stride is not None
        return stride.index_of_code(value)

    def exit(self, index: int) -> Opening:
        """The place after a value: unlike a row, the digits do not hold the literal that follows."""
        feasibility, at, site = self.source
        assert site.slot is not None
        return Opening(feasibility.assign(at.state, site.slot, index), self.next_pc, self.walk.closing)


class Done(NamedTuple):
    """The record is complete: nothing more may be written."""

    @property
    def free(self) -> bool:
        """Never free text."""
        return False

    @property
    def row(self) -> Row | None:
        """Never a packed row."""
        return None

    def ids(self) -> Sequence[int]:
        """None."""
        return ()

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """Nothing."""
        return iter(())

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """Stays."""
        return self, ()


DONE = Done()


class Narrowed(NamedTuple):
    """A mark beside the hypotheses: a budget left some out, so that the masks are subsets from here on."""

    note: str = "narrowed"

    @property
    def free(self) -> bool:
        """Never free text."""
        return False

    @property
    def row(self) -> Row | None:
        """Never a packed row."""
        return None

    def ids(self) -> Sequence[int]:
        """None."""
        return ()

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """Stays."""
        yield self

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """Stays."""
        return self, ()


NARROWED = Narrowed()

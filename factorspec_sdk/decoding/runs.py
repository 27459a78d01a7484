"""Certain runs, and the masks of a set of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.hypotheses import DONE, Hypothesis, NumberStep, Opening, RowWalk
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.plan import Plan
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row

Hypotheses = tuple[Hypothesis, ...]
_NO_TOKENS = Allowed.of(())


@dataclass(slots=True, eq=False)
class Run:
    """A certain run and what comes after it. Shared by sessions; immutable but for what is remembered.

    Attributes:
        tokens: the certain tokens, up to the first position where the model decides, or to the end of the
            record.
        after: the hypotheses there; ``DONE`` if the record is complete.
        allowed: the tokens allowed there; none if it is complete.
        free: free text may go on there.
        complete: the record is complete after the run.
        text: the text that may go on there, where it is all there is and a token either goes on with it or
            closes it.
        shared: the run whose end is the same, without a token limit; None: this one.
        children: remembered runs, by the token chosen after this one (``run_tree.py``).
        ample: remembered: with so many tokens left after the run no limit leaves out anything there.
        plan: remembered: what a session at the beginning of the run plans without guesses.
        exit: remembered: the run ends in a number, and this follows it.
    """

    tokens: tuple[int, ...]
    after: Hypotheses
    allowed: Allowed
    free: bool
    complete: bool
    text: HoleStep | None = None
    shared: Run | None = None
    children: dict[int, Run] = field(default_factory=dict)
    ample: int | None = None
    plan: Plan | None = None
    exit: Exit | None = None

    @property
    def num_bytes(self) -> int:
        """About the memory that the run takes by itself, in bytes: tables and free texts' rows are shared."""
        ids = 0 if self.free else self.allowed.count
        return _BYTES + _BYTES_OF_TOKEN * len(self.tokens) + _BYTES_OF_ID * ids + _BYTES * len(self.after)


class Exit(NamedTuple):
    """What follows a number that no relation reads (``number_runs.py``).

    Attributes:
        run: the empty run there, its hypotheses are rows of tables.
        ids: the tokens by which it goes on; none is a digit of the number.
    """

    run: Run
    ids: frozenset[int]


_BYTES = 640
_BYTES_OF_TOKEN = 48
_BYTES_OF_ID = 64


def allowed_tokens(hypotheses: Hypotheses) -> Allowed:
    """All tokens by which some hypothesis goes on."""
    if len(hypotheses) == 1:
        only = hypotheses[0]
        return only.allowed() if isinstance(only, HoleStep) else Allowed.of(only.ids())
    ids: set[int] = set()
    rows: list[Row] = []
    for hypothesis in hypotheses:
        ids.update(hypothesis.ids())
        row = hypothesis.row
        if row is not None:
            rows.append(row)
    return union_of(ids, rows)


def union_of(ids: set[int], rows: Sequence[Row]) -> Allowed:
    """The given ids and the tokens of the given packed rows."""
    if not rows:
        return Allowed.of(ids)
    whole = rows[0]
    for row in rows[1:]:
        whole = whole | row
    return Allowed.from_row(whole, ids)


def run_from(opener: Opener, pending: list[Hypothesis | Opening]) -> Run:
    """The certain run from here. Does not change anything.

    While one thing is left, what is certain is taken at once: from a place as far as decisions have one
    value, in a table as far as its rows are the same.
    """
    tokens: list[int] = []
    while True:
        if len(pending) == 1 and isinstance(pending[0], Opening):
            forced = opener.forced(pending[0])
            tokens += forced.tokens
            pending = opener.open(forced.at, forced.feasible)
        taken = _taken(pending[0]) if len(pending) == 1 else None
        if taken is not None:
            tokens += taken.tokens
            pending = taken.pending
            continue
        hypotheses = opener.close(pending)
        if hypotheses and hypotheses[0] is DONE:
            return Run(tuple(tokens), hypotheses, _NO_TOKENS, free=False, complete=True)
        allowed = allowed_tokens(hypotheses)
        token = allowed.only()
        if token is None:
            free = any(hypothesis.free for hypothesis in hypotheses)
            return Run(tuple(tokens), hypotheses, allowed, free, complete=False, text=_only_text(hypotheses))
        tokens.append(token)
        pending = [after for hypothesis in hypotheses for after in hypothesis.advance(token)]


class _Taken(NamedTuple):
    tokens: Sequence[int]
    pending: list[Hypothesis | Opening]


def _taken(only: Hypothesis | Opening) -> _Taken | None:
    """The certain tokens of all that is left, where they are at hand, and what is left behind them."""
    if isinstance(only, RowWalk):
        shared = only.shared()
        if only.hi - only.lo == 1:
            return _Taken(shared, [only.source.exit(only.table.order[only.lo], only.table.helds[only.lo])])
        return _Taken(shared, [only._replace(depth=only.depth + len(shared))]) if shared else None
    if isinstance(only, NumberStep) and only.number.negative is None and len(only.next_ids) == 1:
        token = next(iter(only.next_ids))
        return _Taken((token,), [*only.advance(token)])
    return None


def run_in_text(step: HoleStep) -> Run:
    """The empty run where a text stands."""
    return Run((), (step,), step.allowed(), free=True, complete=False)


def _only_text(hypotheses: Hypotheses) -> HoleStep | None:
    if len(hypotheses) != 1 or not isinstance(hypotheses[0], HoleStep):
        return None
    step = hypotheses[0]
    return None if step.prefix else step

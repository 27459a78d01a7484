"""Masks and certain runs of a set of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.hypotheses import DONE, Hypothesis, RowWalk
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row

Hypotheses = tuple[Hypothesis, ...]
_NO_TOKENS = Allowed.of(())


@dataclass(frozen=True, slots=True)
class Run:
    """A certain run and what comes after it.

    Attributes:
        tokens: the certain tokens, up to the first position where the model decides, or to the end of the
        record.
        after: the hypotheses there; ``DONE`` if the record is complete.
        allowed: the tokens allowed there; none if it is complete.
        free: free text may go on there.
    """

    tokens: Sequence[int]
    after: Hypotheses
    allowed: Allowed
    free: bool

    @property
    def complete(self) -> bool:
        """True if the record is complete after the run."""
        return is_complete(self.after)


class Narrowing(Protocol):
    """Leaves out tokens, by position (the token limit)."""

    def allowed(self, hypotheses: Hypotheses, tokens: Sequence[int]) -> Allowed | None:
        """The allowed tokens after ``tokens``, all tokens of the record so far; None if none is left out."""


def is_complete(hypotheses: Hypotheses) -> bool:
    """True if the record is complete."""
    return bool(hypotheses) and hypotheses[0] is DONE


def allowed_tokens(hypotheses: Hypotheses) -> Allowed:
    """All tokens by which some hypothesis goes on."""
    if len(hypotheses) == 1 and isinstance(hypotheses[0], HoleStep):
        return hypotheses[0].allowed()
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


def run_from(
    opener: Opener, hypotheses: Hypotheses, before: Sequence[int], narrowing: Narrowing | None
) -> Run:
    """The certain run from here, after the tokens ``before``. Does not change anything.

    While all that is left is in one table, the tokens that its rows share are taken at once.
    """
    tokens: list[int] = []
    while not is_complete(hypotheses):
        if len(hypotheses) == 1 and isinstance(hypotheses[0], RowWalk):
            walk = hypotheses[0]
            shared = walk.shared()
            if shared:
                tokens += shared
                hypotheses = opener.close([walk._replace(depth=walk.depth + len(shared))])
                continue
        allowed = None if narrowing is None else narrowing.allowed(hypotheses, [*before, *tokens])
        if allowed is None:
            allowed = allowed_tokens(hypotheses)
        if allowed.count != 1:
            return Run(tokens, hypotheses, allowed, any(hypothesis.free for hypothesis in hypotheses))
        token = int(allowed.ids()[0])
        tokens.append(token)
        hypotheses = opener.advance(hypotheses, token)
    return Run(tokens, hypotheses, _NO_TOKENS, free=False)

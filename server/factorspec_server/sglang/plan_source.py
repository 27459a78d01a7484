"""Where a step gets its chains and mask rows: one small interface, whoever works them out.

The worker asks for the chains of all constrained requests of a step before the forward pass, and for the mask
rows of their decisions while the pass runs. ``LocalPlans`` answers in the process that asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens.masks import Row
from factorspec_server.drafting import DraftingPolicy, Session
from factorspec_server.engines.errors import SessionRefused, SessionStalled
from factorspec_server.sglang.chains import Chain, Decision, chain_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that wants a chain.

    Attributes:
        session: of its record, up to date with all tokens that stand.
        policy: what to draft.
        end_token: what is written behind the complete record.
        most: most tokens of the chain.
    """

    session: Session
    policy: DraftingPolicy
    end_token: int
    most: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A request whose session cannot go on, and why."""

    error: FactorspecError


class PlanSource(Protocol):
    """Works out chains and rows of requests; knows nothing of engines and batches."""

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """A chain for each request, in order. One that fails leaves the others alone; nothing is raised."""

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> None:
        """Write the mask row of each decision: (words,) int32, words as many as the engine's vocabulary has.

        A row never ends up empty: a decision that says nothing of its mask is not given here, and what a
        session allows is at least one token.
        """


class LocalPlans:
    """Works them out at once, on the thread that asks.

    Args:
        row_words: words of a row of the sessions' vocabulary; an engine's rows may be wider.
    """

    def __init__(self, row_words: int) -> None:
        self._row_words = row_words

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """See ``PlanSource``."""
        return [_chain(request) for request in asked]

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> None:
        """See ``PlanSource``."""
        for row, decision in wanted:
            assert decision.allowed is not None, "the request's own mask is not ours to write"
            decision.allowed.write_row(row[: self._row_words])
            row[self._row_words :] = 0


def _chain(request: Asked) -> Chain | Failed:
    try:
        if request.session.state == "complete":
            return Chain((), (), request.end_token)
        if request.session.state == "refused":
            raise SessionRefused("the session refused a token that it had allowed")
        chain = chain_of(request.policy.plan(request.session), request.end_token).cut(request.most)
        if any(decision.allowed is not None and not decision.allowed.count for decision in chain.decisions):
            raise SessionStalled("the session is open but allows no token")
        return chain
    except FactorspecError as error:
        return Failed(error)

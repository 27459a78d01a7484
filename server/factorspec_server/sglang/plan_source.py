"""Where a step gets its chains and mask rows: one small interface, whoever works them out.

The worker asks for the chains of all constrained requests of a step before the forward pass, and for the mask
rows of their decisions while the pass runs. Then it gives away what is left of the pass: what follows each
value that the model may choose can be worked out ahead. As soon as a step's tokens are known it says so: who
works elsewhere can begin then. ``LocalPlans`` answers in the process that asks, ``ServicePlans``
(``service_plans.py``) has workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple, Protocol

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens.masks import Row
from factorspec_server.drafting import Certain, Plan, Session
from factorspec_server.drafting.looking import AT_ONCE_S, MOST_VALUES, every_value
from factorspec_server.engines.errors import SessionRefused, SessionStalled, failure_of
from factorspec_server.sglang.chains import Chain, Decision, chain_of
from factorspec_server.sglang.policies import Policies

#: guesses of one step may take so many seconds together
_GUESS_S = 0.02
#: a look of more seconds is a long one, and so many steps pass without any then
_SLOW_S, _REST_STEPS = 0.006, 50


class Asked(NamedTuple):
    """A request that wants a chain.

    Attributes:
        session: of its record, up to date with all tokens that stand.
        prompt: of the request, in tokens; the same each time.
        end_token: what is written behind the complete record.
        most: most tokens of the chain.
        guesses: the chain may hold guesses.
        branches: and branches.
    """

    session: Session
    prompt: Sequence[int]
    end_token: int
    most: int
    guesses: bool = False
    branches: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A request whose session cannot go on, and why."""

    error: FactorspecError


class PlanSource(Protocol):
    """Works out chains and rows of requests; knows nothing of engines and batches."""

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """A chain for each request, in order. One that fails leaves the others alone; nothing is raised."""

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> Sequence[Failed | None]:
        """Write the mask row of each decision: (words,) int32, words as many as the engine's vocabulary has.

        A row never ends up empty: a decision that says nothing of its mask is not given here, and what a
        session allows is at least one token.

        Returns:
            For each decision what went wrong, its row is whatever it is then; nothing is raised.
        """

    def tokens_stand(self, sessions: Sequence[Session], /) -> None:
        """Tokens were written to these sessions, whose chains will be asked for unless their requests end."""

    @property
    def waited_s(self) -> float:
        """Seconds that calls have stood waiting for others, all together."""

    @property
    def waited_for_certain_s(self) -> float:
        """Seconds of these that are paid whether or not anything is guessed, as far as that is known."""

    def look_ahead(self, is_over: Callable[[], bool], /) -> None:
        """Work out what the next chains may need, until time is over. Changes how fast they come, no more."""


class LocalPlans:
    """Works them out at once, on the thread that asks.

    Args:
        row_words: words of a row of the sessions' vocabulary; an engine's rows may be wider.
        policies: what to draft; None: what is certain.
        trees: what to draft where there may be branches; None: the same.
    """

    def __init__(
        self, row_words: int, policies: Policies | None = None, trees: Policies | None = None
    ) -> None:
        self._row_words = row_words
        self._policies = Policies(lambda session, prompt: Certain()) if policies is None else policies
        self._trees = self._policies if trees is None else trees
        self._choosing: list[tuple[int, Session]] = []
        self._resting = 0

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """See ``PlanSource``. Once guesses have taken long together, the others of the step have none."""
        until_s = perf_counter() + _GUESS_S
        found = [self._chain(request, until_s) for request in asked]
        self._choosing = [
            (chain.decisions[0].allowed.count, request.session)
            for request, chain in zip(asked, found, strict=True)
            if isinstance(chain, Chain) and chain.decisions and chain.decisions[0].allowed is not None
        ]
        return found

    def _chain(self, request: Asked, until_s: float) -> Chain | Failed:
        session, policy = request.session, self._policies.resting
        try:
            if session.state == "complete":
                return Chain((), (), request.end_token)
            if session.state == "refused":
                raise SessionRefused("the session refused a token that it had allowed")
            if request.guesses and perf_counter() < until_s:
                policies = self._trees if request.branches else self._policies
                policy = policies.of(session, request.prompt)
            return drafted_chain(policy.plan(session), request)
        except Exception as error:  # noqa: BLE001 - one request's session must not end the server
            return Failed(failure_of(error))

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> Sequence[Failed | None]:
        """See ``PlanSource``."""
        return [write_row(row, decision, self._row_words) for row, decision in wanted]

    def tokens_stand(self, sessions: Sequence[Session], /) -> None:
        """See ``PlanSource``. There is no time to gain."""

    @property
    def waited_s(self) -> float:
        """Nobody else works: 0."""
        return 0.0

    @property
    def waited_for_certain_s(self) -> float:
        """See above."""
        return 0.0

    def look_ahead(self, is_over: Callable[[], bool], /) -> None:
        """See ``PlanSource``. Sessions with few values to choose from come first; decoders keep the runs.

        What is asked of an oracle cannot be broken off. Where one look takes long, none is taken for a while:
        its kind is dear to look at, or other threads need the time.
        """
        if self._resting:
            self._resting -= 1
            self._choosing = []
        for count, session in sorted(self._choosing, key=lambda choosing: choosing[0]):
            if count > MOST_VALUES or is_over():
                break
            began_s = perf_counter()
            try:
                session.plan(guesses=every_value, until_s=perf_counter() + AT_ONCE_S)
            except Exception:  # noqa: BLE001
                continue  # the session says so itself when its turn comes
            if perf_counter() - began_s > _SLOW_S:
                self._resting = _REST_STEPS
                break
        self._choosing = []


def drafted_chain(plan: Plan, request: Asked) -> Chain:
    """The chain of a request's plan.

    Raises:
        SessionStalled: a decision of it allows nothing.
    """
    chain = chain_of(plan, request.end_token).cut(request.most)
    for entry in chain.entries:
        for decision in entry.decisions:
            if decision.allowed is not None and not decision.allowed.count:
                raise SessionStalled("the session is open but allows no token")
    return chain


def write_row(row: Row, decision: Decision, row_words: int) -> Failed | None:
    """Write a decision's row, and zeros behind the words that the session's vocabulary has."""
    assert decision.allowed is not None, "the request's own mask is not ours to write"
    try:
        decision.allowed.write_row(row[:row_words])
    except Exception as error:  # noqa: BLE001 - one request's session must not end the server
        return Failed(failure_of(error))
    row[row_words:] = 0
    return None

"""Which chain each request of a running batch gets.

A request takes one token a step, as without speculation, where more would change its answer or where nothing
is known: without a constraint of ours, with logprobs (they want logits at every token), with penalties (they
count every token before the next is drawn), while it thinks. A request whose session cannot go on is ended
alone, with the reason.

SGLang looks whether a record is complete, or its limit reached, before it looks for stop strings: where there
are such, what ends the answer in any case has a step of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from factorspec_sdk.errors import FactorspecError
from factorspec_server.drafting import Session
from factorspec_server.engines.errors import failure_of
from factorspec_server.sglang.chains import ONE_TOKEN, Chain
from factorspec_server.sglang.plan_source import Asked, Failed, PlanSource


class Drafted(Protocol):
    """What a request's grammar object offers, if it is one of ours and writes its record now."""

    @property
    def session(self) -> Session:
        """Up to date with all tokens that stand."""

    @property
    def error(self) -> FactorspecError | None:
        """Why the record cannot go on, where that is known already."""

    def expect(self, token_ids: tuple[int, ...], /) -> None:
        """Tokens that this step may bring, one by one: certain ones, and guesses that are allowed."""

    def fail(self, error: FactorspecError, /) -> None:
        """The record cannot go on, unless its request has ended already."""

    @property
    def end_id(self) -> int:
        """What is written behind the complete record."""


_logger = logging.getLogger(__name__)

DraftedOf = Callable[[Any], Drafted | None]
"""The grammar object of a request, if it can be drafted now."""

Fail = Callable[[Any, str], None]
"""End a request with a reason, unless it has ended already with what was written before."""


class BatchChains:
    """Asks a plan source for the chains of a batch.

    Args:
        plans: works them out.
        drafted_of: tells which grammar objects are ours.
        fail: ends a request.
        fail_between: the same between two steps; None: as in them.
    """

    def __init__(
        self, plans: PlanSource, drafted_of: DraftedOf, fail: Fail, fail_between: Fail | None = None
    ) -> None:
        self._plans = plans
        self._drafted_of = drafted_of
        self._fail = fail
        self._fail_between = fail if fail_between is None else fail_between

    def of(
        self,
        requests: Sequence[Any],
        rooms: Sequence[int],
        *,
        guesses: bool = False,
        branches: bool = False,
    ) -> list[Chain]:
        """The chain of each request.

        Args:
            requests: as SGLang has them.
            rooms: of each, the most tokens that its chain may have.
            guesses: chains may hold guesses.
            branches: and branches.
        """
        chains = [ONE_TOKEN] * len(requests)
        drafted: list[tuple[int, Drafted]] = []
        asked: list[Asked] = []
        drafted_of = self._drafted_of
        for place, (request, room) in enumerate(zip(requests, rooms, strict=True)):
            grammar = None if is_free(request) else drafted_of(request.grammar)
            if grammar is not None and grammar.error is not None:
                self._end(request, grammar, grammar.error)
            elif grammar is not None:
                most = 0 if not room or takes_one_token(request) else room
                try:
                    session, end = grammar.session, grammar.end_id
                    may = guesses and most > 0
                    asked.append(Asked(session, request.origin_input_ids, end, most, may, branches and may))
                    drafted.append((place, grammar))
                except Exception as error:  # noqa: BLE001 - what it has to write first does not go
                    self._end(request, grammar, failure_of(error))
        for (place, grammar), found in zip(drafted, self._plans.chains(asked), strict=True):
            if isinstance(found, Failed):
                self._end(requests[place], grammar, found.error)
                continue
            if found.then is None and not found.branches:
                chain = found
            else:
                chain = _without_end(found, grammar.end_id) if may_stop(requests[place]) else found
            grammar.expect(chain.tokens)
            chains[place] = chain
        return chains

    @property
    def waited_for_certain_s(self) -> float:
        """As ``PlanSource`` says."""
        return self._plans.waited_for_certain_s

    def tokens_stand(self, requests: Sequence[Any]) -> None:
        """Tokens were written to the records of these requests: what comes next may be worked out now.

        Those that end meanwhile were worked out in vain, no more: nothing is written here.
        """
        sessions: list[Session] = []
        for request in requests:
            grammar = None if is_free(request) else self._drafted_of(request.grammar)
            if grammar is not None:
                try:
                    sessions.append(grammar.session)
                except Exception as error:  # noqa: BLE001 - what it has to write first does not go
                    failed = failure_of(error)
                    _logger.warning("a record cannot go on: %s", failed)
                    grammar.fail(failed)
                    self._fail_between(request, str(failed))
        if sessions:
            self._plans.tokens_stand(sessions)

    def _end(self, request: Any, grammar: Drafted, error: FactorspecError) -> None:
        _logger.warning("a record cannot go on: %s", error)
        grammar.fail(error)
        self._fail(request, str(error))


def is_free(request: Any) -> bool:
    """True if nothing constrains the request: it has no grammar, or has ended while the step was prepared."""
    return request.grammar is None or request.finished() or request.to_finish is not None


def may_stop(request: Any) -> bool:
    """True if the request has stop strings or stop tokens of its own."""
    sampling = request.sampling_params
    return bool(sampling.stop_strs or sampling.stop_regex_strs or sampling.stop_token_ids)


def _without_end(chain: Chain, end_token: int) -> Chain:
    """The chain, short of what ends the record."""
    if not chain.branches:
        return chain.cut(len(chain.tokens) - 1) if chain.then == end_token and chain.tokens else chain
    sizes = [len(chain.tokens), *(branch.size for branch in chain.branches)]
    ends = [each.then == end_token for each in chain.entries]
    return chain.pruned([max(0, size - end) for size, end in zip(sizes, ends, strict=True)])


def takes_one_token(request: Any) -> bool:
    """True if each token of the request must be drawn in a step of its own."""
    sampling = request.sampling_params
    return bool(
        request.return_logprob
        or sampling.frequency_penalty
        or sampling.presence_penalty
        or sampling.repetition_penalty != 1.0
        or sampling.min_new_tokens
    )

"""Plans and mask rows of records that the constraint service keeps.

The service is asked when a step's tokens are known, so its workers plan while SGLang looks at results; what a
step asks for is there then, or nearly. That are certain plans, and a little later the same with guesses: of
these only so many are taken as come in a short wait. Rows are waited for one by one, as they are written.
Looking ahead is the workers' affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import cast
from weakref import WeakSet

from factorspec_sdk.decoding import Plan
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens.masks import Row
from factorspec_server.constraint_service import ConstraintService, RemoteRecord, Wanted
from factorspec_server.constraint_service.remote_row import RemoteRow
from factorspec_server.drafting import DraftingSpec, Session
from factorspec_server.engines.errors import failure_of
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.plan_source import Asked, Failed, drafted_chain, write_row

_CERTAIN = DraftingSpec(name="certain")
_MOST_KNOWN = 1024
#: guesses are waited for until so many seconds after plans were asked for. A request that has a worker to
#: itself gains most from them, and its step may begin later by what one plan may guess for (``PATIENCE_S``).
#: Requests that share a worker have theirs one after the other: waiting for the last ones would hold up all.
#: The least is what many requests lose together in the worst case; steps of theirs take 5 ms or more.
_ALONE_S, _LEAST_S = 0.002, 0.0004


class ServicePlans:
    """Asks a service; see ``PlanSource``.

    Args:
        service: keeps the records that are asked about.
        row_words: words of a row of its vocabulary; an engine's rows may be wider.
        most: tokens of the longest plan that is of use.
        drafting: what the service drafts; where a step has no guesses it is told to rest.
        trees: what it drafts where there may be branches; None: the same.
    """

    def __init__(
        self,
        service: ConstraintService,
        row_words: int,
        most: int,
        drafting: DraftingSpec = _CERTAIN,
        trees: DraftingSpec | None = None,
    ) -> None:
        self._service = service
        self._row_words = row_words
        self._most = most
        self._drafting = drafting
        self._trees = drafting if trees is None else trees
        self._drafted = drafting
        self._prompted: WeakSet[Session] = WeakSet()
        #: whole chains of plans that many records have, by the plan's identity and what ends a record
        self._known: dict[tuple[int, int], tuple[Plan, Chain]] = {}

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """See ``PlanSource``."""
        if not asked:
            return []
        try:
            if self._drafting.is_of_prompt:
                self._tell_prompts(asked)
            if self._drafting.guesses:
                self._rest_or_guess(asked)
            wanted = self._wanted([request.session for request in asked])
            plans = self._service.plans(wanted, guess_s=self._guess_s(len(asked)))
        except Exception as error:  # noqa: BLE001 - requests without records go on
            return [Failed(failure_of(error))] * len(asked)
        return [self._chain(request, plan) for request, plan in zip(asked, plans, strict=True)]

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> Sequence[Failed | None]:
        """See ``PlanSource``."""
        return [write_row(row, decision, self._row_words) for row, decision in wanted]

    def tokens_stand(self, sessions: Sequence[Session], /) -> None:
        """See ``PlanSource``. What goes wrong here is told when the chains are asked for."""
        try:
            self._service.ask(self._wanted(sessions))
        except Exception as error:  # noqa: BLE001 - nothing depends on it
            failure_of(error)

    def look_ahead(self, is_over: Callable[[], bool], /) -> None:
        """See ``PlanSource``: the workers do."""

    @property
    def waited_s(self) -> float:
        """See ``PlanSource``."""
        return self._service.waited_s

    @property
    def waited_for_certain_s(self) -> float:
        """See ``PlanSource``."""
        return self._service.waited_s - self._service.waited_for_guesses_s

    def _guess_s(self, num_requests: int) -> float | None:
        """How long guesses of so many requests are waited for."""
        if self._drafting.patience_s is None:
            return None
        return max(_LEAST_S, _ALONE_S / ceil(num_requests / self._service.options.workers))

    def _tell_prompts(self, asked: Sequence[Asked]) -> None:
        for request in asked:
            if request.session not in self._prompted:
                self._prompted.add(request.session)
                cast(RemoteRecord, request.session).set_prompt(tuple(request.prompt))

    def _rest_or_guess(self, asked: Sequence[Asked]) -> None:
        """Tell the service what is drafted now; what it was asked before is answered as it was then."""
        if not any(request.guesses for request in asked):
            drafted = self._drafting.resting
        else:
            drafted = self._trees if any(request.branches for request in asked) else self._drafting
        if drafted != self._drafted:
            self._drafted = drafted
            self._service.draft(drafted)

    def _wanted(self, sessions: Sequence[Session]) -> list[Wanted]:
        most = self._most
        return [Wanted(record, most) for record in cast(Sequence[RemoteRecord], sessions)]

    def _chain(self, request: Asked, plan: Plan | FactorspecError) -> Chain | Failed:
        if isinstance(plan, FactorspecError):
            return Failed(plan)
        try:
            if not plan.tokens and plan.choices and plan.choices[0].allowed.count:
                return Chain((), (Decision(0, plan.choices[0].allowed),))
            known = self._known.get((id(plan), request.end_token))
            if known is not None:
                return known[1].cut(request.most)
            chain = drafted_chain(plan, request)
            if _is_shared(plan) and request.most >= len(plan.tokens):
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[id(plan), request.end_token] = plan, chain
        except Exception as error:  # noqa: BLE001 - one request's record must not end the server
            return Failed(failure_of(error))
        return chain


def _is_shared(plan: Plan) -> bool:
    """True if the plan may be that of other records too: it is certain, and its choice knows its tokens."""
    choices = plan.choices
    if choices and isinstance(choices[0].allowed, RemoteRow):
        return False
    return False not in plan.certain

"""Plans and mask rows of records that the constraint service keeps.

The service is asked when a step's tokens are known, so its workers plan while SGLang looks at results; what a
step asks for is there then, or nearly. Rows are waited for one by one, as they are written. Looking ahead is
the workers' affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from factorspec_sdk.decoding import Plan
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens.masks import Row
from factorspec_server.constraint_service import ConstraintService, RemoteRecord, Wanted
from factorspec_server.drafting import Session
from factorspec_server.engines.errors import SessionStalled
from factorspec_server.sglang.chains import Chain, Decision, chain_of
from factorspec_server.sglang.plan_source import Asked, Failed, failure_of, write_row


class ServicePlans:
    """Asks a service; see ``PlanSource``.

    Args:
        service: keeps the records that are asked about.
        row_words: words of a row of its vocabulary; an engine's rows may be wider.
        most: tokens of the longest plan that is of use.
    """

    def __init__(self, service: ConstraintService, row_words: int, most: int) -> None:
        self._service = service
        self._row_words = row_words
        self._most = most

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """See ``PlanSource``."""
        if not asked:
            return []
        try:
            plans = self._service.plans([self._wanted(request.session) for request in asked])
        except Exception as error:  # noqa: BLE001 - requests without records go on
            return [Failed(failure_of(error))] * len(asked)
        return [_chain(request, plan) for request, plan in zip(asked, plans, strict=True)]

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> Sequence[Failed | None]:
        """See ``PlanSource``."""
        return [write_row(row, decision, self._row_words) for row, decision in wanted]

    def tokens_stand(self, sessions: Sequence[Session], /) -> None:
        """See ``PlanSource``. What goes wrong here is told when the chains are asked for."""
        try:
            self._service.ask([self._wanted(session) for session in sessions])
        except Exception as error:  # noqa: BLE001 - nothing depends on it
            failure_of(error)

    def look_ahead(self, is_over: Callable[[], bool], /) -> None:
        """See ``PlanSource``: the workers do."""

    @property
    def waited_s(self) -> float:
        """See ``PlanSource``."""
        return self._service.stats().waited_s

    def _wanted(self, session: Session) -> Wanted:
        return Wanted(cast(RemoteRecord, session), self._most)


def _chain(request: Asked, plan: Plan | FactorspecError) -> Chain | Failed:
    if isinstance(plan, FactorspecError):
        return Failed(plan)
    try:
        chain = chain_of(plan, request.end_token).cut(request.most)
        if any(decision.allowed is not None and not decision.allowed.count for decision in chain.decisions):
            raise SessionStalled("the session is open but allows no token")
        return chain
    except Exception as error:  # noqa: BLE001 - one request's record must not end the server
        return Failed(failure_of(error))

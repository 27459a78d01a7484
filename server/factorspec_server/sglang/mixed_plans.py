"""Plans of a step in which workers keep some records, and this process answers that may be several.

Those of the service are asked for first, so that its workers plan while this process does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factorspec_sdk.tokens.masks import Row
from factorspec_server.constraint_service import RemoteRecord
from factorspec_server.drafting import Session
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.plan_source import Asked, Failed, LocalPlans, PlanSource


class MixedPlans:
    """Two plan sources as one; see ``PlanSource``.

    Args:
        local: for sessions of this process.
        remote: for those that a service keeps.
    """

    def __init__(self, local: LocalPlans, remote: PlanSource) -> None:
        self._local = local
        self._remote = remote

    def chains(self, asked: Sequence[Asked], /) -> Sequence[Chain | Failed]:
        """See ``PlanSource``."""
        far = [request for request in asked if isinstance(request.session, RemoteRecord)]
        if len(far) == len(asked):  # the usual case
            self._local.chains(())
            return self._remote.chains(asked)
        near = [request for request in asked if not isinstance(request.session, RemoteRecord)]
        if far and near:
            self._remote.tokens_stand([request.session for request in far])
        local, remote = iter(self._local.chains(near)), iter(self._remote.chains(far))
        return [next(remote if isinstance(each.session, RemoteRecord) else local) for each in asked]

    def fill_rows(self, wanted: Sequence[tuple[Row, Decision]], /) -> Sequence[Failed | None]:
        """See ``PlanSource``. What a decision allows knows itself where its row comes from."""
        return self._remote.fill_rows(wanted)

    def tokens_stand(self, sessions: Sequence[Session], /) -> None:
        """See ``PlanSource``."""
        far = [session for session in sessions if isinstance(session, RemoteRecord)]
        if far:
            self._remote.tokens_stand(far)

    @property
    def waited_s(self) -> float:
        """See ``PlanSource``."""
        return self._remote.waited_s

    @property
    def waited_for_certain_s(self) -> float:
        """See ``PlanSource``."""
        return self._remote.waited_for_certain_s

    def look_ahead(self, is_over: Callable[[], bool], /) -> None:
        """See ``PlanSource``."""
        self._local.look_ahead(is_over)

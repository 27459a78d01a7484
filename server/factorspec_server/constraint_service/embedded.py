"""The constraint service behind the embedded engine: what ``http`` and ``engines`` ask of one (``kept.py``,
``keeping.py``).

A step waits a little for plans; rows whose plan is late sit it out. Only where a worker is dead, or has said
nothing for the service's deadline, the step waits until its records are opened elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic

from factorspec_sdk.decoding import OnBudget
from factorspec_sdk.errors import JsonValue
from factorspec_server.constraint_service.record import RemoteRecord
from factorspec_server.constraint_service.service import ConstraintService, Wanted
from factorspec_server.drafting import Session
from factorspec_server.http.kept import KeeperCounts, KeptSession

_logger = logging.getLogger(__name__)


class EmbeddedService:
    """A ``SessionService``. ``ask`` and ``late`` belong to the engine's thread, the rest to any."""

    def __init__(self, service: ConstraintService) -> None:
        """Takes the service over: ``close`` ends it."""
        self._service = service
        #: when a record's plan was found missing first, in seconds of ``monotonic``
        self._late_since: dict[RemoteRecord, float] = {}

    def open(
        self,
        document: dict[str, JsonValue],
        *,
        token_limit: int | None,
        on_budget: OnBudget,
        salt: str | None,
    ) -> KeptSession:
        """See ``SessionService``."""
        return self._service.open(document, token_limit=token_limit, on_budget=on_budget, salt=salt)

    def ask(self, sessions: Sequence[Session], /) -> None:
        """See ``Keeper``."""
        records = [session for session in sessions if isinstance(session, RemoteRecord)]
        if records:
            try:
                self._service.ask(self._wanted(records))
            except Exception:  # what goes wrong is told where the plans are asked for
                _logger.exception("asking for plans failed")

    def late(self, sessions: Sequence[Session], wait_s: float, /) -> Sequence[Session]:
        """See ``Keeper``."""
        records = [session for session in sessions if isinstance(session, RemoteRecord)]
        if not records:
            return ()
        try:
            return self._late(records, wait_s)
        except Exception:  # each plan is asked for by itself, and tells what is wrong
            _logger.exception("waiting for plans failed")
            return ()

    def facts(self) -> dict[str, JsonValue]:
        """See ``SessionService``."""
        options = self._service.options
        return {"workers": options.workers, "records": options.records, "deadline_s": options.deadline_s}

    def counts(self) -> KeeperCounts:
        """See ``SessionService``."""
        stats = self._service.stats()
        return KeeperCounts(
            gauges={
                "workers": stats.workers_alive,
                "records": stats.records_open,
                "asks_waiting": stats.asks_waiting,
                "compiles_waiting": stats.compiles_waiting,
            },
            totals={"workers_replaced": stats.workers_replaced, "records_rebuilt": stats.records_rebuilt},
            waits=stats.waits,
            waited_s=stats.waited_s,
        )

    def close(self) -> None:
        """See ``SessionService``."""
        self._service.close()

    def _late(self, records: Sequence[RemoteRecord], wait_s: float) -> list[RemoteRecord]:
        now = monotonic()
        missing = self._service.late(self._wanted(records), now + wait_s)
        since = self._late_since
        self._late_since = {record: since.get(record, now) for record in missing}
        deadline_s = self._service.options.deadline_s / 2
        for record, first in self._late_since.items():
            if now - first > deadline_s:
                record.place.link.kill()
        lost = [record for record in missing if not record.place.link.alive]
        if lost:
            self._service.plans(self._wanted(lost))
            for record in lost:
                del self._late_since[record]
        return [*self._late_since]

    def _wanted(self, records: Sequence[RemoteRecord]) -> list[Wanted]:
        return [Wanted(record, self._service.options.most_tokens) for record in records]

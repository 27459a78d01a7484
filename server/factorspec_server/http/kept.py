"""Records whose sessions are kept by other processes, as requests see them.

Compiling, plans, counts and what relations say of a record are made there; here are its tokens, and what is
told of it at its end (``finish``, which may wait: not on the event loop).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from factorspec_sdk.decoding import OnBudget
from factorspec_sdk.errors import JsonValue
from factorspec_server.drafting.seam import Session
from factorspec_server.engines.keeping import Keeper

SERVICE_TEXTS = {
    "workers": "Workers alive.",
    "records": "Records open.",
    "asks_waiting": "Records whose plans nobody has read yet.",
    "compiles_waiting": "Records that are being opened.",
    "workers_replaced": "Workers that died or did not answer.",
    "records_rebuilt": "Records that were opened elsewhere since.",
}
"""What a service counts: the names of its metrics, behind ``factorspec_service_``, and what they tell."""


class KeptSession(Session, Protocol):
    """A session of one record. The engine's thread writes it; ``finish`` and ``close`` may come from any."""

    @property
    def spec_hash(self) -> str:
        """Of its spec."""

    @property
    def was_cached(self) -> bool:
        """The spec had been compiled for an earlier record, where this one is kept."""

    @property
    def compile_s(self) -> float:
        """Seconds that compiling took."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The committed tokens."""

    def set_prompt(self, token_ids: Sequence[int], /) -> None:
        """Tell the prompt, once; what is drafted may depend on it."""

    def finish(self, *, origins: bool, judge: bool) -> dict[str, JsonValue]:
        """``session_counts``; ``origins`` and ``record_report`` where they are wanted. Waits.

        Raises:
            FactorspecError: whoever keeps it does not answer in time.
        """

    def close(self) -> None:
        """Give its place back. Does nothing the second time, never waits."""


@dataclass(frozen=True, slots=True)
class KeeperCounts:
    """What a service counts.

    Attributes:
        gauges: by name: what there is now.
        totals: by name: what there was since the start.
        waits: how many waits of the engine's thread took at most so many seconds; the last bound is inf.
        waited_s: seconds of all of them together.
    """

    gauges: Mapping[str, int]
    totals: Mapping[str, int]
    waits: Mapping[float, int]
    waited_s: float


class SessionService(Keeper, Protocol):
    """Opens and keeps sessions. ``ask`` and ``late`` belong to the engine's thread, the rest to any."""

    def open(
        self,
        document: dict[str, JsonValue],
        *,
        token_limit: int | None,
        on_budget: OnBudget,
        salt: str | None,
    ) -> KeptSession:
        """A session in which nothing is written. Waits until its spec is compiled.

        Raises:
            DocumentError: the document cannot be enforced; places are pointers into it.
            InfeasibleError: no record can satisfy it, or none within the token limit.
            Overloaded: there is no place for another record.
            EngineError: no process opens it in time.
        """

    def facts(self) -> dict[str, JsonValue]:
        """What it was made with, for capabilities."""

    def counts(self) -> KeeperCounts:
        """A snapshot."""

    def close(self) -> None:
        """End the processes; nobody asks any more."""


class KeptChoice:
    """One answer that is a kept record.

    Attributes:
        session: of it.
        told: what ``finish`` told; None before.
    """

    def __init__(self, session: KeptSession) -> None:
        self.session = session
        self.told: dict[str, Any] | None = None

    def finish(self, *, origins: bool) -> None:
        """Ask for what its report needs, once nobody writes any more. Waits; raises as ``KeptSession``."""
        told = self.session.finish(origins=origins, judge=True)
        self.told = {name: value for name, value in told.items() if name not in ("text", "complete")}

"""The service as an engine sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from factorspec_sdk.decoding import OnBudget, Plan
from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_server.constraint_service.options import DraftingSpec, ServiceOptions, VocabularySource
from factorspec_server.constraint_service.record import RemoteRecord
from factorspec_server.constraint_service.stats import ServiceStats


class Wanted(NamedTuple):
    """A record for which a plan is wanted; ``most``: tokens of the plan."""

    record: RemoteRecord
    most: int


class ConstraintService:
    """Worker processes that keep the sessions of one engine. See the seam in each method."""

    def __init__(self, tokenizer: VocabularySource, options: ServiceOptions) -> None:
        """Returns at once; the vocabulary's tables are made meanwhile."""
        raise NotImplementedError

    def draft(self, drafting: DraftingSpec) -> None:
        """Draft so from now on, records that are open already included."""
        raise NotImplementedError

    def open(
        self,
        document: dict[str, JsonValue],
        *,
        token_limit: int | None = None,
        on_budget: OnBudget = "narrow",
    ) -> RemoteRecord:
        """A new record. Any thread; blocks."""
        raise NotImplementedError

    def ask(self, wanted: Sequence[Wanted]) -> None:
        """Send what was committed and ask for plans; returns at once."""
        raise NotImplementedError

    def plans(self, wanted: Sequence[Wanted]) -> list[Plan | FactorspecError]:
        """The plans, in order; asks what was not asked, and waits."""
        raise NotImplementedError

    def stats(self) -> ServiceStats:
        """A snapshot of what it counts."""
        raise NotImplementedError

    def close(self) -> None:
        """End the processes. Records fail from then on."""
        raise NotImplementedError

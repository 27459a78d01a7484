"""What the parts of one scheduler's process share: SGLang makes them in places that do not know each other.

The worker is made first, with the model; the grammar backend, which has the tokenizer, comes after it. Each
process of SGLang's has one scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factorspec_server.constraint_service import ConstraintService, DraftingSpec
    from factorspec_server.sglang.step_metrics import StepMetrics


@dataclass(slots=True)
class ProcessParts:
    """See above.

    Attributes:
        service: keeps the records; None: this process does.
        workers: of it.
        drafting: what is drafted; None: the service's own default.
        metrics: of steps; None: nobody counts.
    """

    service: ConstraintService | None = None
    workers: int = 0
    drafting: DraftingSpec | None = None
    metrics: StepMetrics | None = None

    def draft(self, drafting: DraftingSpec) -> None:
        """Have records drafted so, now or once the service is there."""
        self.drafting = drafting
        if self.service is not None:
            self.service.draft(drafting)


@cache
def parts() -> ProcessParts:
    """Those of this process."""
    return ProcessParts()

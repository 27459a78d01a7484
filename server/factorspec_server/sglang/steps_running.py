"""The steps whose results are not there yet: who wrote records in them, and what they ran."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.step_branches import StepBranches
from factorspec_server.sglang.step_counts import StepCounts


class Ran(NamedTuple):
    """A request that writes a record, and its chain of a step."""

    request: Any
    counts: StepCounts
    chain: Chain


@dataclass(slots=True)
class _Step:
    """``ran``: of each request, None where nothing is counted; ``entries``: (B,) int64 on the host, once the
    step's tokens are there: the entry that each request's path ends in.
    """

    ran: Sequence[Ran | None]
    branches: StepBranches | None = None
    entries: torch.Tensor | None = None


class StepsRunning:
    """In the order in which they were launched; used by the scheduler's thread alone."""

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque()

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, ran: Sequence[Ran | None]) -> None:
        """A step is launched."""
        self._steps.append(_Step(ran))

    def ends_in(self, entries: torch.Tensor, branches: StepBranches) -> None:
        """The last one has branches; ``entries``: as ``Accepted`` has them, not waited for."""
        step = self._steps[-1]
        step.branches, step.entries = branches, entries.to("cpu", non_blocking=True)

    def came(self, num_correct: Sequence[int]) -> None:
        """The first one's tokens are on the host.

        Args:
            num_correct: of each request, the tokens that stand but for the last one.
        """
        if not self._steps:
            return
        step = self._steps.popleft()
        entries = [0] * len(step.ran)
        if step.entries is not None and step.branches is not None:
            entries = step.branches.numbers[step.entries.numpy()].tolist()
        # counts are no reason to fail: there may be more or fewer requests
        for ran, correct, entry in zip(step.ran, num_correct, entries, strict=False):
            if ran is not None and not (ran.request.is_retracted or ran.request.finished()):
                ran.counts.count(ran.chain, correct + 1, entry)

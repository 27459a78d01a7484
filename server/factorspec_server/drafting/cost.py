"""What a step costs by the tokens that run in it, and the size of a plan that pays best.

With ``c(n)`` the seconds of a step in which n tokens of a request run and ``p_i`` the chance that its i-th
token stands, a plan of n tokens brings ``1 + p_1 + … + p_n`` tokens (one is drawn in any case). The best size
is the one with the most tokens a second: n that maximises ``(1 + p_1 + … + p_n) / c(n)``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

StepCost = Callable[[int], float]
"""Seconds of a step in which so many tokens of a request run, at the batch that there is now."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds of a step, linear between measured sizes and beyond the last one as between the last two.

    Attributes:
        points: (tokens of all requests together, seconds), ascending in both, at least one.
    """

    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError("points must hold at least one measured size")
        for (tokens, seconds), (more, longer) in pairwise(self.points):
            if tokens >= more or seconds > longer:
                raise ValueError(f"points must ascend, got {(tokens, seconds)!r} before {(more, longer)!r}")
        if self.points[0][0] < 1 or self.points[0][1] <= 0:
            raise ValueError(f"sizes and times must be above 0, got {self.points[0]!r}")

    @classmethod
    def of(cls, measured: Sequence[tuple[int, float]]) -> CostModel:
        """From measured times, which may be noisy: no larger step counts as quicker than a smaller one."""
        points = sorted(measured)
        longest = accumulate((seconds for _, seconds in points), max)
        return cls(tuple(zip((tokens for tokens, _ in points), longest, strict=True)))

    def step_s(self, num_tokens: int) -> float:
        """Seconds of a step in which so many tokens run."""
        points = self.points
        at = bisect_right(points, num_tokens, key=lambda point: point[0])
        if at == 0 or len(points) == 1:
            return points[0][1]
        (tokens, seconds), (more, longer) = points[at - 1 : at + 1] if at < len(points) else points[-2:]
        return seconds + (longer - seconds) * (num_tokens - tokens) / (more - tokens)

    def for_batch(self, num_rows: int) -> StepCost:
        """The cost to a request among ``num_rows`` that do as it does."""
        return lambda num_tokens: self.step_s(num_rows * num_tokens)


def best_size(chances: Sequence[float], cost: StepCost) -> int:
    """How many of the first tokens to run, given each one's chance to stand; O(tokens)."""
    best, best_rate = 0, 1.0 / cost(1)
    brought = 1.0
    for size, chance in enumerate(chances, start=1):
        brought += chance
        rate = brought / cost(size + 1)
        if rate > best_rate:
            best, best_rate = size, rate
    return best

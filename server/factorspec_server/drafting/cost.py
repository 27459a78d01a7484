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
    """Seconds of a step, linear between measured sizes.

    Beyond the largest size a step takes as much longer for each token as between the last two sizes, and at
    least in proportion to its tokens: that more of them are free is believed only where it was measured.

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
        """From measured times, which may be noisy: the ascending ones next to them (least squares).

        Where a larger step was quicker than smaller ones, all of these count as their mean.
        """
        points = sorted(measured)
        pools: list[tuple[float, int]] = []  # sums of times, and of how many
        for _, seconds in points:
            total, count = seconds, 1
            while pools and pools[-1][0] / pools[-1][1] > total / count:
                more, others = pools.pop()
                total, count = total + more, count + others
            pools.append((total, count))
        fitted = [total / count for total, count in pools for _ in range(count)]
        # rounding alone could make a mean larger than the next
        return cls(tuple(zip((tokens for tokens, _ in points), accumulate(fitted, max), strict=True)))

    @property
    def largest(self) -> int:
        """The largest measured size."""
        return self.points[-1][0]

    @property
    def is_curve(self) -> bool:
        """True if more than one size was measured; one alone says nothing about what more tokens cost."""
        return len(self.points) > 1

    def step_s(self, num_tokens: int) -> float:
        """Seconds of a step in which so many tokens run."""
        points = self.points
        at = bisect_right(points, num_tokens, key=lambda point: point[0])
        if at == 0:
            return points[0][1]
        if at < len(points):
            (tokens, seconds), (more, longer) = points[at - 1 : at + 1]
            return seconds + (longer - seconds) * (num_tokens - tokens) / (more - tokens)
        largest, longest = points[-1]
        return longest + max(longest / largest, self._last_slope) * (num_tokens - largest)

    @property
    def _last_slope(self) -> float:
        """Seconds of one more token between the two largest sizes."""
        if not self.is_curve:
            return 0.0
        (tokens, seconds), (more, longer) = self.points[-2:]
        return (longer - seconds) / (more - tokens)

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

"""How surprising counts of draws are whose chances are known: bounds that hold, however few the draws."""

from __future__ import annotations

import math
from collections.abc import Mapping


def surprise(count: int, total: int, chance: float) -> float:
    """So many of all, or more (or fewer), have at most the probability exp(-surprise): Chernoff."""
    parts = ((count, chance), (total - count, 1.0 - chance))
    return sum(part * math.log(part / (total * share)) for part, share in parts if part)


def oddest(counts: Mapping[str, int], total: int, chances: Mapping[str, float]) -> tuple[float, str]:
    """The most surprising count, and of what. By chance it is above ``limit`` once in ``runs``."""
    return max((surprise(counts.get(name, 0), total, chance), name) for name, chance in chances.items())


def limit(num_chances: int, runs: int = 10_000_000) -> float:
    """What no count of so many surpasses, but once in so many runs."""
    return math.log(2 * runs * num_chances)

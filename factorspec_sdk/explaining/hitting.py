"""The cheapest set that hits every one of some sets, by branch and bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: nodes of the search tree before it stops with what it has
MAX_NODES = 20_000


def cheapest_hitting_set(sets: Sequence[frozenset[int]], weights: Mapping[int, int]) -> tuple[set[int], bool]:
    """(a set that meets each of ``sets``, whether it is proved the cheapest). Exponential, within a budget.

    Branches on the elements of a smallest set not yet hit; a branch is left where the weights so far and
    the cheapest element of each of some disjoint sets still to be hit come to no less than the best known.
    """
    search = _Search(sets, weights)
    search.extend(set(), 0)
    return search.best, search.nodes <= MAX_NODES


class _Search:
    def __init__(self, sets: Sequence[frozenset[int]], weights: Mapping[int, int]) -> None:
        self._sets = sorted(sets, key=len)
        self._weights = weights
        self.nodes = 0
        self.best = self._greedy()
        self._best_cost = sum(weights[item] for item in self.best)

    def _greedy(self) -> set[int]:
        chosen: set[int] = set()
        left = list(self._sets)
        while left:
            candidates = sorted(frozenset[int]().union(*left))
            best = max(candidates, key=lambda item: sum(item in s for s in left) / self._weights[item])
            chosen.add(best)
            left = [s for s in left if best not in s]
        return chosen

    def extend(self, chosen: set[int], cost: int) -> None:
        """Look below one node; ``cost`` is the weight of ``chosen``."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            return
        left = [s for s in self._sets if not s & chosen]
        if not left:
            if cost < self._best_cost:
                self.best, self._best_cost = set(chosen), cost
            return
        if cost + self._bound(left) >= self._best_cost:
            return
        for item in sorted(left[0], key=self._weights.__getitem__):
            self.extend(chosen | {item}, cost + self._weights[item])

    def _bound(self, left: Sequence[frozenset[int]]) -> int:
        used: set[int] = set()
        bound = 0
        for one in left:
            if not one & used:
                used |= one
                bound += min(self._weights[item] for item in one)
        return bound

"""What of a record can be kept: fields as items with weights, and the largest part that has a completion.

Largest by implicit hitting sets (after Davies and Bacchus, "Solving MaxSAT by Solving a Sequence of
Simpler SAT Instances", CP 2011). Plain version: try all ways to give up one field, then two, and so on.
Instead: whatever is given up must hit every *core*, a set of fields that cannot all be kept::

    cores = []
    give up the cheapest set that hits all cores found so far
    can the rest be kept?   yes: done, nothing cheaper exists
                            no:  a minimal core of the rest is one more core; again
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from factorspec_sdk.explaining.hitting import cheapest_hitting_set
from factorspec_sdk.explaining.quickxplain import minimal_subset

#: questions to the constraint core for one group of fields
MAX_QUESTIONS = 2_000


class OutOfQuestions(Exception):
    """No more may be asked of the constraint core."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Slots to keep, and whether no way gives up less."""

    slots: frozenset[int]
    proven: bool


def most_kept(weights: Mapping[int, int], can_keep: Callable[[Sequence[int]], bool | None]) -> Kept:
    """The slots that can be kept together at the least weight of those given up.

    Args:
        weights: what giving up each slot costs, at least 1, in writing order.
        can_keep: whether a record keeps these slots; None where a budget ran out (then it counts as no, and
            the answer is not proven). It must be true of the empty sequence. May raise ``OutOfQuestions``:
            then the heaviest slots that were found to be kept together are the answer, not proven.
    """
    search = _Keeping(weights, can_keep)
    try:
        return search.exact()
    except OutOfQuestions:
        return Kept(search.best, False)


class _Keeping:
    def __init__(self, weights: Mapping[int, int], can_keep: Callable[[Sequence[int]], bool | None]) -> None:
        self._weights = weights
        self._can_keep = can_keep
        self._asked = 0
        self._sure = True
        self.best: frozenset[int] = frozenset()

    def exact(self) -> Kept:
        cores: list[frozenset[int]] = []
        while True:
            given_up, proven = cheapest_hitting_set(cores, self._weights)
            kept = [slot for slot in self._weights if slot not in given_up]
            if self._keeps(kept):
                return Kept(frozenset(kept), proven and self._sure)
            core = minimal_subset(kept, lambda slots: not self._keeps(slots))
            assert core, "something can be kept: the empty sequence"
            cores.append(frozenset(core))

    def _keeps(self, slots: Sequence[int]) -> bool:
        self._asked += 1
        if self._asked > MAX_QUESTIONS:
            raise OutOfQuestions
        answer = self._can_keep(slots)
        if answer and self._weight(slots) > self._weight(self.best):
            self.best = frozenset(slots)
        self._sure = self._sure and answer is not None
        return bool(answer)

    def _weight(self, slots: Iterable[int]) -> int:
        return sum(self._weights[slot] for slot in slots)

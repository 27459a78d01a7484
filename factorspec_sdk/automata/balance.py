"""Permutations: ``Balance`` (of given values or another list), ``Consecutive`` (of first .. first + N - 1).

Null and absent values are skipped. ``Balance`` counts each value: slots of the list add one, those of the
other list (and the given values) take one off; at the end every count is 0. State: the counts that are not 0.
``Consecutive``: as many distinct numbers as they need to be without a gap. State: the set of used numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import cast

from factorspec_sdk.automata.nodes import Code
from factorspec_sdk.automata.reading import (
    Key,
    Read,
    ReadingPlan,
    State,
    code_key,
    distinct_domains,
    mask_of,
    null_bit,
    takes,
)

#: (key, count) pairs, sorted
Counts = tuple[tuple[Key, int], ...]


class Balance(ReadingPlan):
    """weights[at]: what a value of the slot adds to its count.

    plus[at], minus[at]: the most that the slots from ``at`` on can add, and take off; sure_plus[at] and
    sure_minus[at]: what the certain ones among them do.
    """

    def __init__(self, reads: Iterable[Read], other: Iterable[Read], given: Iterable[Key]) -> None:
        reads, other = list(reads), list(other)
        weights = Counter[int]()
        for slot, _, _ in reads:
            weights[slot] += 1
        for slot, _, _ in other:
            weights[slot] -= 1
        super().__init__(read for read in (*reads, *other) if weights[read[0]])
        self.given = {key: -n for key, n in Counter(given).items()}
        self.weights = [weights[slot] for slot in self.slots]
        self.plus, self.minus = self._sums(1), self._sums(-1)
        self.sure_plus, self.sure_minus = self._sums(1, sure=True), self._sums(-1, sure=True)
        self.plus_domains = distinct_domains(self, lambda at: self.weights[at] > 0)
        self.minus_domains = distinct_domains(self, lambda at: self.weights[at] < 0)
        self.all_domains = distinct_domains(self, lambda at: True)

    def _sums(self, sign: int, *, sure: bool = False) -> list[int]:
        own = [max(0, sign * w) if self.certain(at) or not sure else 0 for at, w in enumerate(self.weights)]
        return [sum(own[at:]) for at in range(len(own) + 1)]

    @property
    def start(self) -> State | None:
        return _counts(self.given) if self._possible(0, self.given) else None

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        key = code_key(index, code)
        counts = dict(cast(Counts, state))
        if key is not None:
            counts[key] = counts.get(key, 0) + self.weights[at]
        return _counts(counts) if self._possible(at + 1, counts) else None

    def skip(self, at: int, to: int, state: State) -> State | None:
        return state if self._possible(to, dict(cast(Counts, state))) else None

    def allowed(self, at: int, state: State) -> int | None:
        domain, counts = self.domains[at], dict(cast(Counts, state))
        useful = [key for key, n in counts.items() if n * self.weights[at] < 0]
        other = self.minus_domains[at + 1] if self.weights[at] > 0 else self.plus_domains[at + 1]
        return None if other else null_bit(domain) | mask_of(domain, useful)

    def slack(self, at: int, state: State) -> bool:
        """One domain for all, nothing optional: what is missing fits exactly into what is to come."""
        counts = dict(cast(Counts, state))
        fixed = self.plus[at] == self.sure_plus[at] and self.minus[at] == self.sure_minus[at]
        if not fixed or len(self.all_domains[at]) > 1 or any(abs(w) > 1 for w in self.weights[at:]):
            return False
        domain = self.all_domains[at][0]
        one_sided = not self.plus[at] or not self.minus[at]
        return all(takes(domain, key) for key in counts) and (one_sided or self._ample(at, counts))

    def _ample(self, at: int, counts: dict[Key, int]) -> bool:
        """True if the side that is read next has room for more than what makes up for the other side."""
        surplus, deficit = _sides(counts)
        return surplus < self.minus[at] and deficit < self.plus[at]

    def _possible(self, at: int, counts: dict[Key, int]) -> bool:
        surplus, deficit = _sides(counts)
        if surplus > self.minus[at] or deficit > self.plus[at]:
            return False
        # the total of all counts must come to 0
        least = surplus - deficit + self.sure_plus[at] - self.minus[at]
        most = surplus - deficit + self.plus[at] - self.sure_minus[at]
        if not least <= 0 <= most:
            return False
        minus, plus = self.minus_domains[at], self.plus_domains[at]
        return all(
            any(takes(domain, key) for domain in (minus if n > 0 else plus)) for key, n in counts.items() if n
        )


def _sides(counts: dict[Key, int]) -> tuple[int, int]:
    """(surplus, deficit): sums of the positive and of the negative counts."""
    surplus = sum(n for n in counts.values() if n > 0)
    return surplus, surplus - sum(counts.values())


def _counts(counts: dict[Key, int]) -> Counts:
    return tuple(sorted((key, n) for key, n in counts.items() if n))


class Consecutive(ReadingPlan):
    """Used numbers as a bit set over ``number - first``.

    once[at]: the slot is named once; one that is named twice cannot take a number. most[at], sure[at]: how
    many slots from ``at`` on can take, and surely take, a number.
    """

    def __init__(self, reads: Iterable[Read], first: int) -> None:
        reads = list(reads)
        super().__init__(reads)
        named = Counter(slot for slot, _, _ in reads)
        self.first = first
        self.once = [named[slot] == 1 for slot in self.slots]
        sure = [self.certain(at) for at in range(len(self))]
        self.most = [sum(self.once[at:]) for at in range(len(self) + 1)]
        self.sure = [sum(sure[at:]) for at in range(len(self) + 1)]
        self.all_domains = distinct_domains(self, lambda at: True)

    @property
    def start(self) -> State:
        return 0

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        used = cast(int, state)
        if isinstance(code, int) and not isinstance(code, bool):
            bit = code - self.first
            if not self.once[at] or not 0 <= bit < len(self) or used >> bit & 1:
                return None
            used |= 1 << bit
        return self.skip(at, at + 1, used)

    def skip(self, at: int, to: int, state: State) -> State | None:
        used = cast(int, state)
        return used if used.bit_length() - used.bit_count() <= self.most[to] else None

    def allowed(self, at: int, state: State) -> int | None:
        domain = self.domains[at]
        return null_bit(domain) | (mask_of(domain, self._needed(at, state)) if self.once[at] else 0)

    def slack(self, at: int, state: State) -> bool:
        """All slots are sure, and all numbers that may be needed are in every domain."""
        return self.sure[at] == self.most[at] and self._fills(at, state, self.sure[at])

    def completable(self, at: int, state: State) -> bool:
        return self._fills(at, state, min(self.sure[at] + 1, self.most[at]))

    def _fills(self, at: int, state: State, number: int) -> bool:
        """True if so many slots fill the gaps."""
        used = cast(int, state)
        if used.bit_length() - used.bit_count() > number or not all(self.once[at:]):
            return False
        needed = list(self._needed(at, state))
        return all(all(takes(domain, key) for key in needed) for domain in self.all_domains[at])

    def _needed(self, at: int, state: State) -> Iterator[Key]:
        """The numbers that a slot can take: with number n, n + 1 numbers are needed in all."""
        used = cast(int, state)
        bits = ((1 << (used.bit_count() + self.most[at])) - 1) & ~used
        while bits:
            low = bits & -bits
            yield ("int", self.first + low.bit_length() - 1)
            bits ^= low

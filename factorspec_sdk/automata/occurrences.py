"""``Occurrences``: how often each value is taken lies within bounds; null and absent values are skipped.

State: (value, count) pairs that still matter. A count is left out, or cut to the least one, once the slots
to come cannot exceed the most any more; so values that have no bound to reach leave no trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from factorspec_sdk.automata.nodes import Code
from factorspec_sdk.automata.reading import (
    Key,
    Read,
    ReadingPlan,
    State,
    code_key,
    distinct_domains,
    full_mask,
    keys_of,
    mask_of,
    null_bit,
    takes,
)
from factorspec_sdk.fields.domains import Domain

Counts = tuple[tuple[Key, int], ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How often a value must and may occur; ``most`` None: as often as there is room."""

    least: int
    most: int | None


class Occurrences(ReadingPlan):
    """bounds: by value. closed: no other values.

    weights[at]: how often the slot is named. room[at]: all weights from ``at`` on; sure[at]: those of certain
    slots; listed[at]: those of certain slots that can take values with bounds only. needed: the values that
    must occur; total_most: how often values with bounds can occur together, None without limit.
    """

    def __init__(self, reads: Iterable[Read], bounds: Mapping[Key, Bounds], *, closed: bool) -> None:
        reads = list(reads)
        super().__init__(reads)
        self.bounds, self.closed = bounds, closed
        named = Counter(slot for slot, _, _ in reads)
        self.weights = [named[slot] for slot in self.slots]
        self._masks: dict[object, int] = {}
        self._most: dict[object, int | None] = {}
        self.room = self._sums([True] * len(self))
        self.sure = self._sums([self.certain(at) for at in range(len(self))])
        self.listed = self._sums([self.certain(at) and self._is_listed(at) for at in range(len(self))])
        self.needed = {key: own.least for key, own in bounds.items() if own.least}
        self.total_most = _total(own.most for own in bounds.values())
        self.all_domains = distinct_domains(self, lambda at: True)

    def _sums(self, wanted: list[bool]) -> list[int]:
        own = [weight * take for weight, take in zip(self.weights, wanted, strict=True)]
        return [sum(own[at:]) for at in range(len(own) + 1)]

    def _is_listed(self, at: int) -> bool:
        return self.closed or self._bounds_all(self.domains[at])

    def _bounds_all(self, domain: Domain) -> bool:
        """True if each value has bounds. A wide domain gets no mask: a bit a value."""
        return len(domain) <= len(self.bounds) and self._with_bounds(domain) == full_mask(domain)

    def _with_bounds(self, domain: Domain) -> int:
        """Mask of the values that have bounds."""
        if domain.key not in self._masks:
            if len(self.bounds) < len(domain):
                mask = mask_of(domain, self.bounds)
            else:
                mask = sum(1 << index for index, key in keys_of(domain) if key in self.bounds)
            self._masks[domain.key] = mask
        return self._masks[domain.key]

    @property
    def start(self) -> State | None:
        return self._state(0, {})

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        key = code_key(index, code)
        counts = dict(cast(Counts, state))
        if key in self.bounds:
            assert key is not None
            counts[key] = counts.get(key, 0) + self.weights[at]
            most = self.bounds[key].most
            if most is not None and counts[key] > most:
                return None
        elif key is not None and self.closed:
            return None
        return self._state(at + 1, counts)

    def skip(self, at: int, to: int, state: State) -> State | None:
        return self._state(to, dict(cast(Counts, state)))

    def _state(self, at: int, counts: dict[Key, int]) -> State | None:
        """The canonical state before slot ``at``; None where the bounds cannot be reached any more."""
        room = self.room[at]
        if self._missing(counts) > room or self._too_many(at, counts, self.listed[at]):
            return None
        kept: list[tuple[Key, int]] = []
        for key, count in counts.items():
            own = self.bounds[key]
            if own.most is None or own.most - count >= room:
                count = min(count, own.least)
            if count:
                kept.append((key, count))
        lacking = (key for key, least in self.needed.items() if counts.get(key, 0) < least)
        if not all(any(takes(domain, key) for domain in self.all_domains[at]) for key in lacking):
            return None
        return tuple(sorted(kept))

    def _missing(self, counts: dict[Key, int]) -> int:
        """How many values must still be taken."""
        return sum(max(0, least - counts.get(key, 0)) for key, least in self.needed.items())

    def _too_many(self, at: int, counts: dict[Key, int], slots: int) -> bool:
        """True if so many slots cannot all take values with bounds."""
        return self.total_most is not None and self.total_most - sum(counts.values()) < slots

    def allowed(self, at: int, state: State) -> int | None:
        domain, counts = self.domains[at], dict(cast(Counts, state))
        if self._missing(counts) == self.room[at]:
            return mask_of(domain, (k for k, least in self.needed.items() if counts.get(k, 0) < least))
        weight = self.weights[at]
        limits = ((key, self.bounds[key].most, count) for key, count in counts.items())
        spent = [key for key, most, count in limits if most is not None and count + weight > most]
        mask = (self._with_bounds(domain) | null_bit(domain)) if self.closed else full_mask(domain)
        return mask & ~mask_of(domain, spent) & ~self._never(domain, weight)

    def _never(self, domain: Domain, weight: int) -> int:
        place = ("never", domain.key, weight)
        if place not in self._masks:
            bounds = self.bounds.items()
            never = (key for key, own in bounds if own.most is not None and own.most < weight)
            self._masks[place] = mask_of(domain, never)
        return self._masks[place]

    def slack(self, at: int, state: State) -> bool:
        """One domain, nothing optional: enough slots for what is needed, enough values for the slots."""
        return self.room[at] == self.sure[at] and self._fits(at, state, self.sure[at])

    def completable(self, at: int, state: State) -> bool:
        return self._fits(at, state, min(self.sure[at] + 1, self.room[at]))

    def _fits(self, at: int, state: State, slots: int) -> bool:
        if len(self.all_domains[at]) != 1 or any(weight > 1 for weight in self.weights[at:]):
            return False
        counts = dict(cast(Counts, state))
        if self._missing(counts) > slots:
            return False
        domain = self.all_domains[at][0]
        if not self.closed and not self._bounds_all(domain):
            return True
        if domain.key not in self._most:
            self._most[domain.key] = _total(
                own.most for key, own in self.bounds.items() if takes(domain, key)
            )
        most = self._most[domain.key]
        return (
            most is None or most - sum(n for key, n in counts.items() if takes(domain, key)) >= self.room[at]
        )


def _total(most: Iterable[int | None]) -> int | None:
    found = list(most)
    known = [number for number in found if number is not None]
    return sum(known) if len(known) == len(found) else None

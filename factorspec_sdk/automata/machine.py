"""``Machine``: values are inputs of a finite automaton. ``FirstUse``: values are first used in an order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import cast

from factorspec_sdk.automata.reading import (
    Key,
    Read,
    State,
    distinct_domains,
    full_mask,
    keys_of,
    mask_of,
    null_bit,
    nullable,
)
from factorspec_sdk.automata.sequence import SequencePlan
from factorspec_sdk.fields.domains import Domain

#: arcs[state][value] = next state
Arcs = Mapping[Hashable, Mapping[Key, Hashable]]


class Machine(SequencePlan):
    """alive[at]: the states from which the slots from ``at`` on can lead to a final state, if each may be
    skipped that is not certain. Without it (named against the writing order) dead ends are found by search.
    """

    def __init__(self, reads: Iterable[Read], arcs: Arcs, start: Hashable, final: Iterable[Hashable]) -> None:
        super().__init__(reads)
        self.arcs, self.final, self._first = arcs, frozenset(final), start
        self.alive = self._backwards() if self.straight else ()
        self._sure = self._all_certain()

    def _backwards(self) -> Sequence[frozenset[Hashable]]:
        """O(slots × arcs) at worst; slots of one domain share their arcs, and equal sets are found again."""
        pairs: dict[Hashable, list[tuple[Hashable, Hashable]]] = {}
        known: dict[tuple[Hashable, bool, frozenset[Hashable]], frozenset[Hashable]] = {}
        alive = [self.final]
        for at in reversed(range(len(self))):
            domain = self.domains[at]
            if domain.key not in pairs:
                pairs[domain.key] = self._pairs(domain)
            place = (domain.key, self.certain(at), alive[-1])
            if place not in known:
                before = {one for one, other in pairs[domain.key] if other in alive[-1]}
                known[place] = frozenset(before if self.certain(at) else before | alive[-1])
            alive.append(known[place])
        return alive[::-1]

    def _pairs(self, domain: Domain) -> list[tuple[Hashable, Hashable]]:
        """(state, next state) by the values of a domain."""
        found = {
            (state, after): None
            for state, inputs in self.arcs.items()
            for (_, code), after in inputs.items()
            if domain.index_of_code(code) is not None
        }
        return list(found)

    def _all_certain(self) -> Sequence[bool]:
        sure = [True]
        for at in reversed(range(len(self))):
            sure.append(sure[-1] and not self.optional[at])
        return sure[::-1]

    @property
    def first(self) -> State:
        return self._first

    @property
    def start(self) -> State | None:
        return None if self.straight and self._first not in self.alive[0] else super().start

    def symbol(self, at: int, key: Key) -> Hashable | None:
        return key

    def move(self, state: State, symbol: Hashable) -> State | None:
        return self.arcs.get(state, {}).get(cast(Key, symbol))

    def accepts(self, state: State) -> bool:
        return state in self.final

    def allowed(self, at: int, state: State) -> int | None:
        if not self.straight:
            return None
        domain, later = self.domains[at], self.alive[at + 1]
        keys = (key for key, after in self.arcs.get(state, {}).items() if after in later)
        return mask_of(domain, keys) | (null_bit(domain) if state in later else 0)

    def slack(self, at: int, state: State) -> bool:
        return self.straight and self._sure[at] and state in self.alive[at]


class FirstUse(SequencePlan):
    """State: how many of the chain's values were used, each after the one before it."""

    def __init__(self, reads: Iterable[Read], chain: Sequence[Key]) -> None:
        super().__init__(reads)
        self.chain = tuple(chain)
        self._places = {key: place for place, key in enumerate(chain)}
        self._firm = distinct_domains(self, lambda at: not nullable(self.domains[at]))

    @property
    def first(self) -> State:
        return 0

    def symbol(self, at: int, key: Key) -> Hashable | None:
        return self._places.get(key)

    def move(self, state: State, symbol: Hashable) -> State | None:
        used, place = cast(int, state), cast(int, symbol)
        if place > used:
            return None
        return max(used, place + 1)

    def accepts(self, state: State) -> bool:
        return True

    def settled(self, at: int, state: State) -> bool:
        return super().settled(at, state) or (self.straight and cast(int, state) >= len(self.chain) - 1)

    def allowed(self, at: int, state: State) -> int | None:
        return self._free(self.domains[at], cast(int, state)) if self.straight else None

    def slack(self, at: int, state: State) -> bool:
        return self.straight and all(self._free(domain, cast(int, state)) for domain in self._firm[at])

    def _free(self, domain: Domain, used: int) -> int:
        """The values of a domain that are not too early."""
        early = self.chain[used + 1 :]
        if len(early) < len(domain):
            return full_mask(domain) & ~mask_of(domain, early)
        places = ((index, 0 if key is None else self._places.get(key, 0)) for index, key in keys_of(domain))
        return sum(1 << index for index, place in places if place <= used)

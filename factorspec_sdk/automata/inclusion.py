"""``Inclusion``: every value of some slots (needles) is also taken by one of others (the haystack).

State ``(have, want)``: haystack values that a later needle may take, and needle values that a later slot of
the haystack must take. Values get bit numbers when they are first met::

    nodes before edges    have grows, then edges choose from it           want = 0
    edges before nodes    want grows, then nodes must take what is left    have = 0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from factorspec_sdk.automata.nodes import Code
from factorspec_sdk.automata.reading import (
    Key,
    Read,
    ReadingPlan,
    State,
    code_key,
    distinct_domains,
    keys_of,
    mask_of,
    null_bit,
    nullable,
    takes,
)
from factorspec_sdk.fields.domains import Domain


class Inclusion(ReadingPlan):
    """needle[at], hay[at]: what the slot is (it may be both).

    needles[at], hays[at]: domains of these slots from ``at`` on. firm[at]: of the needles from ``at`` on that
    are never null. num_hay[at]: haystack slots from ``at`` on; sure_hay[at]: those that are certain.
    num_needles[at]: needles from ``at`` on; early[at]: those of them that a slot of the haystack follows.
    """

    def __init__(self, needles: Iterable[Read], hay: Iterable[Read]) -> None:
        needles, hay = list(needles), list(hay)
        super().__init__([*needles, *hay])
        needle_slots, hay_slots = {slot for slot, _, _ in needles}, {slot for slot, _, _ in hay}
        self.needle = [slot in needle_slots for slot in self.slots]
        self.hay = [slot in hay_slots for slot in self.slots]
        self.needles = distinct_domains(self, lambda at: self.needle[at])
        self.firm = distinct_domains(self, lambda at: self.needle[at] and not nullable(self.domains[at]))
        self.hays = distinct_domains(self, lambda at: self.hay[at])
        self.num_needles = self._counts(self.needle)
        self.num_hay = self._counts(self.hay)
        early = [needle and self.num_hay[at + 1] > 0 for at, needle in enumerate(self.needle)]
        self.early = self._counts(early)
        self.sure_hay = self._counts([hay and self.certain(at) for at, hay in enumerate(self.hay)])
        self._keys: list[Key] = []
        self._bits: dict[Key, int] = {}

    def _counts(self, wanted: list[bool]) -> list[int]:
        return [sum(wanted[at:]) for at in range(len(wanted) + 1)]

    @property
    def start(self) -> State:
        return 0, 0

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        have, want = _parts(state)
        key = code_key(index, code)
        if key is not None:
            bit = self._bit(key)
            if self.hay[at]:
                have, want = have | bit, want & ~bit
            if self.needle[at] and not have & bit:
                want |= bit
        return self._state(at + 1, have, want)

    def skip(self, at: int, to: int, state: State) -> State | None:
        return self._state(to, *_parts(state))

    def _state(self, at: int, have: int, want: int) -> State | None:
        """The state before slot ``at``: without what no later slot asks for."""
        have = self._kept(have, self.needles[at])
        if want.bit_count() > self.num_hay[at] or self._kept(want, self.hays[at]) != want:
            return None
        return have, want

    def settled(self, at: int, state: State) -> bool:
        return not self.num_needles[at] and not _parts(state)[1]

    def allowed(self, at: int, state: State) -> int | None:
        have, want = _parts(state)
        domain = self.domains[at]
        if self.hay[at]:
            tight = want.bit_count() == self.num_hay[at] and not self.needle[at]
            return mask_of(domain, self._named(want)) if tight else None
        room = self.num_hay[at + 1] > want.bit_count()
        if room and any(other.key == domain.key for other in self.hays[at + 1]):
            return None
        mask = null_bit(domain) | mask_of(domain, self._named(have | want))
        if room and self.hays[at + 1]:
            later = self.hays[at + 1]
            mask |= sum(1 << i for i, key in keys_of(domain) if key and any(takes(d, key) for d in later))
        return mask

    def slack(self, at: int, state: State) -> bool:
        have, want = _parts(state)
        if not want and not self.early[at] and self._served(at, have):
            return True
        if not self._uniform(at):
            return False
        # one domain: a sure slot of the haystack for each value that is or may be wanted, and one to spare
        return want.bit_count() + self.early[at] < self.sure_hay[at]

    def completable(self, at: int, state: State) -> bool:
        have, want = _parts(state)
        if self.slack(at, state):
            return True
        spare = self.num_hay[at] > 0
        return self._uniform(at) and want.bit_count() <= spare and (spare or self._served(at, have))

    def _served(self, at: int, have: int) -> bool:
        """True if every needle still to come can take a value that is there."""
        named = list(self._named(have))
        return all(any(takes(domain, key) for key in named) for domain in self.firm[at])

    def _uniform(self, at: int) -> bool:
        """True if all slots from ``at`` on have one domain."""
        return len({domain.key for domain in (*self.needles[at], *self.hays[at])}) == 1

    def _bit(self, key: Key) -> int:
        found = self._bits.setdefault(key, len(self._keys))
        if found == len(self._keys):
            self._keys.append(key)
        return 1 << found

    def _named(self, bits: int) -> Iterator[Key]:
        """The keys of a set of bits."""
        while bits:
            low = bits & -bits
            yield self._keys[low.bit_length() - 1]
            bits ^= low

    def _kept(self, bits: int, domains: tuple[Domain, ...]) -> int:
        """The values that one of the domains takes."""
        if not bits or not domains:
            return 0
        return sum(self._bit(key) for key in self._named(bits) if any(takes(d, key) for d in domains))


def _parts(state: State) -> tuple[int, int]:
    assert isinstance(state, tuple)
    have, want = state
    return have, want


class Listed(ReadingPlan):
    """Every value is one of a fixed set; null and absent ones are skipped. It has one state."""

    def __init__(self, reads: Iterable[Read], keys: Iterable[Key]) -> None:
        super().__init__(reads)
        self.keys = frozenset(keys)

    @property
    def start(self) -> State:
        return ()

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        key = code_key(index, code)
        return state if key is None or key in self.keys else None

    def allowed(self, at: int, state: State) -> int | None:
        domain = self.domains[at]
        if len(self.keys) < len(domain):
            return null_bit(domain) | mask_of(domain, self.keys)
        return sum(1 << index for index, key in keys_of(domain) if key is None or key in self.keys)

    def slack(self, at: int, state: State) -> bool:
        return all(self.allowed(later, state) for later in range(at, len(self)))

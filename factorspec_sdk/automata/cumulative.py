"""``Cumulative``: at no moment do the items that run take more than the capacity.

State: the open items, and the *profile* of what the settled ones take::

    profile   9:00 ── 2 ── 10:00 ── 3 ── 11:00        12:00 ── 1 ── 12:30

Of the profile only what an open item can still meet is kept; where not even the least demand fits any more,
it counts as full.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from factorspec_sdk.automata.items import Item, end_slot
from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.nodes import Code, Condition, Known, Mark, NodeStore, SlotValue, ValueNode
from factorspec_sdk.automata.spans import INFINITE, Gap, mask_outside, room_between
from factorspec_sdk.fields.domains import Domain

#: (start, end, what is taken), disjoint and in order of time
Profile = tuple[tuple[int, int, int], ...]


class Cumulative(Condition):
    """``items`` (their ``detail`` is the demand) are open, ``profile`` is taken, up to ``capacity``."""

    __slots__ = ("capacity", "items", "profile")

    def __init__(
        self, store: NodeStore, profile: Profile, items: tuple[Item, ...], capacity: ValueNode
    ) -> None:
        slots = capacity.slots
        for one in items:
            slots |= one.slots
        super().__init__(store, slots)
        self.profile, self.items, self.capacity = profile, items, capacity

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        self.store.num_tried += 1 + (len(self.items) + len(self.profile)) // 4
        bit = 1 << slot
        items = [one.assign(slot, index, code) if one.slots & bit else one for one in self.items]
        return cumulative(self.store, items, self.capacity.assign(slot, index, code), self.profile)

    def _at(self, shift: int) -> Condition:
        items = [one.moved(shift) for one in self.items]
        return cumulative(self.store, items, self.capacity.moved(shift), self.profile)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        """By what the profile leaves for the one item that reads the slot, all values at once."""
        readers = [one for one in self.items if one.slots >> slot & 1]
        most = self.capacity.hi
        if len(readers) != 1 or self.capacity.slots >> slot & 1 or most is None or not self.capacity.definite:
            return None
        one = readers[0]
        start, end, demand = one.start, one.end, one.detail
        if isinstance(start, Known):
            if isinstance(end, Known):
                return self._allowed_demands(one, slot, domain, most)
            base = end_slot(end, slot)
            full = _full(self.profile, one, most)
            return None if base is None else mask_outside(domain, [_ending(start, b) for b in full], base)
        if not (one.firm or (one.certain and demand.definite)) or not one.least_length:
            return None
        for time, shift in ((start, 0), (end, -one.least_length)):
            if isinstance(time, SlotValue) and time.slot == slot:
                return mask_outside(domain, _barred(self.profile, one, most), shift)
        return None

    def _allowed_demands(self, one: Item, slot: int, domain: Domain, most: int) -> int | None:
        assert isinstance(one.start, Known) and isinstance(one.end, Known)
        start, end = one.start.number, one.end.number
        if not isinstance(one.detail, SlotValue) or one.detail.slot != slot or start is None or end is None:
            return None
        peak = max((load for lo, hi, load in self.profile if lo < end and start < hi), default=0)
        return mask_outside(domain, [(max(most - peak, 0), INFINITE)], 0)


def _full(profile: Profile, one: Item, most: int) -> list[tuple[int, int]]:
    """Where the item, with its least demand, does not fit."""
    least = max(one.detail.lo or 0, 0) if one.firm or one.detail.definite else 0
    return [(lo, hi) for lo, hi, load in profile if least and load + least > most]


def _barred(profile: Profile, one: Item, most: int) -> list[Gap]:
    """Open intervals of the starts that the profile forbids; its length is at least 1."""
    return [(lo - one.least_length, hi) for lo, hi in _full(profile, one, most)]


def _ending(start: Known, full: tuple[int, int]) -> Gap:
    """Open interval of the ends that a full stretch forbids an item that starts at ``start``."""
    if start.number is None or start.number >= full[1]:
        return 0, 0
    return max(full[0], start.number), INFINITE


def cumulative(
    store: NodeStore, items: Iterable[Item], capacity: ValueNode, profile: Profile = ()
) -> Condition:
    """The condition that the items, on top of the profile, stay within the capacity."""
    kept: list[Item] = []
    taken: list[tuple[int, int, int]] = []
    for one in items:
        found = _taken(one)
        if found is Mark.MISSING:
            return store.false
        if found is Mark.UNKNOWN:
            kept.append(one)
        elif isinstance(found, tuple):
            taken.append(found)
    if isinstance(capacity, Known) and capacity.number is None:
        return store.false if capacity.code is Mark.MISSING else store.unknown
    steps = stacked([*profile, *taken])
    peak = max((load for _, _, load in steps), default=0)
    if peak and capacity.definite and capacity.hi is not None and peak > capacity.hi:
        return store.false
    if not kept:
        return compare(store, "le", store.known(peak), capacity) if peak else store.true
    if isinstance(capacity, Known):
        assert capacity.number is not None
        steps = _relevant(steps, kept, capacity.number)
        if taken and not all(_has_room(steps, one, capacity.number) for one in kept):
            return store.false
    key = (Cumulative, steps, tuple(kept), capacity)
    return store.intern(key, lambda: Cumulative(store, steps, tuple(kept), capacity))


def _taken(one: Item) -> tuple[int, int, int] | Mark:
    """What the item takes; MISSING: it breaks the relation, ABSENT: it takes nothing, UNKNOWN: it is open."""
    mark = one.left_out
    if mark is not None:
        return mark
    start, end, demand = one.start, one.end, one.detail
    if not (isinstance(start, Known) and isinstance(end, Known)):
        return Mark.UNKNOWN
    assert start.number is not None and end.number is not None
    if end.number < start.number:
        return Mark.MISSING
    if end.number == start.number:
        return Mark.ABSENT
    if not isinstance(demand, Known):
        return Mark.UNKNOWN
    if demand.number is None or demand.number < 0:
        return Mark.MISSING if demand.number is not None or demand.code is Mark.MISSING else Mark.ABSENT
    return (start.number, end.number, demand.number) if demand.number else Mark.ABSENT


def stacked(taken: Sequence[tuple[int, int, int]]) -> Profile:
    """The profile of some (start, end, demand). O(n log n)."""
    change: dict[int, int] = {}
    for start, end, demand in taken:
        change[start] = change.get(start, 0) + demand
        change[end] = change.get(end, 0) - demand
    out: list[tuple[int, int, int]] = []
    load, last = 0, 0
    for time in sorted(change):
        if load and change[time]:
            out.append((last, time, load))
        if change[time]:
            load, last = load + change[time], time
    return tuple(out)


def _relevant(steps: Profile, kept: Sequence[Item], most: int) -> Profile:
    """What the open items can still meet; full stretches are taken up to the capacity."""
    least = min(max(one.detail.lo or 0, 0) if one.detail.definite else 0 for one in kept)
    raised = [(lo, hi, most - load if load + least > most else 0) for lo, hi, load in steps]
    steps = stacked([*steps, *((lo, hi, extra) for lo, hi, extra in raised if extra)])
    lows, highs = [one.start.lo for one in kept], [one.end.hi for one in kept]
    if None in lows or None in highs:
        return steps
    low, high = min(n for n in lows if n is not None), max(n for n in highs if n is not None)
    return tuple((max(lo, low), min(hi, high), load) for lo, hi, load in steps if hi > low and lo < high)


def _has_room(steps: Profile, one: Item, most: int) -> bool:
    """False if an item that must take place has no start left, by the bounds of its times."""
    low, high, end = one.start.lo, one.start.hi, one.end.hi
    if not one.certain or not one.detail.definite or not one.least_length or low is None or high is None:
        return True
    if end is not None:
        high = min(high, end - one.least_length)
    return room_between(low, high, _barred(steps, one, most))

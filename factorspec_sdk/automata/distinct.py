"""``Distinct``: values read one after the other differ pairwise. State: the set of used values.

Values are numbered over the union of the domains. Of the used ones only those are kept that a later
slot could still take, so that states merge; a pigeonhole test ends hopeless states early: the slots
that are certainly still to come need distinct unused values (Hall's condition on all of them, then
by augmenting paths where it is close).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Code, Condition, NodeStore
from factorspec_sdk.fields.domains import Domain, typed_key

#: matching is only tried where fewer than this many unused values are spare
_CLOSE = 12


@dataclass(frozen=True, eq=False)
class DistinctPlan:
    """What all states of one ``all_different`` share.

    slots: in writing order. bits[k][index]: universe number of a value of slot k, -1 for null.
    later[k]: universe mask of what slots k.. can take. certain[k]: of slots k.., those that are
    always present and never null, as masks of their values. open[k]: bit mask of slots k...
    aligned[k]: universe numbers of slot k are its indices. union[k]: of certain[k]; uniform[k]: those
    are all equal, so that counting suffices. bounded[k]: what slots k.. that cannot be null can take, each
    mask once.
    """

    slots: tuple[int, ...]
    bits: tuple[tuple[int, ...], ...]
    later: tuple[int, ...]
    certain: tuple[tuple[int, ...], ...]
    aligned: tuple[bool, ...]
    open: tuple[int, ...]
    union: tuple[int, ...]
    uniform: tuple[bool, ...]
    bounded: tuple[frozenset[int], ...]


def distinct_plan(elements: list[tuple[int, Domain, bool]]) -> DistinctPlan:
    """The plan for ``(slot, domain, optional)`` elements, which must be in writing order."""
    universe: dict[object, int] = {}
    bits: list[tuple[int, ...]] = []
    masks: list[int] = []
    shared: dict[object, tuple[int, ...]] = {}
    for _, domain, _ in elements:
        numbers = shared.get(domain.key)
        if numbers is None:
            codes = [domain.code(i) for i in range(len(domain))]
            numbers = tuple(
                -1 if c is None else universe.setdefault(typed_key(c), len(universe)) for c in codes
            )
            shared[domain.key] = numbers
        bits.append(numbers)
        masks.append(_mask_of(numbers))
    later: list[int] = [0]
    certain: list[tuple[int, ...]] = [()]
    tail: tuple[int, ...] = ()
    for (_, _, optional), numbers, mask in zip(elements[::-1], bits[::-1], masks[::-1], strict=True):
        later.append(later[-1] | mask)
        if not optional and -1 not in numbers:
            tail = (mask, *tail)
        certain.append(tail)
    aligned = tuple(numbers == tuple(range(len(numbers))) for numbers in bits)
    slots = tuple(slot for slot, _, _ in elements)
    still_open = tuple(sum(1 << slot for slot in slots[at:]) for at in range(len(slots) + 1))
    later, certain = later[::-1], certain[::-1]
    union = tuple(reduce(or_, masks, 0) for masks in certain)
    uniform = tuple(len(set(masks)) <= 1 for masks in certain)
    bounded = [frozenset[int]()]
    for numbers, mask in zip(bits[::-1], masks[::-1], strict=True):
        bounded.append(bounded[-1] if -1 in numbers else bounded[-1] | {mask})
    return DistinctPlan(
        slots,
        tuple(bits),
        tuple(later),
        tuple(certain),
        aligned,
        still_open,
        union,
        uniform,
        tuple(bounded[::-1]),
    )


def _mask_of(numbers: tuple[int, ...]) -> int:
    mask = 0
    for number in numbers:
        if number >= 0:
            mask |= 1 << number
    return mask


class Distinct(Condition):
    """Slots from ``at`` on are open; ``used`` is the universe mask of values taken that still matter."""

    __slots__ = ("at", "plan", "used")

    def __init__(self, store: NodeStore, plan: DistinctPlan, at: int, used: int) -> None:
        super().__init__(store, plan.open[at])
        self.plan, self.at, self.used = plan, at, used

    @property
    def movable(self) -> bool:
        return False

    @property
    def slack(self) -> bool:
        """Each open slot has at least as many unused values as there are open slots: none can run out."""
        rest = len(self.plan.slots) - self.at
        return all((mask & ~self.used).bit_count() >= rest for mask in self.plan.bounded[self.at])

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        at = self.plan.slots.index(slot, self.at)
        number = -1 if index == ABSENT_INDEX else self.plan.bits[at][index]
        if number >= 0 and self.used >> number & 1:
            return self.store.false
        used = self.used | (1 << number) if number >= 0 else self.used
        return distinct(self.store, self.plan, at + 1, used)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        at = self.plan.slots.index(slot, self.at)
        if self.plan.aligned[at]:
            return ((1 << len(domain)) - 1) & ~self.used
        bits = 0
        for index, number in enumerate(self.plan.bits[at]):
            if number < 0 or not self.used >> number & 1:
                bits |= 1 << index
        return bits


def distinct(store: NodeStore, plan: DistinctPlan, at: int = 0, used: int = 0) -> Condition:
    """The condition that the slots from ``at`` on differ from ``used`` and from each other."""
    if at == len(plan.slots):
        return store.true
    used &= plan.later[at]
    if not _fits(plan, at, used):
        return store.false
    return store.intern((Distinct, id(plan), at, used), lambda: Distinct(store, plan, at, used))


def _fits(plan: DistinctPlan, at: int, used: int) -> bool:
    """False if the certain slots from ``at`` on cannot all get distinct unused values."""
    certain = plan.certain[at]
    spare = (plan.union[at] & ~used).bit_count() - len(certain)
    if spare < 0:
        return False
    return spare >= _CLOSE or plan.uniform[at] or _matching([mask & ~used for mask in certain])


def _matching(options: list[int]) -> bool:
    """True if every slot can get its own value (Kuhn's augmenting paths, iterative depth-first)."""
    owner: dict[int, int] = {}
    return all(_augment(options, owner, slot) for slot in range(len(options)))


def _augment(options: list[int], owner: dict[int, int], slot: int) -> bool:
    seen = 0
    path: list[tuple[int, int]] = []  # (slot, value it wants)
    here = slot
    while True:
        free = options[here] & ~seen
        if not free:
            if not path:
                return False
            here = path.pop()[0]
            continue
        value = (free & -free).bit_length() - 1
        seen |= 1 << value
        path.append((here, value))
        if value not in owner:
            for taker, taken in path:
                owner[taken] = taker
            return True
        here = owner[value]

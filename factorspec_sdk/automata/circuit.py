"""``Circuit``: successors that are read one after the other form one circuit through the positions.

State: the paths that the successors so far make, each by its end (a position that is not read yet) and its
beginning (a position that nothing leads to yet)::

    read       0 → 3,  1 → 0,  2 → 4           positions 0, 1, 2; the next one is 3
    paths      (3, 1): 1 → 0 → 3               (4, 2): 2 → 4

What lies inside a path cannot matter any more. ``closed``: the circuit is complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Code, Condition, NodeStore
from factorspec_sdk.fields.domains import Domain

#: (end, beginning), in order of the ends
Paths = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class CircuitPlan:
    """What all states of one ``circuit`` share.

    slots: in writing order. positions: of the slots, where all of them are always there; None: they count
    in writing order over those that are there. certain[k]: how many of slots k.. are always there.
    start: the number of the first position. loops: a position that is its own successor is not visited.
    """

    slots: tuple[int, ...]
    positions: tuple[int, ...] | None
    certain: tuple[int, ...]
    start: int
    loops: bool

    @cached_property
    def open(self) -> tuple[int, ...]:
        """Bit mask of slots k.. for every k."""
        masks = [0]
        for slot in reversed(self.slots):
            masks.append(masks[-1] | 1 << slot)
        return tuple(reversed(masks))


class Circuit(Condition):
    """Slots from ``at`` on are open, ``count`` positions are read."""

    __slots__ = ("at", "closed", "count", "paths", "plan")

    def __init__(
        self, store: NodeStore, plan: CircuitPlan, at: int, count: int, paths: Paths, *, closed: bool
    ) -> None:
        super().__init__(store, plan.open[at])
        self.plan, self.at, self.count, self.paths, self.closed = plan, at, count, paths, closed

    @property
    def movable(self) -> bool:
        return False

    @property
    def here(self) -> int:
        """The position whose successor is read next."""
        return self.count if self.plan.positions is None else self.plan.positions[self.at]

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        store, plan, at = self.store, self.plan, self.at + 1
        store.num_tried += 1 + len(self.paths) // 4
        if index == ABSENT_INDEX:
            return circuit(store, plan, at, self.count, self.paths, closed=self.closed)
        if not isinstance(code, int) or isinstance(code, bool):
            return store.false
        after = self._follow(code - plan.start)
        if after is None:
            return store.false
        return circuit(store, plan, at, self.count + 1, after[0], closed=after[1])

    def _follow(self, target: int) -> tuple[Paths, bool] | None:
        """Paths, and whether the circuit is closed, once ``here`` leads to ``target``; None: it is broken."""
        here, paths = self.here, dict(self.paths)
        if target == here and self.plan.loops:
            return None if here in paths else (self.paths, self.closed)
        if self.closed:
            return None
        begin = paths.pop(here, here)
        if target == begin:
            may_close = self.plan.loops or not self.plan.certain[self.at + 1]
            return ((), True) if may_close and not paths else None
        if self._is_unread(target):
            end = None if target in paths else target
        else:
            end = next((end for end, first in paths.items() if first == target), None)
        if end is None:
            return None
        paths[end] = begin
        return tuple(sorted(paths.items())), False

    def _is_unread(self, target: int) -> bool:
        """True if ``target`` may be a position whose successor is read after this one."""
        positions, at = self.plan.positions, self.at
        if positions is not None:
            return target in positions[at + 1 :]
        return self.count < target < self.count + len(self.plan.slots) - at

    def allowed(self, slot: int, domain: Domain) -> int | None:
        """The successors that break nothing at once. O(values + paths)."""
        targets, start = self._targets(), self.plan.start
        bits = 0
        for index in range(len(domain)):
            code = domain.code(index)
            if isinstance(code, int) and not isinstance(code, bool):
                bits |= (code - start in targets) << index
        return bits

    def _targets(self) -> set[int]:
        """The positions that ``_follow`` takes: its cases one by one."""
        here, plan = self.here, self.plan
        ends = dict(self.paths)
        found = {here} if plan.loops and here not in ends else set()
        if self.closed:
            return found
        begin = ends.pop(here, here)
        if not ends and (plan.loops or not plan.certain[self.at + 1]) and not (plan.loops and begin == here):
            found.add(begin)
        found.update(ends.values())
        if plan.positions is None:
            unread: Iterable[int] = range(self.count + 1, self.count + len(plan.slots) - self.at)
        else:
            unread = plan.positions[self.at + 1 :]
        found.update(target for target in unread if target not in ends)
        return found


def circuit(
    store: NodeStore,
    plan: CircuitPlan,
    at: int = 0,
    count: int = 0,
    paths: Paths = (),
    *,
    closed: bool = False,
) -> Condition:
    """The condition that the successors of the slots from ``at`` on complete the circuit."""
    left = len(plan.slots) - at
    if not left:
        return store.truth(not paths and (closed or not count))
    if plan.positions is None and any(end >= count + left for end, _ in paths):
        return store.false
    key = (Circuit, id(plan), at, count, paths, closed)
    return store.intern(key, lambda: Circuit(store, plan, at, count, paths, closed=closed))

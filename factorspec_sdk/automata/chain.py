"""``Chain``: numbers read one after the other stand in order; null and absent ones are skipped."""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.automata.nodes import Code, Condition, NodeStore


@dataclass(frozen=True, eq=False)
class ChainPlan:
    """slots: in writing order. sign 1 for rising, -1 for falling. gap: 1 for strict, 0 otherwise."""

    slots: tuple[int, ...]
    sign: int
    gap: int


class Chain(Condition):
    """Slots from ``at`` on are open; ``last`` is the last number seen, None before the first."""

    __slots__ = ("at", "last", "plan")

    def __init__(self, store: NodeStore, plan: ChainPlan, at: int, last: int | None) -> None:
        super().__init__(store, sum(1 << slot for slot in plan.slots[at:]))
        self.plan, self.at, self.last = plan, at, last

    @property
    def movable(self) -> bool:
        return False

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        at = self.plan.slots.index(slot, self.at) + 1
        if not isinstance(code, int) or isinstance(code, bool):
            return chain(self.store, self.plan, at, self.last)
        if self.last is not None and self.plan.sign * (code - self.last) < self.plan.gap:
            return self.store.false
        return chain(self.store, self.plan, at, code)


def chain(store: NodeStore, plan: ChainPlan, at: int = 0, last: int | None = None) -> Condition:
    """The condition that the numbers of the slots from ``at`` on continue the order after ``last``."""
    if at == len(plan.slots):
        return store.true
    return store.intern((Chain, id(plan), at, last), lambda: Chain(store, plan, at, last))

"""``Reading``: an automaton that reads slots in writing order. What it does is in its ``ReadingPlan``.

    slots    s0        s1        s2                     in writing order, each once
    state    x0  ──►   x1  ──►   x2  ──►  TRUE          hashable; ``None`` instead of a state is FALSE

The plan of a relation is shared by all its states, so that a state holds what was read and no more.
States merge where a plan forgets what no later slot asks for. The last step decides: it gives a state
(the relation holds) or None (it is broken).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable

from factorspec_sdk.automata.nodes import (
    ABSENT_INDEX,
    Code,
    Condition,
    NodeStore,
)
from factorspec_sdk.fields.domains import Domain, Scalar, typed_key

State = Hashable
#: (slot, its domain, it can be absent)
Read = tuple[int, Domain, bool]


class ReadingPlan(ABC):
    """What all states of one automaton share.

    slots: in writing order, each once. domains, optional: of the slots. open[at]: bit mask of slots at...
    """

    def __init__(self, reads: Iterable[Read]) -> None:
        unique = {slot: (domain, optional) for slot, domain, optional in reads}
        self.slots = tuple(sorted(unique))
        self.domains: tuple[Domain, ...] = tuple(unique[slot][0] for slot in self.slots)
        self.optional = tuple(unique[slot][1] for slot in self.slots)
        still, masks = 0, [0]
        for slot in reversed(self.slots):
            still |= 1 << slot
            masks.append(still)
        self.open = tuple(masks[::-1])

    def __len__(self) -> int:
        return len(self.slots)

    @abstractmethod
    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        """The state after slot ``at`` took a value (``ABSENT_INDEX``: none); None where all is lost."""

    def allowed(self, at: int, state: State) -> int | None:
        """Indices of slot ``at`` after which ``step`` gives a state, maybe more; None: not known."""
        return None

    def certain(self, at: int) -> bool:
        """True if slot ``at`` is always there and never null."""
        return not self.optional[at] and not nullable(self.domains[at])


class Reading(Condition):
    """Slots from ``at`` on are open."""

    __slots__ = ("at", "plan", "state")

    def __init__(self, store: NodeStore, plan: ReadingPlan, at: int, state: State) -> None:
        super().__init__(store, plan.open[at])
        self.plan, self.at, self.state = plan, at, state

    @property
    def movable(self) -> bool:
        return False

    @property
    def crisp(self) -> bool:
        return True

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        assert self.plan.slots[self.at] == slot, "slots are read in writing order"
        state = self.plan.step(self.at, self.state, index, code)
        return self.store.false if state is None else reading(self.store, self.plan, self.at + 1, state)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        return self.plan.allowed(self.at, self.state) if self.plan.slots[self.at] == slot else None


def reading(store: NodeStore, plan: ReadingPlan, at: int, state: State) -> Condition:
    """The condition that the plan goes on from ``state`` to its end."""
    if at == len(plan.slots):
        return store.true
    return store.intern((Reading, id(plan), at, state), lambda: Reading(store, plan, at, state))


def nullable(domain: Domain) -> bool:
    """True if null is one of the values."""
    return domain.index_of_code(None) is not None


def code_key(index: int, code: Code) -> Hashable | None:
    """What a value is compared by; None for null and absent ones."""
    if index == ABSENT_INDEX or code is None:
        return None
    assert isinstance(code, bool | int | str)
    return typed_key(code)


def mask_of(domain: Domain, codes: Iterable[Scalar]) -> int:
    """Bit mask of the domain's values with these codes; others are skipped."""
    mask = 0
    for code in codes:
        at = domain.index_of_code(code)
        if at is not None:
            mask |= 1 << at
    return mask

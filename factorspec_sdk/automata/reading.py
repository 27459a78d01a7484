"""``Reading``: an automaton that reads slots in writing order. What it does is in its ``ReadingPlan``.

    slots    s0        s1        s2                     in writing order, each once
    state    x0  ──►   x1  ──►   x2  ──►  TRUE          hashable; ``None`` instead of a state is FALSE

The plan of a relation is shared by all its states, so that a state holds what was read and no more.
States merge where a plan forgets what no later slot asks for. The last step decides: it gives a state
(the relation holds) or None (it is broken).

Plans name a value by its *key* (``code_key``); null and absent ones have none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Code, Condition, Mark, NodeStore
from factorspec_sdk.fields.domains import Domain, Scalar, typed_key

State = Hashable
#: what values are compared by: ``typed_key`` of their code
Key = tuple[str, Scalar]
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

    @property
    @abstractmethod
    def start(self) -> State | None:
        """The state before the first slot; None where nothing satisfies the plan."""

    @abstractmethod
    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        """The state after slot ``at`` took a value (``ABSENT_INDEX``: none); None where all is lost."""

    def skip(self, at: int, to: int, state: State) -> State | None:
        """The state after the slots ``at`` to ``to`` - 1 turned out to be absent; None where all is lost."""
        found: State | None = state
        for absent in range(at, to):
            if found is not None:
                found = self.step(absent, found, ABSENT_INDEX, Mark.ABSENT)
        return found

    def allowed(self, at: int, state: State) -> int | None:
        """Indices of slot ``at`` after which ``step`` gives a state, maybe more; None: not known."""
        return None

    def settled(self, at: int, state: State) -> bool:
        """True if no value of the slots from ``at`` on can break it."""
        return at == len(self)

    def slack(self, at: int, state: State) -> bool:
        """True if it can be completed after whatever value ``allowed`` gives, whichever slots occur."""
        return False

    def completable(self, at: int, state: State) -> bool:
        """True if it can be completed; one more slot may be made to occur for that, but not two at once."""
        return self.slack(at, state)

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

    @property
    def slack(self) -> bool:
        return self.plan.slack(self.at, self.state)

    @property
    def completable(self) -> bool:
        return self.plan.completable(self.at, self.state)

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        assert self.plan.slots[self.at] == slot, "slots are read in writing order"
        return _reading(self.store, self.plan, self.at + 1, self.plan.step(self.at, self.state, index, code))

    def without(self, slots: Sequence[int]) -> Condition:
        to = self.at + len(slots)
        assert self.plan.slots[self.at : to] == tuple(slots), "slots are read in writing order"
        return _reading(self.store, self.plan, to, self.plan.skip(self.at, to, self.state))

    def allowed(self, slot: int, domain: Domain) -> int | None:
        return self.plan.allowed(self.at, self.state) if self.plan.slots[self.at] == slot else None


def reading(store: NodeStore, plan: ReadingPlan) -> Condition:
    """The condition that the values of the plan's slots lead from its start to its end."""
    return _reading(store, plan, 0, plan.start)


def _reading(store: NodeStore, plan: ReadingPlan, at: int, state: State | None) -> Condition:
    if state is None:
        return store.false
    if plan.settled(at, state):
        return store.true
    return store.intern((Reading, id(plan), at, state), lambda: Reading(store, plan, at, state))


def nullable(domain: Domain) -> bool:
    """True if null is one of the values."""
    return domain.index_of_code(None) is not None


def code_key(index: int, code: Code) -> Key | None:
    """What a value is compared by; None for null and absent ones."""
    if index == ABSENT_INDEX or code is None:
        return None
    assert isinstance(code, bool | int | str)
    return typed_key(code)


def mask_of(domain: Domain, keys: Iterable[Key]) -> int:
    """Bit mask of the domain's values with these keys; others are skipped."""
    mask = 0
    for _, code in keys:
        at = domain.index_of_code(code)
        if at is not None:
            mask |= 1 << at
    return mask


def null_bit(domain: Domain) -> int:
    """Bit mask of null, 0 where it is none of the values."""
    at = domain.index_of_code(None)
    return 0 if at is None else 1 << at


def full_mask(domain: Domain) -> int:
    """Bit mask of all values."""
    return (1 << len(domain)) - 1


def takes(domain: Domain, key: Key) -> bool:
    """True if a value with this key is among the domain's."""
    return domain.index_of_code(key[1]) is not None


def keys_of(domain: Domain) -> Iterator[tuple[int, Key | None]]:
    """(index, key) of all values. O(len(domain))."""
    for index in range(len(domain)):
        code = domain.code(index)
        yield index, None if code is None else typed_key(code)


def distinct_domains(plan: ReadingPlan, wanted: Callable[[int], bool]) -> tuple[tuple[Domain, ...], ...]:
    """For each position, the domains of the wanted slots from there on, equal ones once."""
    later: list[tuple[Domain, ...]] = [()]
    for at in reversed(range(len(plan))):
        known, domain = later[-1], plan.domains[at]
        new = wanted(at) and all(domain.key != other.key for other in known)
        later.append((*known, domain) if new else known)
    return tuple(later[::-1])

"""Nodes: what is still open of a value or a condition, after some slots were read.

Values (``ValueNode``) become constants, conditions (``Condition``) become TRUE, FALSE or UNKNOWN as
slots are assigned in writing order::

    node.assign(slot, index, code) -> node     the residual; index ABSENT (-1) for a skipped slot
    node.slots                                 bit mask of the slots still open

Nodes are interned by a ``NodeStore``: structurally equal nodes are the same object, compared by
identity. ``assign`` is memoised per node. Semantics: ``relations/evaluate.py`` (three truth values;
MISSING makes the comparison around it false and dominates UNKNOWN).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import TypeVar

from factorspec_sdk.fields.domains import Domain, IntRange, Scalar, is_numeric

#: index of a slot that does not occur in the record
ABSENT_INDEX = -1
_UNREAD = -2


class Mark(Enum):
    """Values that are no JSON scalar; see ``relations/view.py``."""

    ABSENT = "absent"
    UNKNOWN = "unknown"
    MISSING = "missing"
    COMPOUND = "compound"


Code = Scalar | Mark


class Node:
    """Base: slots still open, and the memo of residuals."""

    __slots__ = ("_memo", "_moved", "slots", "store")

    def __init__(self, store: NodeStore, slots: int) -> None:
        self.store = store
        self.slots = slots
        self._memo: dict[tuple[int, int], Node] = {}
        self._moved: dict[int, Node] | None = None

    def forget(self) -> None:
        """Drop all memos."""
        self._memo.clear()
        self._moved = None

    @property
    def movable(self) -> bool:
        """True if ``moved`` works: the node names its slots by number only."""
        return True


class ValueNode(Node):
    """A value that is not known yet.

    lo, hi: bounds of the number it will be, None where unknown or not a number.
    definite: it will be a number for sure (not null, unknown or missing).
    may_miss: it may turn out MISSING.
    """

    __slots__ = ("definite", "hi", "lo", "may_miss")

    def __init__(
        self, store: NodeStore, slots: int, lo: int | None, hi: int | None, definite: bool, may_miss: bool
    ) -> None:
        super().__init__(store, slots)
        self.lo, self.hi, self.definite, self.may_miss = lo, hi, definite, may_miss

    def assign(self, slot: int, index: int, code: Code) -> ValueNode:
        """The value after ``slot`` took ``code``. Memoised."""
        if not self.slots >> slot & 1:
            return self
        found = self._memo.get((slot, index))
        if found is None:
            found = self._memo[slot, index] = self._residual(slot, index, code)
        assert isinstance(found, ValueNode)
        return found

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        raise NotImplementedError

    def moved(self, shift: int) -> ValueNode:
        """The same value of the slots whose numbers are higher by ``shift``. Memoised."""
        if not self.slots or not shift:
            return self
        memo = self._moved
        if memo is None:
            memo = self._moved = {}
        found = memo.get(shift)
        if found is None:
            found = memo[shift] = self._at(shift)
        assert isinstance(found, ValueNode)
        return found

    def _at(self, shift: int) -> ValueNode:
        raise NotImplementedError

    def clamped(self, lo: int, hi: int) -> ValueNode:
        """A value that compares with numbers between ``lo`` and ``hi`` alike, and in fewer forms."""
        return self

    def settles(self, lo: int | None, hi: int | None) -> bool:
        """True if it ends in ``[lo, hi]``, or is no number, whatever values ``fitting`` gives are taken."""
        return False

    def can_settle(self, lo: int | None, hi: int | None) -> bool:
        """True if it can come to lie in ``[lo, hi]``. May be False where that is costly to tell."""
        return self.settles(lo, hi)

    def fitting(self, slot: int, codes: IntRange, lo: int | None, hi: int | None) -> int | None:
        """Mask of the indices of ``slot`` with which this value may lie in ``[lo, hi]``; None: not known."""
        return None


class Condition(Node):
    """A condition that is not decided yet. ``based``: memo of ``relative``."""

    __slots__ = ("_advanced", "_masks", "based")

    def __init__(self, store: NodeStore, slots: int) -> None:
        super().__init__(store, slots)
        self.based: Condition | None = None
        self._advanced: dict[int, Condition] = {}
        self._masks: dict[int, int | None] = {}

    def forget(self) -> None:
        super().forget()
        self._advanced.clear()
        self.based = None

    @property
    def crisp(self) -> bool:
        """True if it cannot become UNKNOWN."""
        return False

    @property
    def slack(self) -> bool:
        """True if it can be completed whatever values its masks allow, taken one after the other.

        May be False where that is so but costly to tell.
        """
        return False

    @property
    def completable(self) -> bool:
        """True if it can be completed where it is all that is still open: some slots may be made to occur.

        May be False where that is so but costly to tell.
        """
        return self.slack

    def assign(self, slot: int, index: int, code: Code) -> Condition:
        """The condition after ``slot`` took ``code``. Memoised."""
        if not self.slots >> slot & 1:
            return self
        found = self._memo.get((slot, index))
        if found is None:
            found = self._memo[slot, index] = self._residual(slot, index, code)
        assert isinstance(found, Condition)
        return found

    def without(self, slots: Sequence[int]) -> Condition:
        """The condition after these slots, the next ones that it reads, turned out to be absent."""
        found = self
        for slot in slots:
            found = found.assign(slot, ABSENT_INDEX, Mark.ABSENT)
        return found

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        raise NotImplementedError

    def moved(self, shift: int) -> Condition:
        """The same condition on the slots whose numbers are higher by ``shift``. Memoised."""
        if not self.slots or not shift:
            return self
        memo = self._moved
        if memo is None:
            memo = self._moved = {}
        found = memo.get(shift)
        if found is None:
            found = memo[shift] = self._at(shift)
            assert isinstance(found, Condition)
            if found.based is None:
                found.based = self.based
        assert isinstance(found, Condition)
        return found

    def relative(self) -> Condition:
        """The same condition with its first slot as slot 0; moved copies made afterwards share it."""
        if self.based is None:
            self.based = self.moved(1 - (self.slots & -self.slots).bit_length())
        return self.based

    def _at(self, shift: int) -> Condition:
        raise NotImplementedError

    def advance(self, index: int, code: Code) -> Condition:
        """The residual after slot 0 took ``code``, with the next slot as slot 0. Memoised."""
        memo = self._advanced
        key = index if self.slots & 1 else _UNREAD
        found = memo.get(key)
        if found is None:
            found = memo[key] = self._advance(index, code)
        return found

    def _advance(self, index: int, code: Code) -> Condition:
        return self.assign(0, index, code).moved(-1)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        """Fast path of ``mask``, memoised by ``mask_or_none``; None where there is none."""
        return None

    def mask_or_none(self, slot: int, domain: Domain) -> int | None:
        """``mask`` where it is cheap or exact, None where it would be full. Memoised."""
        if slot in self._masks:
            return self._masks[slot]
        found = self.allowed(slot, domain)
        if found is None and not self.slots & (self.slots - 1):
            self.store.num_tried += len(domain)
            found = self.leaves(slot, domain)
        self._masks[slot] = found
        return found

    def leaves(self, slot: int, domain: Domain) -> int:
        """Bit mask of the indices after which a condition on ``slot`` alone is not false, exactly.

        O(len(domain)) residuals.
        """
        false = self.store.false
        tried = (self.assign(slot, index, domain.code(index)) for index in range(len(domain)))
        return sum(1 << index for index, node in enumerate(tried) if node is not false)

    def mask(self, slot: int, domain: Domain) -> int:
        """Bit mask of the indices of ``slot`` that may be taken: all after which this can hold, maybe more.

        Without a fast path: exact where ``slot`` is all that is open (O(len(domain)) residuals), else full.
        """
        found = self.mask_or_none(slot, domain)
        return (1 << len(domain)) - 1 if found is None else found


class Truth(Condition):
    """A decided condition."""

    __slots__ = ("name",)

    def __init__(self, store: NodeStore, name: str) -> None:
        super().__init__(store, 0)
        self.name = name

    @property
    def crisp(self) -> bool:
        return self is not self.store.unknown

    def __repr__(self) -> str:
        return self.name


class Known(ValueNode):
    """A constant value."""

    __slots__ = ("code",)

    def __init__(self, store: NodeStore, code: Code) -> None:
        number = code if isinstance(code, int) and not isinstance(code, bool) else None
        super().__init__(store, 0, number, number, number is not None, code is Mark.MISSING)
        self.code = code

    @property
    def number(self) -> int | None:
        """The value if it is a number."""
        return self.lo


class SlotValue(ValueNode):
    """The code of a slot. ``nullable``: it is not a number for sure even where the slot is present."""

    __slots__ = ("always_present", "domain", "nullable", "slot")

    def __init__(self, store: NodeStore, slot: int, domain: Domain, optional: bool) -> None:
        codes = _numeric_bounds(domain)
        definite = codes is not None and codes[2] and not optional
        lo, hi = (codes[0], codes[1]) if codes is not None else (None, None)
        super().__init__(store, 1 << slot, lo, hi, definite, False)
        self.slot, self.domain, self.always_present = slot, domain, not optional
        self.nullable = codes is None or not codes[2]

    def _at(self, shift: int) -> ValueNode:
        return self.store.slot(self.slot + shift, self.domain, not self.always_present)

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return self.store.known(code)


def _numeric_bounds(domain: Domain) -> tuple[int, int, bool] | None:
    """(lo, hi, no value is null) of the domain's number codes; None if some are neither null nor numbers."""
    if not is_numeric(domain.code_type):
        return None
    size = len(domain)
    if domain.stride is not None:
        first, last = domain.code(0), domain.code(size - 1)
        assert isinstance(first, int) and isinstance(last, int)
        return first, last, True
    codes = [domain.code(i) for i in range(size)]
    numbers = [c for c in codes if isinstance(c, int) and not isinstance(c, bool)]
    if not numbers or any(isinstance(c, str | bool) for c in codes):
        return None
    return min(numbers), max(numbers), len(numbers) == size


NodeT = TypeVar("NodeT", bound=Node)


class NodeStore:
    """Interns nodes. One store per compiled spec; it grows as states are discovered.

    num_tried: values that masks tried one by one so far.
    """

    def __init__(self) -> None:
        self._nodes: dict[Hashable, Node] = {}
        self.num_tried = 0
        self.true = Truth(self, "TRUE")
        self.false = Truth(self, "FALSE")
        self.unknown = Truth(self, "UNKNOWN")

    def dissolve(self) -> None:
        """Cut the references between nodes and store, so that they are freed at once and not by the cyclic
        collector. The store and its nodes must not be used afterwards.
        """
        for node in self._nodes.values():
            node.forget()
        self._nodes.clear()

    def __len__(self) -> int:
        return len(self._nodes)

    def forget(self) -> None:
        """Forget what was derived, so that memory stays bounded. Nodes in use stay right; equal ones that are
        made from now on are other objects, but for the values of slots, by which sums join their terms.
        """
        kept = {key: node for key, node in self._nodes.items() if isinstance(node, SlotValue)}
        self.dissolve()
        self._nodes.update(kept)

    def intern(self, key: Hashable, make: Callable[[], NodeT]) -> NodeT:
        """The node under ``key``, made once."""
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = make()
        return found  # type: ignore[return-value]  # a key begins with its node's class

    def find(self, key: Hashable) -> Condition | None:
        """The condition under ``key`` if it was made."""
        found = self._nodes.get(key)
        assert found is None or isinstance(found, Condition)
        return found

    def truth(self, value: bool | None) -> Truth:
        """TRUE, FALSE or UNKNOWN."""
        return self.unknown if value is None else self.true if value else self.false

    def known(self, code: Code) -> Known:
        """The constant ``code``."""
        return self.intern((Known, type(code).__name__, code), lambda: Known(self, code))

    def slot(self, slot: int, domain: Domain, optional: bool) -> SlotValue:
        """The value of a slot; ``optional`` if the slot can be absent."""
        key = (SlotValue, slot, id(domain), optional)
        return self.intern(key, lambda: SlotValue(self, slot, domain, optional))


def union_slots(nodes: Sequence[Node]) -> int:
    """Slots open in any of the nodes."""
    bits = 0
    for node in nodes:
        bits |= node.slots
    return bits

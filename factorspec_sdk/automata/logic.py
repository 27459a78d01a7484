"""Three-valued logic over conditions, equality of arbitrary values, and conditions read as values."""

from __future__ import annotations

from collections.abc import Iterable

from factorspec_sdk.automata.nodes import (
    Code,
    Condition,
    Known,
    Mark,
    NodeStore,
    SlotValue,
    Truth,
    ValueNode,
    union_slots,
)
from factorspec_sdk.fields.domains import Domain, typed_key


class And(Condition):
    """Conjunction; ``unknown``: an unknown part was seen, so it cannot become TRUE any more."""

    __slots__ = ("parts", "unknown")

    def __init__(self, store: NodeStore, parts: tuple[Condition, ...], unknown: bool) -> None:
        super().__init__(store, union_slots(parts))
        self.parts, self.unknown = parts, unknown

    @property
    def crisp(self) -> bool:
        return not self.unknown and all(part.crisp for part in self.parts)

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        parts = [part.assign(slot, index, code) for part in self.parts]
        return conjunction(self.store, parts, self.unknown)

    def _at(self, shift: int) -> Condition:
        return conjunction(self.store, [part.moved(shift) for part in self.parts], self.unknown)

    @property
    def movable(self) -> bool:
        return all(part.movable for part in self.parts)

    def _advance(self, index: int, code: Code) -> Condition:
        return conjunction(self.store, [part.advance(index, code) for part in self.parts], self.unknown)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        mask = -1
        for part in self.parts:
            if part.slots >> slot & 1:
                own = part.mask_or_none(slot, domain)
                if own is not None:
                    mask &= own
        return None if mask == -1 else mask


def conjunction(store: NodeStore, parts: Iterable[Condition], unknown: bool = False) -> Condition:
    """Three-valued "and"; nested conjunctions are flattened."""
    false, true, none = store.false, store.true, store.unknown
    kept: dict[Condition, None] = {}
    for part in parts:
        if part is true:
            continue
        if part is false:
            return part
        if part is none:
            unknown = True
        elif type(part) is And:
            unknown = unknown or part.unknown
            kept.update(dict.fromkeys(part.parts))
        else:
            kept[part] = None
    if not kept:
        return none if unknown else true
    if len(kept) == 1 and not unknown:
        return next(iter(kept))
    key = (And, frozenset(kept), unknown)
    found = store.find(key)
    return store.intern(key, lambda: And(store, tuple(kept), unknown)) if found is None else found


def parts_of(condition: Condition) -> list[Condition]:
    """The conjuncts that are not true or unknown; a false one is kept."""
    if type(condition) is And:
        return list(condition.parts)
    return [] if condition is condition.store.true or condition is condition.store.unknown else [condition]


class Not(Condition):
    """Negation of an open condition."""

    __slots__ = ("inner",)

    def __init__(self, store: NodeStore, inner: Condition) -> None:
        super().__init__(store, inner.slots)
        self.inner = inner

    @property
    def crisp(self) -> bool:
        return self.inner.crisp

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        return negation(self.store, self.inner.assign(slot, index, code))

    def _advance(self, index: int, code: Code) -> Condition:
        return negation(self.store, self.inner.advance(index, code))

    def _at(self, shift: int) -> Condition:
        return negation(self.store, self.inner.moved(shift))


def negation(store: NodeStore, inner: Condition) -> Condition:
    """Three-valued "not"."""
    if isinstance(inner, Truth):
        return inner if inner is store.unknown else store.truth(inner is store.false)
    if isinstance(inner, Not):
        return inner.inner
    return store.intern((Not, inner), lambda: Not(store, inner))


def disjunction(store: NodeStore, parts: Iterable[Condition]) -> Condition:
    """Three-valued "or"."""
    return negation(store, conjunction(store, [negation(store, part) for part in parts]))


class Same(Condition):
    """Equality of two values of any type (``positive``), or inequality; null equals null."""

    __slots__ = ("left", "positive", "right")

    def __init__(self, store: NodeStore, left: ValueNode, right: ValueNode, positive: bool) -> None:
        super().__init__(store, left.slots | right.slots)
        self.left, self.right, self.positive = left, right, positive

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        left, right = self.left.assign(slot, index, code), self.right.assign(slot, index, code)
        return same(self.store, left, right, self.positive)

    def _at(self, shift: int) -> Condition:
        return same(self.store, self.left.moved(shift), self.right.moved(shift), self.positive)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        for one, other in ((self.left, self.right), (self.right, self.left)):
            if isinstance(one, SlotValue) and one.slot == slot and isinstance(other, Known):
                if isinstance(other.code, Mark):
                    return None
                at = domain.index_of_code(other.code)
                bit = 0 if at is None else 1 << at
                return bit if self.positive else ((1 << len(domain)) - 1) & ~bit
        return None


def same(store: NodeStore, left: ValueNode, right: ValueNode, positive: bool = True) -> Condition:
    """``left == right`` (or ``!=``) on codes of any type."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Known) and isinstance(one.code, Mark):
            if one.code is Mark.MISSING:
                return store.false
            if one.code is not Mark.COMPOUND and not other.may_miss:
                return store.unknown
    if isinstance(left, Known) and isinstance(right, Known):
        if isinstance(left.code, Mark) or isinstance(right.code, Mark):  # a compound equals no scalar
            marks = {left.code, right.code} & {Mark.ABSENT, Mark.UNKNOWN}
            return store.unknown if marks else store.truth(not positive)
        return store.truth((typed_key(left.code) == typed_key(right.code)) is positive)
    return store.intern((Same, left, right, positive), lambda: Same(store, left, right, positive))


class Occurs(Condition):
    """The slot occurs and takes the value at ``index``: presence of an item, of an optional part."""

    __slots__ = ("index",)

    def __init__(self, store: NodeStore, slot: int, index: int) -> None:
        super().__init__(store, 1 << slot)
        self.index = index

    @property
    def crisp(self) -> bool:
        return True

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        return self.store.truth(index == self.index)

    def _at(self, shift: int) -> Condition:
        return occurs(self.store, (self.slots.bit_length() - 1 + shift, self.index))

    def allowed(self, slot: int, domain: Domain) -> int | None:
        return 1 << self.index


def occurs(store: NodeStore, presence: tuple[int, int] | None) -> Condition:
    """True where ``(slot, index)`` holds; None is always there."""
    if presence is None:
        return store.true
    slot, index = presence
    return store.intern((Occurs, slot, index), lambda: Occurs(store, slot, index))


class IsTrue(Condition):
    """A value read as a condition: true where it is the boolean ``true``."""

    __slots__ = ("value",)

    def __init__(self, store: NodeStore, value: ValueNode) -> None:
        super().__init__(store, value.slots)
        self.value = value

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        return is_true(self.store, self.value.assign(slot, index, code))

    def _at(self, shift: int) -> Condition:
        return is_true(self.store, self.value.moved(shift))


def is_true(store: NodeStore, value: ValueNode) -> Condition:
    """Truth of a boolean value; null and absent are unknown, MISSING is false."""
    if isinstance(value, Known):
        if isinstance(value.code, bool):
            return store.truth(value.code)
        return store.false if value.code is Mark.MISSING else store.unknown
    if isinstance(value, AsBool):
        return value.condition
    return store.intern((IsTrue, value), lambda: IsTrue(store, value))


class AsBool(ValueNode):
    """A condition read as a boolean value."""

    __slots__ = ("condition",)

    def __init__(self, store: NodeStore, condition: Condition) -> None:
        super().__init__(store, condition.slots, None, None, False, False)
        self.condition = condition

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return as_bool(self.store, self.condition.assign(slot, index, code))

    def _at(self, shift: int) -> ValueNode:
        return as_bool(self.store, self.condition.moved(shift))


def as_bool(store: NodeStore, condition: Condition) -> ValueNode:
    """The boolean value of a condition; UNKNOWN where it is unknown."""
    if isinstance(condition, Truth):
        return store.known(Mark.UNKNOWN if condition is store.unknown else condition is store.true)
    return store.intern((AsBool, condition), lambda: AsBool(store, condition))


class Indicator(ValueNode):
    """1 where the condition is true, else 0."""

    __slots__ = ("condition",)

    def __init__(self, store: NodeStore, condition: Condition) -> None:
        super().__init__(store, condition.slots, 0, 1, True, False)
        self.condition = condition

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return indicator(self.store, self.condition.assign(slot, index, code))

    def _at(self, shift: int) -> ValueNode:
        return indicator(self.store, self.condition.moved(shift))


def indicator(store: NodeStore, condition: Condition) -> ValueNode:
    """1 where the condition is true, 0 where it is false or unknown."""
    if isinstance(condition, Truth):
        return store.known(int(condition is store.true))
    return store.intern((Indicator, condition), lambda: Indicator(store, condition))

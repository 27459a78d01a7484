"""Three-valued logic over conditions, equality of arbitrary values, and values chosen by conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from factorspec_sdk.automata.linear import linear
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


class Choose(ValueNode):
    """One of two values, by a condition; UNKNOWN where the condition is."""

    __slots__ = ("condition", "no", "yes")

    def __init__(self, store: NodeStore, condition: Condition, yes: ValueNode, no: ValueNode) -> None:
        slots = condition.slots | yes.slots | no.slots
        lo, hi = _hull((yes, no))
        definite = condition.crisp and yes.definite and no.definite
        super().__init__(store, slots, lo, hi, definite, yes.may_miss or no.may_miss)
        self.condition, self.yes, self.no = condition, yes, no

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        condition = self.condition.assign(slot, index, code)
        yes, no = self.yes.assign(slot, index, code), self.no.assign(slot, index, code)
        return choose(self.store, condition, yes, no)

    def _at(self, shift: int) -> ValueNode:
        return choose(self.store, self.condition.moved(shift), self.yes.moved(shift), self.no.moved(shift))


def choose(store: NodeStore, condition: Condition, yes: ValueNode, no: ValueNode) -> ValueNode:
    """``yes`` where the condition is true, ``no`` where it is false."""
    if isinstance(condition, Truth):
        if condition is store.unknown:
            return store.known(Mark.UNKNOWN)
        return yes if condition is store.true else no
    return store.intern((Choose, condition, yes, no), lambda: Choose(store, condition, yes, no))


class OrZero(ValueNode):
    """The number, or 0 where it is null, absent or unknown (sums skip those)."""

    __slots__ = ("inner",)

    def __init__(self, store: NodeStore, inner: ValueNode) -> None:
        lo, hi = inner.lo, inner.hi
        if lo is not None and hi is not None:
            lo, hi = min(lo, 0), max(hi, 0)
        super().__init__(store, inner.slots, lo, hi, not inner.may_miss and lo is not None, inner.may_miss)
        self.inner = inner

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return or_zero(self.store, self.inner.assign(slot, index, code))

    def _at(self, shift: int) -> ValueNode:
        return or_zero(self.store, self.inner.moved(shift))


def or_zero(store: NodeStore, inner: ValueNode) -> ValueNode:
    """The number as a summand: 0 where there is none."""
    if isinstance(inner, Known):
        return inner if inner.number is not None or inner.code is Mark.MISSING else store.known(0)
    if inner.definite:
        return inner
    return store.intern((OrZero, inner), lambda: OrZero(store, inner))


class Extreme(ValueNode):
    """Least (sign 1) or greatest (sign -1) number of the open values and of ``best``; others are skipped."""

    __slots__ = ("best", "open", "sign")

    def __init__(self, store: NodeStore, sign: int, open_: tuple[ValueNode, ...], best: int | None) -> None:
        lo, hi = _hull(open_)
        if lo is not None and hi is not None and best is not None:
            lo, hi = min(lo, best), max(hi, best)
        definite = lo is not None and (best is not None or any(n.definite for n in open_))
        may_miss = any(n.may_miss for n in open_)
        super().__init__(store, union_slots(open_), lo, hi, definite and not may_miss, may_miss)
        self.sign, self.open, self.best = sign, open_, best

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        values = [node.assign(slot, index, code) for node in self.open]
        return extreme(self.store, self.sign, values, self.best)

    def _at(self, shift: int) -> ValueNode:
        return extreme(self.store, self.sign, [node.moved(shift) for node in self.open], self.best)


def extreme(store: NodeStore, sign: int, values: Sequence[ValueNode], best: int | None = None) -> ValueNode:
    """Least or greatest of the numbers among ``values``; UNKNOWN where there is none."""
    kept: list[ValueNode] = []
    for value in values:
        if not isinstance(value, Known):
            kept.append(value)
        elif value.code is Mark.MISSING:
            return value
        elif value.number is not None and (best is None or sign * value.number < sign * best):
            best = value.number
    if not kept:
        return store.known(Mark.UNKNOWN if best is None else best)
    found = tuple(dict.fromkeys(kept))
    return store.intern((Extreme, sign, found, best), lambda: Extreme(store, sign, found, best))


class Product(ValueNode):
    """Product of two open values."""

    __slots__ = ("left", "right")

    def __init__(self, store: NodeStore, left: ValueNode, right: ValueNode) -> None:
        lo, hi = _corner_bounds(left, right)
        definite = left.definite and right.definite
        super().__init__(store, left.slots | right.slots, lo, hi, definite, left.may_miss or right.may_miss)
        self.left, self.right = left, right

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return product(self.store, self.left.assign(slot, index, code), self.right.assign(slot, index, code))

    def _at(self, shift: int) -> ValueNode:
        return product(self.store, self.left.moved(shift), self.right.moved(shift))


def product(store: NodeStore, left: ValueNode, right: ValueNode) -> ValueNode:
    """The product; linear where one factor is a number."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Known):
            if one.code is Mark.MISSING:
                return one
            if one.number is not None:
                return linear(store, [(other, one.number)])
            return store.known(Mark.UNKNOWN) if not other.may_miss else linear(store, [(other, 0), (one, 1)])
    return store.intern((Product, left, right), lambda: Product(store, left, right))


class Magnitude(ValueNode):
    """Absolute value."""

    __slots__ = ("inner",)

    def __init__(self, store: NodeStore, inner: ValueNode) -> None:
        lo, hi = inner.lo, inner.hi
        if lo is not None and hi is not None:
            lo, hi = (0 if lo <= 0 <= hi else min(abs(lo), abs(hi))), max(abs(lo), abs(hi))
        super().__init__(store, inner.slots, lo, hi, inner.definite, inner.may_miss)
        self.inner = inner

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return magnitude(self.store, self.inner.assign(slot, index, code))

    def _at(self, shift: int) -> ValueNode:
        return magnitude(self.store, self.inner.moved(shift))


def magnitude(store: NodeStore, inner: ValueNode) -> ValueNode:
    """The absolute value."""
    if isinstance(inner, Known):
        if inner.number is None:
            return inner if inner.code is Mark.MISSING else store.known(Mark.UNKNOWN)
        return store.known(abs(inner.number))
    return store.intern((Magnitude, inner), lambda: Magnitude(store, inner))


def _hull(values: Sequence[ValueNode]) -> tuple[int | None, int | None]:
    lows = [v.lo for v in values if v.lo is not None]
    highs = [v.hi for v in values if v.hi is not None]
    if len(lows) < len(values) or not lows:
        return None, None
    return min(lows), max(highs)


def _corner_bounds(left: ValueNode, right: ValueNode) -> tuple[int | None, int | None]:
    if left.lo is None or left.hi is None or right.lo is None or right.hi is None:
        return None, None
    corners = [a * b for a in (left.lo, left.hi) for b in (right.lo, right.hi)]
    return min(corners), max(corners)

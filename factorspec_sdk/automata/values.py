"""Values made of other values: chosen by a condition, summands, extremes, products, magnitudes."""

from __future__ import annotations

from collections.abc import Sequence

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
from factorspec_sdk.fields.domains import Domain, IntRange


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


class Rescaled(ValueNode):
    """The number times ``factor``; what is no number (null, absent) stays what it is."""

    __slots__ = ("factor", "inner")

    def __init__(self, store: NodeStore, inner: ValueNode, factor: int) -> None:
        lo, hi = (None if end is None else end * factor for end in (inner.lo, inner.hi))
        super().__init__(store, inner.slots, lo, hi, inner.definite, inner.may_miss)
        self.inner, self.factor = inner, factor

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return rescaled(self.store, self.inner.assign(slot, index, code), self.factor)

    def _at(self, shift: int) -> ValueNode:
        return rescaled(self.store, self.inner.moved(shift), self.factor)


def rescaled(store: NodeStore, inner: ValueNode, factor: int) -> ValueNode:
    """The value in units that are finer by ``factor`` (decimals of more places); null stays null."""
    if factor == 1:
        return inner
    if isinstance(inner, Known):
        return inner if inner.number is None else store.known(inner.number * factor)
    if inner.definite:
        return linear(store, [(inner, factor)])
    return store.intern((Rescaled, inner, factor), lambda: Rescaled(store, inner, factor))


class Extreme(ValueNode):
    """Least (sign 1) or greatest (sign -1) number of the open values and of ``best``; others are skipped.

    Bounds: no number is beyond the outermost bound; the result is at least as good as ``best`` and as the
    worst that each sure number can be.
    """

    __slots__ = ("_rests", "best", "open", "sign")

    def __init__(self, store: NodeStore, sign: int, open_: tuple[ValueNode, ...], best: int | None) -> None:
        lo, hi = _hull(open_)
        sure = [] if best is None else [best]
        if lo is not None and hi is not None:
            lo, hi = min([lo, *sure]), max([hi, *sure])
            sure += [_bound(node, sign) for node in open_ if node.definite]
            if sure and sign > 0:
                hi = min(sure)
            elif sure:
                lo = max(sure)
        may_miss = any(n.may_miss for n in open_)
        definite = lo is not None and bool(sure) and not may_miss
        super().__init__(store, union_slots(open_), lo, hi, definite, may_miss)
        self.sign, self.open, self.best = sign, open_, best
        self._rests: dict[int, tuple[ValueNode, ...] | None] = {}

    def _rest(self, slot: int) -> tuple[ValueNode, ...] | None:
        """The other open values, where the slot is one of them as it stands and they do not read it."""
        if slot not in self._rests:
            rest = tuple(node for node in self.open if not node.slots >> slot & 1)
            read = [node for node in self.open if node.slots >> slot & 1]
            plain = len(read) == 1 and isinstance(read[0], SlotValue)
            self._rests[slot] = rest if plain else None
        return self._rests[slot]

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        rest, best = self._rest(slot), self.best
        if rest and best is not None and type(code) is int and self.sign * code >= self.sign * best:
            store, sign = self.store, self.sign  # no better than the best: the others stay as they are
            return store.intern((Extreme, sign, rest, best), lambda: Extreme(store, sign, rest, best))
        values = [node.assign(slot, index, code) for node in self.open]
        return extreme(self.store, self.sign, values, self.best)

    def _at(self, shift: int) -> ValueNode:
        return extreme(self.store, self.sign, [node.moved(shift) for node in self.open], self.best)

    def clamped(self, lo: int, hi: int) -> ValueNode:
        best = None if self.best is None else max(lo, min(self.best, hi))
        return self if best == self.best else extreme(self.store, self.sign, self.open, best)

    def settles(self, lo: int | None, hi: int | None) -> bool:
        able = self._able(lo, hi)
        # of two sure ones that can be the best, one is still to come after the next slot
        return able is not None and (self._is_within(lo, hi) or sum(node.definite for node in able) > 1)

    def can_settle(self, lo: int | None, hi: int | None) -> bool:
        able = self._able(lo, hi)
        return able is not None and (self._is_within(lo, hi) or bool(able))

    def _is_within(self, lo: int | None, hi: int | None) -> bool:
        """True if the best is good enough already: the bound that not every number keeps by itself."""
        assert self.lo is not None and self.hi is not None
        return (hi is None or self.hi <= hi) if self.sign > 0 else (lo is None or self.lo >= lo)

    def _able(self, lo: int | None, hi: int | None) -> list[ValueNode] | None:
        """The open values that can lie in ``[lo, hi]``; None if one cannot keep to what ``fitting`` says."""
        if self.may_miss or self.lo is None or self.hi is None:
            return None
        able, told = list[ValueNode](), dict[int, bool | None]()
        for node in self.open:
            domain = node.domain if isinstance(node, SlotValue) else None
            if id(domain) not in told:
                told[id(domain)] = _ability(domain, self.sign, lo, hi)
            can = told[id(domain)]
            if can is None:
                return None
            if can:
                able.append(node)
        return able

    def fitting(self, slot: int, codes: IntRange, lo: int | None, hi: int | None) -> int | None:
        if not any(isinstance(node, SlotValue) and node.slot == slot for node in self.open):
            return None
        if self.sign > 0:  # the least is at least lo only if each is
            return None if lo is None else codes.between(lo, None)
        return None if hi is None else codes.between(None, hi)


def _ability(domain: Domain | None, sign: int, lo: int | None, hi: int | None) -> bool | None:
    """True if a number lies in ``[lo, hi]``, False if one lies on its open side, None if neither is known."""
    codes = None if domain is None else domain.stride
    if codes is None or not codes.between(*((lo, None) if sign > 0 else (None, hi))):
        return None
    return bool(codes.between(lo, hi))


def _bound(node: ValueNode, sign: int) -> int:
    """The worst number that a definite value can be."""
    worst = node.hi if sign > 0 else node.lo
    assert worst is not None
    return worst


def extreme(store: NodeStore, sign: int, values: Sequence[ValueNode], best: int | None = None) -> ValueNode:
    """Least or greatest of the numbers among ``values``; UNKNOWN where there is none.

    Open values that cannot be better than ``best`` are dropped, so that states merge.
    """
    kept: list[ValueNode] = []
    for value in values:
        if not isinstance(value, Known):
            kept.append(value)
        elif value.code is Mark.MISSING:
            return value
        elif value.number is not None and (best is None or sign * value.number < sign * best):
            best = value.number
    if best is not None:
        kept = [node for node in kept if node.may_miss or _can_beat(node, sign, best)]
    if not kept:
        return store.known(Mark.UNKNOWN if best is None else best)
    found = tuple(dict.fromkeys(kept))
    return store.intern((Extreme, sign, found, best), lambda: Extreme(store, sign, found, best))


def _can_beat(node: ValueNode, sign: int, best: int) -> bool:
    """False if the number, should there be one, is not better than ``best``."""
    bound = node.lo if sign > 0 else node.hi
    return bound is None or sign * bound < sign * best


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
    """Bounds of the number, if there is one: what is known to be none does not count."""
    numbers = [v for v in values if not (isinstance(v, Known) and v.number is None)]
    lows = [v.lo for v in numbers if v.lo is not None]
    highs = [v.hi for v in numbers if v.hi is not None]
    if not lows or not len(lows) == len(highs) == len(numbers):
        return None, None
    return min(lows), max(highs)


def _corner_bounds(left: ValueNode, right: ValueNode) -> tuple[int | None, int | None]:
    if left.lo is None or left.hi is None or right.lo is None or right.hi is None:
        return None, None
    corners = [a * b for a in (left.lo, left.hi) for b in (right.lo, right.hi)]
    return min(corners), max(corners)

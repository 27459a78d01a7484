"""Linear values and their comparison with 0: sums of products of integers and open values.

``Linear``: Σ coefficient · term + constant, where a term is any open value. ``Compare``: a linear
value compared with 0. Both keep bounds, so that a comparison is decided as early as bounds decide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from factorspec_sdk.automata.nodes import (
    Code,
    Condition,
    Known,
    Mark,
    NodeStore,
    SlotValue,
    ValueNode,
    union_slots,
)
from factorspec_sdk.fields.domains import Domain, IntRange

Term = tuple[ValueNode, int]


class Linear(ValueNode):
    """Σ coefficient · term + constant; ``poison``: it will be UNKNOWN unless a term turns out MISSING."""

    __slots__ = ("constant", "poison", "terms")

    def __init__(self, store: NodeStore, terms: tuple[Term, ...], constant: int, poison: bool) -> None:
        lo, hi = _bounds(terms, constant)
        nodes = [node for node, _ in terms]
        definite = not poison and all(node.definite for node in nodes)
        super().__init__(store, union_slots(nodes), lo, hi, definite, any(node.may_miss for node in nodes))
        self.terms, self.constant, self.poison = terms, constant, poison

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        plain = self._without(slot, index, code)
        if plain is not None:
            return plain
        terms = [(node.assign(slot, index, code), factor) for node, factor in self.terms]
        return linear(self.store, terms, self.constant, self.poison)

    def advanced(self, index: int, code: Code) -> ValueNode | None:
        """Fast path of ``assign`` at slot 0 and ``moved`` by -1 in one; None where it does not apply."""
        return self._without(0, index, code, -1)

    def _without(self, slot: int, index: int, code: Code, shift: int = 0) -> ValueNode | None:
        """Fast path: each term that reads the slot becomes a number, or there is none."""
        if self.poison:
            return None
        kept, constant, bit = [], self.constant, 1 << slot
        for term in self.terms:
            node = term[0]
            if not node.slots & bit:
                kept.append((node.moved(shift), term[1]) if shift else term)
            elif node.slots != bit:
                return None
            elif type(node) is SlotValue and type(code) is int:
                constant += term[1] * code
            else:
                after = node.assign(slot, index, code)
                if not isinstance(after, Known) or after.number is None:
                    return None
                constant += term[1] * after.number
        store = self.store
        if not kept:
            return store.known(constant)
        terms = tuple(kept)
        return store.intern((Linear, terms, constant, False), lambda: Linear(store, terms, constant, False))

    def _at(self, shift: int) -> ValueNode:
        terms = [(node.moved(shift), factor) for node, factor in self.terms]
        return linear(self.store, terms, self.constant, self.poison)


def linear(store: NodeStore, terms: Iterable[Term], constant: int = 0, poison: bool = False) -> ValueNode:
    """The value Σ coefficient · term + constant, flattened, equal terms joined."""
    total: dict[ValueNode, int] = {}
    for node, factor in terms:
        if isinstance(node, Known):
            if node.code is Mark.MISSING:
                return node
            if node.number is None:
                poison = True
            else:
                constant += factor * node.number
        elif isinstance(node, Linear):
            poison = poison or node.poison
            constant += factor * node.constant
            for inner, inner_factor in node.terms:
                total[inner] = total.get(inner, 0) + factor * inner_factor
        else:
            total[node] = total.get(node, 0) + factor
    kept = tuple((n, f) for n, f in sorted(total.items(), key=lambda t: t[0].slots) if f or not n.definite)
    if poison and not any(node.may_miss for node, _ in kept):
        return store.known(Mark.UNKNOWN)
    if not kept:
        return store.known(constant)
    return store.intern((Linear, kept, constant, poison), lambda: Linear(store, kept, constant, poison))


def split_constant(value: ValueNode) -> tuple[ValueNode, int]:
    """(value without its constant, constant); of a known number the number 0 is left."""
    if isinstance(value, Known) and value.number is not None:
        return value.store.known(0), value.number
    if isinstance(value, Linear):
        return linear(value.store, value.terms, 0, value.poison), value.constant
    return value, 0


def _bounds(terms: Sequence[Term], constant: int) -> tuple[int | None, int | None]:
    lo = hi = constant
    for node, factor in terms:
        if node.lo is None or node.hi is None:
            return None, None
        ends = (factor * node.lo, factor * node.hi)
        lo += min(ends)
        hi += max(ends)
    return lo, hi


class Compare(Condition):
    """``value <op> 0`` with op in le, eq, ne."""

    __slots__ = ("op", "value")

    def __init__(self, store: NodeStore, op: str, value: ValueNode) -> None:
        super().__init__(store, value.slots)
        self.op, self.value = op, value

    @property
    def crisp(self) -> bool:
        return self.value.definite

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        return decided(self.store, self.op, self.value.assign(slot, index, code))

    def _advance(self, index: int, code: Code) -> Condition:
        value = self.value
        fast = value.advanced(index, code) if isinstance(value, Linear) else None
        return super()._advance(index, code) if fast is None else decided(self.store, self.op, fast)

    def _at(self, shift: int) -> Condition:
        return decided(self.store, self.op, self.value.moved(shift))

    def allowed(self, slot: int, domain: Domain) -> int | None:
        """By bounds of the other terms; exact where ``slot`` is all that is open."""
        codes = domain.stride
        found = self._split(slot) if codes is not None else None
        if codes is None or found is None:
            return None if codes is None else self._by_term(slot, codes)
        factor, lo, hi = found
        full = (1 << len(codes)) - 1
        if self.op == "ne":
            return full if lo != hi else full & ~_run(*solve_equal(factor, lo, codes))
        first, last = solve_at_most(factor, lo, codes)
        if self.op == "eq":  # factor·x + lo <= 0 <= factor·x + hi
            other = solve_at_most(-factor, -hi, codes)
            first, last = max(first, other[0]), min(last, other[1])
        return _run(first, last)

    @property
    def slack(self) -> bool:
        """Told where a least or greatest value is compared with a number, or with a field that follows."""
        found = self._against_later()
        return found is not None and found[0].settles(*found[1])

    @property
    def completable(self) -> bool:
        found = self._against_later()
        return found is not None and found[0].can_settle(*found[1])

    def _against_later(self) -> tuple[ValueNode, tuple[int | None, int | None]] | None:
        """A value and the bounds it must keep to, where a later field takes what it then turns out to be."""
        terms = self._terms()
        if terms is None or self.op == "ne" or len(terms) > 2:
            return None
        (node, factor), *rest = sorted(terms, key=lambda term: isinstance(term[0], SlotValue))
        for other, own in rest:
            later = isinstance(other, SlotValue) and other.definite and other.slots > node.slots
            if not later or abs(own) != 1 or not isinstance(other, SlotValue) or not _dense(other.domain):
                return None
        return (node, self._left_to(node, factor, rest)) if abs(factor) == 1 else None

    def _terms(self) -> Sequence[Term] | None:
        """The terms; None where it will be unknown."""
        value = self.value
        if not isinstance(value, Linear):
            return ((value, 1),)
        return None if value.poison else value.terms

    def _left_to(self, node: ValueNode, factor: int, rest: Sequence[Term]) -> tuple[int | None, int | None]:
        """Bounds within which a term must lie for the comparison to hold for some values of the others."""
        lo, hi = _bounds(rest, self.value.constant if isinstance(self.value, Linear) else 0)
        if lo is None or hi is None:
            return None, None
        size = abs(factor)
        least, most = None if self.op == "le" else -(hi // size), -lo // size  # of the term by factor's sign
        return (least, most) if factor > 0 else (-most, None if least is None else -least)

    def _by_term(self, slot: int, codes: IntRange) -> int | None:
        """By what the comparison leaves to the one term that reads the slot; None where that says nothing."""
        terms = self._terms()
        if terms is None or self.op == "ne":
            return None
        own = [term for term in terms if term[0].slots >> slot & 1]
        rest = [term for term in terms if not term[0].slots >> slot & 1]
        if len(own) != 1 or not own[0][1] or not all(other.definite for other, _ in rest):
            return None  # a rest that may be unknown makes the comparison unknown, which is no "no"
        node, factor = own[0]
        return node.fitting(slot, codes, *self._left_to(node, factor, rest))

    def _split(self, slot: int) -> tuple[int, int, int] | None:
        """(coefficient of the slot's plain value, least and most of the rest), if that is how it enters."""
        value = self.value
        if isinstance(value, SlotValue):
            return (1, 0, 0) if value.definite else None
        if not isinstance(value, Linear) or value.poison:
            return None
        factor, lo, hi = 0, value.constant, value.constant
        for node, coefficient in value.terms:
            if not node.slots >> slot & 1:
                if not node.definite or node.lo is None or node.hi is None:
                    return None
                ends = (coefficient * node.lo, coefficient * node.hi)
                lo, hi = lo + min(ends), hi + max(ends)
            elif isinstance(node, SlotValue) and node.definite:
                factor = coefficient
            else:
                return None
        return factor, lo, hi


def _dense(domain: Domain) -> bool:
    """True if the codes are all integers of a range."""
    return domain.stride is not None and domain.stride.step == 1


def _run(first: int, last: int) -> int:
    """Bit mask of the indices first..last."""
    return ((1 << (last - first + 1)) - 1) << first if first <= last else 0


def solve_at_most(factor: int, constant: int, codes: IntRange) -> tuple[int, int]:
    """Indices (first, last) of the codes x with ``factor · x + constant <= 0``; none if first > last."""
    if factor > 0:
        return 0, min((-constant // factor - codes.lo) // codes.step, len(codes) - 1)
    least = -(constant // factor)  # constant / -factor, rounded up
    return max(-((codes.lo - least) // codes.step), 0), len(codes) - 1


def solve_equal(factor: int, constant: int, codes: IntRange) -> tuple[int, int]:
    """Index interval of the one code x with ``factor · x + constant = 0``; (1, 0) if there is none."""
    at = None if constant % factor else codes.index_of_code(-constant // factor)
    return (1, 0) if at is None else (at, at)


def compare(store: NodeStore, op: str, left: ValueNode, right: ValueNode) -> Condition:
    """``left <op> right`` on numbers; null and absent make it UNKNOWN, MISSING makes it FALSE."""
    match op:
        case "le" | "eq" | "ne":
            return decided(store, op, linear(store, [(left, 1), (right, -1)]))
        case "lt":
            return decided(store, "le", linear(store, [(left, 1), (right, -1)], 1))
        case "ge":
            return decided(store, "le", linear(store, [(right, 1), (left, -1)]))
        case _:
            return decided(store, "le", linear(store, [(right, 1), (left, -1)], 1))


def decided(store: NodeStore, op: str, value: ValueNode) -> Condition:
    """``value <op> 0``, decided where its bounds decide it."""
    if isinstance(value, Known):
        if value.number is None:
            return store.false if value.code is Mark.MISSING else store.unknown
        return store.truth(_test(op, value.number))
    if value.definite and value.lo is not None and value.hi is not None:
        early = _by_bounds(op, value.lo, value.hi)
        if early is not None:
            return store.truth(early)
    value = _reduced(store, op, _clamped(store, value))
    if op == "eq" and isinstance(value, Linear) and value.definite and _indivisible(value):
        return store.false
    return store.intern((Compare, op, value), lambda: Compare(store, op, value))


def _clamped(store: NodeStore, value: ValueNode) -> ValueNode:
    """A single term compared with a number: what is far from that number need not be known exactly."""
    if not isinstance(value, Linear):
        return value.clamped(-1, 1)
    if len(value.terms) > 1 or abs(value.terms[0][1]) != 1:
        return value
    node, factor = value.terms[0]
    turn = -factor * value.constant
    found = node.clamped(turn - 1, turn + 1)
    return value if found is node else linear(store, [(found, factor)], value.constant, value.poison)


def _test(op: str, number: int) -> bool:
    return number <= 0 if op == "le" else (number == 0) is (op == "eq")


def _by_bounds(op: str, lo: int, hi: int) -> bool | None:
    if op == "le":
        return True if hi <= 0 else False if lo > 0 else None
    if lo > 0 or hi < 0:
        return op == "ne"
    return None


def _indivisible(value: Linear) -> bool:
    return value.constant % gcd(*(factor for _, factor in value.terms)) != 0


def _reduced(store: NodeStore, op: str, value: ValueNode) -> ValueNode:
    """One spelling for equal comparisons: for eq and ne the first coefficient is positive."""
    if op == "le" or not isinstance(value, Linear) or value.terms[0][1] > 0:
        return value
    terms = [(node, -factor) for node, factor in value.terms]
    return linear(store, terms, -value.constant, value.poison)

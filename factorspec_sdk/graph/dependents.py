"""Pass 5a: fields that follow from earlier ones and therefore restrict nothing.

``net = quantity * price``, totals, roundings: where the field can take whatever the earlier ones make of it,
and no other relation asks anything of it, its relations need no search. They are set aside; when the field is
reached, its value is computed. Told from the end of the record::

    total = net + tax                   total is read by nothing else: set aside
    tax = quotient(net * 19, 100)       now tax is read by nothing else: set aside
    net = sum of the lines' amounts     and so on, up to
    amount = quantity * price           every line: nothing is left to search

Not only equations: ``end >= start`` is set aside where for every start there is an end.

Before: the factors of a component. After: dependents, each with its factors, and the factors that remain.
Every assignment that satisfies the remaining ones can be extended to the dependents, in writing order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.division import Quotient
from factorspec_sdk.automata.linear import Compare, Linear
from factorspec_sdk.automata.logic import And, Not, Occurs, Same, negation
from factorspec_sdk.automata.nodes import Condition, Known, Mark, SlotValue, ValueNode
from factorspec_sdk.automata.single import is_plain, plain_factor, values_of
from factorspec_sdk.automata.values import Product
from factorspec_sdk.fields.domains import BranchDomain, Domain, IntRange, typed_key
from factorspec_sdk.graph.factors import Factor, Group, bits
from factorspec_sdk.graph.ranges import Range, Ranges, residue_of_total
from factorspec_sdk.graph.unroll import Unrolled

#: domains up to this size are compared value by value, to see that one holds the other
MAX_LISTED = 20_000


@dataclass(frozen=True, slots=True)
class Dependent:
    """A slot that always has a value, with all factors that read it; it is the last slot of each."""

    slot: int
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """Dependents in writing order, and the factors that remain."""

    dependents: tuple[Dependent, ...]
    factors: tuple[Factor, ...]


def contract(group: Group, unrolled: Unrolled) -> Contraction:
    """Set aside what restricts nothing. O(sizes of the conditions).

    A factor that stays when its last slot is looked at stays for good, so it may bound earlier slots; one
    that may still be set aside must not: what is certain because of it would not be so without it.
    """
    kept: dict[int, Range] = {}
    ranges, narrowed = _ranges(group, unrolled, kept), False
    reading: dict[int, list[Factor]] = {slot: [] for slot in group.slots}
    for factor in group.factors:
        for slot in bits(factor.condition.slots):
            reading[slot].append(factor)
    gone: set[int] = set()
    found: list[Dependent] = []
    for slot in reversed(group.slots):
        own = [factor for factor in reading[slot] if id(factor) not in gone]
        if own and _is_last(slot, own, unrolled):
            if narrowed:
                ranges, narrowed = _ranges(group, unrolled, kept), False
            if _restricts_nothing(slot, own, unrolled, ranges):
                found.append(Dependent(slot, tuple(own)))
                gone.update(map(id, own))
                continue
        ending = [factor.condition for factor in own if factor.condition.slots >> slot == 1]
        narrowed = _narrowed_by(ending, ranges, kept) or narrowed
    rest = tuple(factor for factor in group.factors if id(factor) not in gone)
    return Contraction(tuple(found[::-1]), rest)


def _narrowed_by(conditions: Sequence[Condition], ranges: Ranges, kept: dict[int, Range]) -> bool:
    """Note in ``kept`` how conditions bound the slots that they read; True if any is narrower than before."""
    changed = False
    for condition in conditions:
        value = condition.value if isinstance(condition, Compare) and condition.op != "ne" else None
        if not isinstance(condition, Compare) or not isinstance(value, Linear) or not value.definite:
            continue
        for node, _ in value.terms:
            found = _bound_by(condition, node, ranges) if isinstance(node, SlotValue) else None
            if found is not None and found != ranges.of(node):
                assert isinstance(node, SlotValue)
                kept[node.slot] = found
                ranges.narrow(node.slot, found)
                changed = True
    return changed


def _bound_by(condition: Compare, node: SlotValue, ranges: Ranges) -> Range | None:
    """The range of a slot that a comparison leaves: factor·x + rest <op> 0; None where it is not known."""
    factor, own, rest = (
        plain_factor(condition, node.slot),
        ranges.of(node),
        _rest(condition, node.slot, ranges),
    )
    if factor is None or own is None or rest is None:
        return None
    lo, hi = own
    if factor > 0:
        hi = min(hi, -rest[0] // factor)
    else:
        lo = max(lo, -(rest[0] // factor))
    if condition.op == "eq":
        if factor > 0:
            lo = max(lo, -(rest[1] // factor))
        else:
            hi = min(hi, -rest[1] // factor)
    return lo, hi


def _ranges(group: Group, unrolled: Unrolled, kept: Mapping[int, Range]) -> Ranges:
    """Ranges of slots: those that are kept, and what equations make of earlier slots."""
    ranges = Ranges()
    for slot, found in kept.items():
        ranges.narrow(slot, found)
    ending: dict[int, list[Condition]] = {}
    for factor in group.factors:
        ending.setdefault(factor.condition.slots.bit_length() - 1, []).append(factor.condition)
    for slot in group.slots:
        for condition in ending.get(slot, ()):
            for way in _ways(condition, slot, unrolled, only=True):
                if isinstance(way, Compare) and way.op == "eq":
                    computed = _computed_range(way, slot, unrolled, ranges)
                    if computed is not None:
                        ranges.narrow(slot, computed)
    return ranges


def _computed_range(equation: Compare, slot: int, unrolled: Unrolled, ranges: Ranges) -> Range | None:
    """Where an equation with earlier slots puts a slot; None if it need not put it anywhere."""
    sign, rest = plain_factor(equation, slot), _rest(equation, slot, ranges)
    if sign not in (1, -1) or rest is None or not _is_number_beside(equation, slot, unrolled):
        return None
    return rest if sign == -1 else (-rest[1], -rest[0])


def _is_number_beside(condition: Compare, slot: int, unrolled: Unrolled) -> bool:
    """True if all other terms of a linear comparison are numbers wherever the slot occurs."""
    assert isinstance(condition.value, Linear)
    there = frozenset(_presences(slot, unrolled))
    return all(_is_number(node, there, unrolled) for node, _ in condition.value.terms)


def _is_number(node: ValueNode, there: frozenset[tuple[int, int]], unrolled: Unrolled) -> bool:
    """True if the value is a number wherever the decisions ``there`` are made so."""
    if node.definite:
        return True
    if isinstance(node, SlotValue):
        return not node.nullable and there.issuperset(_presences(node.slot, unrolled))
    parts: Sequence[ValueNode]
    if isinstance(node, Product):
        parts = (node.left, node.right)
    elif isinstance(node, Quotient) and not node.may_miss:
        parts = (node.dividend, node.divisor)
    elif isinstance(node, Linear) and not node.poison:
        parts = [term for term, _ in node.terms]
    else:
        return False
    return all(_is_number(part, there, unrolled) for part in parts)


def _presences(slot: int, unrolled: Unrolled) -> Iterator[tuple[int, int]]:
    """The decisions that make a slot occur, from the nearest outwards."""
    presence = unrolled.controllers[slot]
    while presence is not None:
        yield presence
        presence = unrolled.controllers[presence[0]]


def _is_last(slot: int, factors: Sequence[Factor], unrolled: Unrolled) -> bool:
    """True if the slot is the last of all factors, and enters them as its plain value."""
    return not isinstance(unrolled.slots[slot].domain, BranchDomain) and all(
        factor.condition.slots >> slot == 1 and is_plain(factor.condition, slot) for factor in factors
    )


def _restricts_nothing(slot: int, factors: Sequence[Factor], unrolled: Unrolled, ranges: Ranges) -> bool:
    """True if for all values of the earlier slots some value of ``slot`` breaks none of the factors.

    The slot must be the last of them (``_is_last``).
    """
    domain = unrolled.slots[slot].domain
    conditions = list(dict.fromkeys(factor.condition for factor in factors))
    own = [condition for condition in conditions if condition.slots == 1 << slot]
    shared = [condition for condition in conditions if condition.slots != 1 << slot]
    allowed = _allowed(own, slot, domain)
    if allowed is None:
        return False
    if len(shared) == 1:
        ways = _ways(shared[0], slot, unrolled, only=False)
        return any(_always_has(way, slot, allowed, ranges) for way in ways)
    codes = allowed.stride
    return not shared or (codes is not None and _window(shared, slot, codes, ranges))


def _allowed(conditions: Sequence[Condition], slot: int, domain: Domain) -> Domain | None:
    """What conditions on the slot alone leave of its domain; None if that is empty or in pieces."""
    if not conditions:
        return domain
    codes = domain.stride
    values = values_of(conditions[0], slot, domain)
    for condition in conditions[1:]:
        values &= values_of(condition, slot, domain)
    if codes is None or len(values.spans) != 1:
        return None
    first, last = values.spans[0]
    return IntRange(codes.code(first), codes.code(last), codes.step)


def _ways(condition: Condition, slot: int, unrolled: Unrolled, *, only: bool) -> list[Condition]:
    """Conditions on the slot each of which alone keeps ``condition`` from being false.

    only: none if there is more than one way where the slot occurs, so that what is returned must hold.
    """
    if not isinstance(condition, Not) or not isinstance(condition.inner, And):
        return [condition]
    ways = [negation(condition.store, part) for part in condition.inner.parts]
    there = [way for way in ways if not _is_absence(way, slot, unrolled)]
    if only and len(there) > 1:
        return []
    return [way for way in there if way.slots >> slot & 1]


def _is_absence(condition: Condition, slot: int, unrolled: Unrolled) -> bool:
    """True if the condition says that the slot does not occur."""
    if not isinstance(condition, Not) or not isinstance(condition.inner, Occurs):
        return False
    said = condition.inner.slots.bit_length() - 1, condition.inner.index
    return said in _presences(slot, unrolled)


def _always_has(condition: Condition, slot: int, allowed: Domain, ranges: Ranges) -> bool:
    """True if whatever the other slots take, some allowed value keeps the condition from being false."""
    if isinstance(condition, Same):
        return condition.positive and _holds_all(condition, slot, allowed)
    if not isinstance(condition, Compare) or condition.op == "ne":
        return False
    codes, rest = allowed.stride, _rest(condition, slot, ranges)
    factor = plain_factor(condition, slot)
    if codes is None or rest is None or factor is None:
        return False
    if condition.op == "le":  # factor·x + rest <= 0 by the value furthest to the right side
        return factor * (codes.lo if factor > 0 else codes.hi) + rest[1] <= 0
    assert isinstance(condition.value, Linear)
    offset, modulus = residue_of_total(condition.value, slot)
    step = abs(factor) * codes.step
    ends = sorted((-factor * codes.lo, -factor * codes.hi))
    return ends[0] <= rest[0] and rest[1] <= ends[1] and not modulus % step and not (offset - ends[0]) % step


def _rest(condition: Compare, slot: int, ranges: Ranges) -> tuple[int, int] | None:
    """Bounds of a linear value without the slot's term; None if not known, or if it may be MISSING."""
    value = condition.value
    if not isinstance(value, Linear) or value.may_miss:
        return None
    return ranges.total(value, slot)


def _holds_all(condition: Same, slot: int, allowed: Domain) -> bool:
    """True if each value that the other side can take is allowed."""
    other = condition.right if _is_slot(condition.left, slot) else condition.left
    if isinstance(other, Known):
        return not isinstance(other.code, Mark) and allowed.index_of_code(other.code) is not None
    if not isinstance(other, SlotValue) or len(other.domain) > MAX_LISTED:
        return False
    codes = (other.domain.code(index) for index in range(len(other.domain)))
    known = (
        {typed_key(allowed.code(index)) for index in range(len(allowed))}
        if len(allowed) <= MAX_LISTED
        else ()
    )
    return all(typed_key(code) in known for code in codes)


def _is_slot(value: ValueNode, slot: int) -> bool:
    return isinstance(value, SlotValue) and value.slot == slot


def _window(conditions: Sequence[Condition], slot: int, codes: IntRange, ranges: Ranges) -> bool:
    """True for two inequalities that leave a window around a value, always wide enough, within the domain.

    ``factor·x + e <= 0`` and ``-factor·x + f <= 0`` with e + f constant: x lies in [f / factor, -e / factor],
    which holds an integer if -(e + f) >= factor - 1. (A rounding written as two inequalities.)
    """
    if len(conditions) != 2 or codes.step != 1:
        return False
    pair: list[Compare] = [c for c in conditions if isinstance(c, Compare) and c.op == "le"]
    factors = [plain_factor(c, slot) or 0 for c in pair]
    if len(pair) < 2 or factors[0] != -factors[1] or not factors[0]:
        return False
    above, below = (pair[0], pair[1]) if factors[0] > 0 else (pair[1], pair[0])
    factor = max(factors)
    both, high, low = _sum_of(above, below), _rest(above, slot, ranges), _rest(below, slot, ranges)
    if both is None or high is None or low is None:
        return False
    return -both >= factor - 1 and -high[1] // factor >= codes.lo and -(-low[1] // factor) <= codes.hi


def _sum_of(one: Compare, other: Compare) -> int | None:
    """The sum of two linear values, where it is a constant."""
    total: dict[ValueNode, int] = {}
    constant = 0
    for value in (one.value, other.value):
        assert isinstance(value, Linear)
        constant += value.constant
        for node, factor in value.terms:
            total[node] = total.get(node, 0) + factor
    return None if any(total.values()) else constant

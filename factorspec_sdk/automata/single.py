"""Conditions on one open slot as sets of its values, however many values it has.

Read are comparisons of the slot's plain number, equality with a known value, and logic over these::

    is_plain(condition, slot)      once all other slots are decided, ``values_of`` can answer
    values_of(condition, slot, d)  the values after which the condition is not false, exactly
"""

from __future__ import annotations

from functools import reduce

from factorspec_sdk.automata.linear import Compare, Linear, solve_at_most, solve_equal
from factorspec_sdk.automata.logic import And, Not, Same
from factorspec_sdk.automata.nodes import Condition, Known, Mark, SlotValue, Truth
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.sets import IndexSet


def is_plain(condition: Condition, slot: int) -> bool:
    """True if the slot enters as its plain number in linear comparisons, or as a side of an equality."""
    if not condition.slots >> slot & 1:
        return True
    if isinstance(condition, And):
        return all(is_plain(part, slot) for part in condition.parts)
    if isinstance(condition, Not):
        return is_plain(condition.inner, slot)
    if isinstance(condition, Compare):
        return plain_factor(condition, slot) is not None
    if isinstance(condition, Same):
        sides = [side for side in (condition.left, condition.right) if side.slots >> slot & 1]
        return len(sides) == 1 and isinstance(sides[0], SlotValue)
    return False


def plain_factor(condition: Compare, slot: int) -> int | None:
    """The coefficient of the slot (not 0), where it stands in one term as its plain number; else None."""
    value = condition.value
    if not isinstance(value, Linear) or value.poison:
        return None
    found = [(node, factor) for node, factor in value.terms if node.slots >> slot & 1]
    if len(found) != 1 or not isinstance(found[0][0], SlotValue) or found[0][0].nullable:
        return None
    return found[0][1] or None


def values_of(condition: Condition, slot: int, domain: Domain) -> IndexSet:
    """The values of the only open slot of a plain condition after which it is not false. O(its size)."""
    return _values(condition, domain, maybe=True)


def _values(condition: Condition, domain: Domain, *, maybe: bool) -> IndexSet:
    """Where the condition is true, or (``maybe``) where it is not false."""
    size = len(domain)
    match condition:
        case Truth():
            store = condition.store
            holds = condition is store.true or (maybe and condition is store.unknown)
            return IndexSet.full(size if holds else 0)
        case And():
            if condition.unknown and not maybe:
                return IndexSet(())
            parts = (_values(part, domain, maybe=maybe) for part in condition.parts)
            return reduce(IndexSet.__and__, parts)
        case Not():
            return _values(condition.inner, domain, maybe=not maybe).complement(size)
        case Compare():
            return _compared(condition, domain)
        case Same():
            return _same(condition, domain)
        case _:
            raise AssertionError("not a plain condition")


def _compared(condition: Compare, domain: Domain) -> IndexSet:
    codes, value = domain.stride, condition.value
    assert codes is not None and isinstance(value, Linear) and len(value.terms) == 1
    factor, constant = value.terms[0][1], value.constant
    if condition.op == "le":
        return IndexSet.union_of([solve_at_most(factor, constant, codes)])
    zero = IndexSet.union_of([solve_equal(factor, constant, codes)])
    return zero if condition.op == "eq" else zero.complement(len(codes))


def _same(condition: Same, domain: Domain) -> IndexSet:
    other = condition.right if isinstance(condition.right, Known) else condition.left
    assert isinstance(other, Known)
    at = None if isinstance(other.code, Mark) else domain.index_of_code(other.code)
    equal = IndexSet(()) if at is None else IndexSet(((at, at),))
    return equal if condition.positive else equal.complement(len(domain))

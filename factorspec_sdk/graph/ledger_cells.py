"""The cells of a ledger's items: for each combination of small values, what the item adds and what follows.

An item's slots by role: *wide*, the integer with most values, x; *computed*, the last of an equation with x
and small slots (``net = quantity * price``); *small*, all others. Once the small ones are decided, every
condition of the item is about x and the computed ones alone, and what the item adds is a·x + b.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from factorspec_sdk.automata.linear import Compare, Linear
from factorspec_sdk.automata.nodes import (
    ABSENT_INDEX,
    Condition,
    Known,
    Mark,
    SlotValue,
    Truth,
    ValueNode,
)
from factorspec_sdk.automata.single import is_plain, plain_factor, values_of
from factorspec_sdk.automata.values import OrZero
from factorspec_sdk.fields.domains import BranchDomain, Domain, IntRange
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.ledger_shape import Item, NotLedger, Template

#: combinations of small values of one item
MAX_CELLS = 20_000
#: (factor, constant): factor·x + constant, with the code of the wide slot as x
Affine = tuple[int, int]
_ONE = IntRange(0, 0)


class Cell(NamedTuple):
    """One combination of small values, with a range of x.

    small: indices, in the order of ``Roles.small``. computed: codes as affine in x, in the order of
    ``Roles.computed``. lo, hi: indices of x. register: which sum the item adds to, -1 for none. added: what.
    """

    small: tuple[int, ...]
    computed: tuple[Affine, ...]
    lo: int
    hi: int
    register: int
    added: Affine


@dataclass(frozen=True, slots=True)
class Roles:
    """Slots of an item by role (``wide`` may be missing), and codes of x."""

    small: tuple[int, ...]
    wide: int | None
    computed: tuple[int, ...]
    codes: IntRange


def cells_of(item: Item, template: Template, domains: Mapping[int, Domain]) -> tuple[Roles, list[Cell]]:
    """Raises ``NotLedger``. O(combinations of small values × size of the item's conditions)."""
    roles = _roles(item, template, domains)
    if item.more is not None:
        _check_absent(item, template)
    count = 1
    for slot in roles.small:
        count *= len(domains[slot])
    if count > MAX_CELLS:
        raise NotLedger
    maker = _Maker(roles, domains)
    local, terms = template.local, template.terms
    if item.more is not None:
        local = tuple(condition.assign(item.more, 1, 1) for condition in local)
        terms = tuple(node.assign(item.more, 1, 1) for node in terms)
    return roles, list(maker.cells((), local, terms))


def _roles(item: Item, template: Template, domains: Mapping[int, Domain]) -> Roles:
    if any(isinstance(domains[slot], BranchDomain) for slot in item.slots):
        raise NotLedger
    computed = [
        slot
        for slot in item.slots
        if any(
            isinstance(part, Compare) and part.op == "eq" and plain_factor(part, slot) in (1, -1)
            for condition in template.local
            if condition.slots >> slot == 1 and condition.slots != 1 << slot
            for part in [_given(condition, item)]
        )
    ]
    others = [slot for slot in item.slots if slot not in computed]
    ranged = [slot for slot in others if domains[slot].stride is not None]
    wide = max(ranged, key=lambda slot: len(domains[slot]), default=None)
    codes = _ONE if wide is None else domains[wide].stride
    assert codes is not None
    return Roles(tuple(slot for slot in others if slot != wide), wide, tuple(computed), codes)


def _given(condition: Condition, item: Item) -> Condition:
    """The condition where the item occurs."""
    return condition if item.more is None else condition.assign(item.more, 1, 1)


def _check_absent(item: Item, template: Template) -> None:
    """An item that does not occur adds nothing and breaks nothing."""
    assert item.more is not None
    for decided in ((0, 0), (ABSENT_INDEX, Mark.ABSENT)):
        conditions = [condition.assign(item.more, *decided) for condition in template.local]
        nodes = [node.assign(item.more, *decided) for node in template.terms]
        for slot in item.slots:
            conditions = [condition.assign(slot, ABSENT_INDEX, Mark.ABSENT) for condition in conditions]
            nodes = [node.assign(slot, ABSENT_INDEX, Mark.ABSENT) for node in nodes]
        nothing = all(isinstance(node, Known) and node.number == 0 for node in nodes)
        if not nothing or any(condition is condition.store.false for condition in conditions):
            raise NotLedger


class _Maker:
    """Decides small slots one after the other, then reads what is left."""

    def __init__(self, roles: Roles, domains: Mapping[int, Domain]) -> None:
        self.roles = roles
        self.domains = domains

    def cells(
        self, small: tuple[int, ...], local: Sequence[Condition], terms: Sequence[ValueNode]
    ) -> Iterator[Cell]:
        """All cells that begin with some small values."""
        if any(condition is condition.store.false for condition in local):
            return
        if len(small) == len(self.roles.small):
            yield from self._read(small, local, terms)
            return
        slot = self.roles.small[len(small)]
        domain = self.domains[slot]
        for index in range(len(domain)):
            code = domain.code(index)
            yield from self.cells(
                (*small, index),
                [condition.assign(slot, index, code) for condition in local],
                [node.assign(slot, index, code) for node in terms],
            )

    def _read(
        self, small: tuple[int, ...], local: Sequence[Condition], terms: Sequence[ValueNode]
    ) -> Iterator[Cell]:
        """The cells of one combination: one for each interval of x."""
        open_ = [condition for condition in local if not isinstance(condition, Truth)]
        computed = {slot: self._equation(slot, open_) for slot in self.roles.computed}
        xs = IndexSet.full(len(self.roles.codes))
        for condition in open_:
            xs &= self._allowed(condition, computed)
        for slot, affine in computed.items():
            xs &= self._landing(affine, self.domains[slot])
        added = [self._affine(node, computed) for node in terms]
        touched = [(at, affine) for at, affine in enumerate(added) if affine != (0, 0)]
        if len(touched) > 1:
            raise NotLedger
        register, affine = touched[0] if touched else (-1, (0, 0))
        for lo, hi in xs.spans:
            yield Cell(small, tuple(computed.values()), lo, hi, register, affine)

    def _equation(self, slot: int, conditions: list[Condition]) -> Affine:
        """The computed slot's code by its equation, which is taken out of the conditions."""
        for condition in conditions:
            if isinstance(condition, Compare) and condition.op == "eq" and condition.slots >> slot & 1:
                sign = plain_factor(condition, slot)
                value = condition.value
                if sign in (1, -1) and isinstance(value, Linear):
                    rest = [(node, factor) for node, factor in value.terms if not node.slots >> slot & 1]
                    constant, factor = value.constant, 0
                    for node, weight in rest:
                        own = self._affine(node, {})
                        factor, constant = factor + weight * own[0], constant + weight * own[1]
                    conditions.remove(condition)
                    return -sign * factor, -sign * constant
        raise NotLedger

    def _allowed(self, condition: Condition, computed: Mapping[int, Affine]) -> IndexSet:
        """Indices of x for which a condition on x alone, or on a computed slot alone, is not false."""
        slot = condition.slots.bit_length() - 1
        if condition.slots != 1 << slot or not is_plain(condition, slot):
            raise NotLedger
        values = values_of(condition, slot, self.domains[slot])
        if slot == self.roles.wide:
            return values
        if slot not in computed or len(values.spans) > 1:
            raise NotLedger
        codes = self.domains[slot].stride
        if codes is None or not values:
            return IndexSet(())
        within = IntRange(codes.code(values.first), codes.code(values.last), codes.step)
        return self._landing(computed[slot], within)

    def _landing(self, affine: Affine, domain: Domain) -> IndexSet:
        """Indices of x for which a·x + b lies in a range."""
        codes, own = domain.stride, self.roles.codes
        if codes is None:
            raise NotLedger
        slope, base = affine[0] * own.step, affine[0] * own.lo + affine[1]
        if codes.step != 1 and (slope % codes.step or (base - codes.lo) % codes.step):
            if slope % codes.step == 0:
                return IndexSet(())
            raise NotLedger
        if not slope:
            return IndexSet.full(len(own) if codes.lo <= base <= codes.hi else 0)
        ends = (codes.lo - base, codes.hi - base) if slope > 0 else (base - codes.hi, base - codes.lo)
        first, last = -(-ends[0] // abs(slope)), ends[1] // abs(slope)
        return IndexSet.union_of([(max(first, 0), min(last, len(own) - 1))])

    def _affine(self, node: ValueNode, computed: Mapping[int, Affine]) -> Affine:
        """A value as a·x + b."""
        if isinstance(node, Known) and node.number is not None:
            return 0, node.number
        if isinstance(node, OrZero):  # the item occurs, and its slots are numbers
            return self._affine(node.inner, computed)
        if isinstance(node, SlotValue) and not node.nullable:
            if node.slot == self.roles.wide:
                return 1, 0
            if node.slot in computed:
                return computed[node.slot]
        if isinstance(node, Linear) and not node.poison:
            parts = [(self._affine(term, computed), factor) for term, factor in node.terms]
            constant = node.constant + sum(own[1] * factor for own, factor in parts)
            return sum(own[0] * factor for own, factor in parts), constant
        raise NotLedger

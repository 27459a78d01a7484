"""Exact feasibility of components with wide integer slots, by sets of a running number.

``search.py`` tries values one by one. Where a slot has thousands of values (amounts, minutes, days)
and meets the rest through a linear comparison, all values that lead to the same residual *shape*
differ only in the comparison's constant. This module keeps that constant apart, as the **register**::

    state    = (pending conditions, shape of the register's comparison) and the register's number r
    live(key) = the set of numbers r from which the component can be completed   (Intervals)

and computes ``live`` backwards through the layers by set operations, however wide the domains::

    pass      the slot is not in the register                live(key)  = ∪ live(key')
    add       r' = r + a·x                                   live(key)  = {r : r + a·x ∈ live(key')}
    begin     r' = c + a·x                                   live(key)  = all, if c + a·x meets live(key')
    finish    r + a·x <op> 0                                 live(key)  = {r : some x satisfies it}
    hand over r + a·x <op> 0 and r' = c + b·x                the same over x with c + b·x ∈ live(key')

One register at a time. Where a component needs two at once, or sets become too ragged, the module
gives up (``NotWide``) when it is built, and the component is searched value by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.automata.linear import Compare, Linear, split_constant
from factorspec_sdk.automata.logic import conjunction, parts_of
from factorspec_sdk.automata.nodes import ABSENT_INDEX, Code, Condition, Known, Mark, SlotValue, ValueNode
from factorspec_sdk.automata.values import OrZero
from factorspec_sdk.fields.domains import IntRange
from factorspec_sdk.fields.intervals import (
    ALL,
    INFINITY,
    NOTHING,
    Intervals,
    Progression,
    TooManySpans,
    of_progressions,
)
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import Tier
from factorspec_sdk.graph.layers import Layers

#: domains with more values than this are read as sets
WIDE = 256
#: medium domains may still be split value by value where a condition is not linear
ENUMERABLE = 4_096
MAX_LAYERS = 400
#: values and classes that may be looked at while all keys are explored
STEPS = 100_000


class NotWide(Exception):
    """The component does not have the form that this module handles."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The register's comparison without its constant: ``value + r <op> 0``."""

    op: str
    value: ValueNode


@dataclass(frozen=True, slots=True)
class Key:
    """All but the register's number."""

    pending: Condition
    shape: Shape | None


State = tuple[Key, int]


@dataclass(frozen=True, slots=True)
class Branching:
    """One class of values of a slot that lead to one key.

    add: what the register takes on for value x: factor·x + base. fresh: the old number is dropped.
    test: (op, factor, base): the old register is finished here: r + factor·x + base <op> 0.
    """

    values: IndexSet
    target: int
    key: Key
    factor: int
    base: int
    fresh: bool
    test: tuple[str, int, int] | None


class WideSearch:
    """Feasibility of one component by register sets."""

    tier: Tier = "sets"

    def __init__(self, layers: Layers, step_budget: int = STEPS, wide: int = WIDE) -> None:
        if len(layers) > MAX_LAYERS:
            raise NotWide
        self.layers = layers
        self.slots = layers.slots
        self.sizes = [len(domain) for domain in layers.domains]
        self.exact = True
        self.steps = 0
        self._budget = step_budget
        self._wide = wide
        self._store = layers.store
        self._entering = layers.all_entering()
        self._live: list[dict[Key, Intervals]] = [{} for _ in self.slots]
        self._branchings: list[dict[Key, list[Branching]]] = [{} for _ in self.slots]
        self.start: State = (Key(self._store.true, None), 0)

    def is_satisfiable(self) -> bool:
        """True if the component has a solution.

        Raises:
            NotWide: this module does not handle the component, or not within its budget.
        """
        try:
            self._explore()
            return bool(self.live(0, self.start[0]))
        except TooManySpans:
            raise NotWide from None

    def _explore(self) -> None:
        """Make every branching that can be reached, so that no later question meets an unknown form."""
        stack, seen = [(0, self.start[0])], {(0, self.start[0])}
        while stack:
            layer, key = stack.pop()
            if layer == len(self.slots):
                continue
            self.live(layer, key)
            for branching in self.branchings(layer, key):
                after = (branching.target, branching.key)
                if branching.values and after not in seen:
                    seen.add(after)
                    stack.append(after)

    def live(self, layer: int, key: Key) -> Intervals:
        """Numbers of the register from which ``key`` can be completed; all or nothing without a register."""
        if layer == len(self.slots):
            return ALL
        found = self._live[layer].get(key)
        if found is None:
            found = NOTHING
            for branching in self.branchings(layer, key):
                found |= self._before(layer, branching)
                if found == ALL:
                    break
            self._live[layer][key] = found
        return found

    def values(self, layer: int, state: State) -> IndexSet:
        """Feasible values of the layer's slot."""
        key, number = state
        return IndexSet.union_of(
            span
            for branching in self.branchings(layer, key)
            for span in self._feasible(layer, branching, number)
        )

    def step(self, layer: int, state: State, index: int) -> tuple[int, State]:
        """Layer and state after a feasible value."""
        key, number = state
        for branching in self.branchings(layer, key):
            if index in branching.values:
                code = self._code(layer, index) if branching.factor else 0
                own = branching.factor * code + branching.base
                return branching.target, (branching.key, own if branching.fresh else number + own)
        raise AssertionError("step() takes feasible values only")

    def likely(self, layer: int, state: State) -> None:
        """Completions are searched for."""

    # -- sets -------------------------------------------------------------------------------------

    def _before(self, layer: int, b: Branching) -> Intervals:
        """Numbers before the branching from which some of its values lead on."""
        after = self.live(b.target, b.key)
        if not after or not b.values:
            return NOTHING
        if not b.fresh:
            return after.less(self._progressions(layer, b.values, b.factor, b.base))
        values = b.values
        if b.key.shape is not None:
            values = self._leading_to(layer, b, after)
        if not values:
            return NOTHING
        return ALL if b.test is None else self._satisfying(layer, values, b.test)

    def _satisfying(self, layer: int, values: IndexSet, test: tuple[str, int, int]) -> Intervals:
        """{r : r + factor·x + base <op> 0 for some x of ``values``}."""
        op, factor, base = test
        steps = self._progressions(layer, values, -factor, -base)
        if op == "eq":
            return of_progressions(steps)
        if op == "le":
            return Intervals(((-INFINITY, max(last for _, last, _ in steps)),))
        only = {n for first, last, _ in steps for n in (first, last)}
        if len(only) > 1:
            return ALL
        number = only.pop()
        return Intervals(((-INFINITY, number - 1), (number + 1, INFINITY)))

    def _leading_to(self, layer: int, b: Branching, after: Intervals) -> IndexSet:
        """The values whose fresh register number is live."""
        return b.values & self._inverse(layer, after, b.factor, b.base)

    def _feasible(self, layer: int, b: Branching, number: int) -> Iterator[tuple[int, int]]:
        after = self.live(b.target, b.key)
        values = b.values
        if not after:
            return
        if b.test is not None:
            values &= self._passing(layer, b.test, number)
        if b.key.shape is not None:
            values &= self._inverse(layer, after, b.factor, b.base + (0 if b.fresh else number))
        yield from values.spans

    def _passing(self, layer: int, test: tuple[str, int, int], number: int) -> IndexSet:
        op, factor, base = test
        base += number
        if op == "le":
            return self._inverse(layer, Intervals(((-INFINITY, 0),)), factor, base)
        zero = self._inverse(layer, Intervals(((0, 0),)), factor, base)
        return zero if op == "eq" else zero.complement(self.sizes[layer])

    def _inverse(self, layer: int, numbers: Intervals, factor: int, base: int) -> IndexSet:
        """Indices x with ``factor·code(x) + base`` in ``numbers``."""
        size = self.sizes[layer]
        if not factor:
            return IndexSet.full(size) if base in numbers else IndexSet(())
        codes = self._codes(layer)
        scale, offset = factor * codes.step, factor * codes.lo + base
        spans = []
        for lo, hi in numbers.spans:
            ends = (lo - offset, hi - offset) if scale > 0 else (offset - hi, offset - lo)
            first, last = -(-ends[0] // abs(scale)), ends[1] // abs(scale)
            spans.append((max(first, 0), min(last, size - 1)))
        return IndexSet.union_of(spans)

    def _progressions(self, layer: int, values: IndexSet, factor: int, base: int) -> list[Progression]:
        """factor·x + base over the codes of ``values``."""
        if not factor:
            return [(base, base, 1)]
        codes = self._codes(layer)
        out = []
        for lo, hi in values.spans:
            a, z = factor * codes.code(lo) + base, factor * codes.code(hi) + base
            out.append((min(a, z), max(a, z), abs(factor) * codes.step))
        return out

    def _codes(self, layer: int) -> IntRange:
        stride = self.layers.domains[layer].stride
        assert stride is not None
        return stride

    def _code(self, layer: int, index: int) -> int:
        return self._codes(layer).code(index)

    # -- branchings -------------------------------------------------------------------------------

    def branchings(self, layer: int, key: Key) -> list[Branching]:
        """The classes of values at a layer and where they lead. Cached."""
        found = self._branchings[layer].get(key)
        if found is None:
            domain = self.layers.domains[layer]
            ranged = domain.stride is not None
            found = (
                self._by_sets(layer, key)
                if ranged and len(domain) > self._wide
                else self._by_values(layer, key)
            )
            self._branchings[layer][key] = found
        return found

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._budget:
            raise NotWide

    def _open(self, layer: int, key: Key) -> list[Condition]:
        return [*parts_of(key.pending), *self._entering[layer]]

    def _by_values(self, layer: int, key: Key) -> list[Branching]:
        """One class per value, equal ones joined."""
        domain = self.layers.domains[layer]
        if len(domain) > ENUMERABLE:
            raise NotWide
        self._count(len(domain))
        conditions = self._open(layer, key)
        groups: dict[tuple[int, Key, int, bool, tuple[str, int, int] | None], list[int]] = {}
        for index in range(len(domain)):
            after = self._assigned(layer, conditions, key.shape, index, domain.code(index))
            if after is not None:
                groups.setdefault(after, []).append(index)
        return [
            Branching(IndexSet.of(indices), target, inner, 0, base, fresh, test)
            for (target, inner, base, fresh, test), indices in groups.items()
        ]

    def _assigned(
        self, layer: int, conditions: list[Condition], shape: Shape | None, index: int, code: Code
    ) -> tuple[int, Key, int, bool, tuple[str, int, int] | None] | None:
        """(layer, key, register increment, register dropped, its final test) after one value."""
        target = self.layers.move(layer, index).target
        pending = conjunction(self._store, conditions).assign(self.slots[layer], index, code)
        value = None if shape is None else shape.value.assign(self.slots[layer], index, code)
        for at in range(layer + 1, target):
            slot = self.slots[at]
            pending = conjunction(self._store, [pending, *self._entering[at]]).assign(
                slot, ABSENT_INDEX, Mark.ABSENT
            )
            value = None if value is None else value.assign(slot, ABSENT_INDEX, Mark.ABSENT)
        if pending is self._store.false:
            return None
        pending = conjunction(self._store, parts_of(pending))
        if shape is None or value is None:
            return target, Key(pending, None), 0, True, None
        if isinstance(value, Known):
            if value.number is None:
                return None if value.code is Mark.MISSING else (target, Key(pending, None), 0, True, None)
            return target, Key(pending, None), 0, True, (shape.op, 0, value.number)
        rest, base = split_constant(value)
        return target, Key(pending, Shape(shape.op, rest)), base, False, None

    def _by_sets(self, layer: int, key: Key) -> list[Branching]:
        """A wide slot: filters, and what it does to registers."""
        self._count(1)
        slot, domain = self.slots[layer], self.layers.domains[layer]
        values = IndexSet.full(len(domain))
        kept: list[Condition] = []
        begun: list[tuple[str, ValueNode, int]] = []
        for part in self._open(layer, key):
            if not part.slots >> slot & 1:
                kept.append(part)
            elif part.slots == 1 << slot:
                values &= self._filter(part, layer)
            elif isinstance(part, Compare) and (found := _factor(part.value, slot)) is not None:
                begun.append((part.op, part.value, found))
            else:
                raise NotWide
        shape, test, factor, base, fresh = key.shape, None, 0, 0, key.shape is None
        if shape is not None and shape.value.slots >> slot & 1:
            own = _factor(shape.value, slot)
            if own is None:
                raise NotWide
            rest, extra = split_constant(shape.value.assign(slot, 0, self._code(layer, 0)))
            extra -= own * self._code(layer, 0)
            if isinstance(rest, Known):
                test, shape, fresh = (shape.op, own, extra), None, True
            else:
                shape, factor, base = Shape(shape.op, rest), own, extra
        if begun:
            if len(begun) > 1 or shape is not None:
                raise NotWide
            op, value, factor = begun[0]
            rest, base = split_constant(value.assign(slot, 0, self._code(layer, 0)))
            base -= factor * self._code(layer, 0)
            shape, fresh = Shape(op, rest), True
        pending = conjunction(self._store, kept)
        return [Branching(values, layer + 1, Key(pending, shape), factor, base, fresh, test)]

    def _filter(self, part: Condition, layer: int) -> IndexSet:
        """Values after which a condition on this slot alone is not false."""
        slot, domain = self.slots[layer], self.layers.domains[layer]
        if isinstance(part, Compare):
            own = _factor(part.value, slot)
            if own is not None:
                rest = part.value.assign(slot, 0, self._code(layer, 0))
                assert isinstance(rest, Known) and rest.number is not None
                return self._passing(layer, (part.op, own, rest.number - own * self._code(layer, 0)), 0)
        if len(domain) > ENUMERABLE * 8:
            raise NotWide
        return IndexSet.from_mask(part.leaves(slot, domain))


def _factor(value: ValueNode, slot: int) -> int | None:
    """The slot's coefficient, where it enters a linear value as a plain number in one term."""
    if not isinstance(value, Linear) or value.poison:
        return None
    found = None
    for node, factor in value.terms:
        if node.slots >> slot & 1:
            plain = node.inner if isinstance(node, OrZero) else node
            if found is not None or not isinstance(plain, SlotValue):
                return None
            found = factor
    return found

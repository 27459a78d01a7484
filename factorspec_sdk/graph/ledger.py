"""Exact feasibility of ledgers: items that add to sums whose targets may be written before them.

An invoice whose totals stand before its lines: with each line the rest of the total must still be reachable
by the lines to come. Value by value that is out of reach; here numbers are sets (``fields/sumsets.py``)::

    state   = (need of each sum, values of the item that is being written)
    counts  = for each sum, how many of the items to come could meet its need exactly      (bit masks)
    feasible: some counts, one for each sum, come to the number of items to come

Opening a slot of an item: of each cell (``ledger_cells.py``) it is asked whether some x leaves what the
others can meet. Most of that is one comparison for all cells at once, since sums of two and more are
intervals but for their ends. Where exactly one other item must meet the rest, an exact number must be a
product: that is decided by divisibility, for all its quantities at once, and as a set only as far as digits
are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from factorspec_sdk.fields.asked import AskedSet, Spans
from factorspec_sdk.fields.intervals import Progression, Span
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.fields.sumsets import WINDOW, Sumsets
from factorspec_sdk.graph.components import Tier
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.ledger_cells import MAX_CELLS, Cell, Roles, cells_of
from factorspec_sdk.graph.ledger_shape import Item, NotLedger, Template, ledger_shape
from factorspec_sdk.graph.ledger_sums import Need, RegisterSums
from factorspec_sdk.graph.ledger_table import CellTable, Mask, Reach, Role
from factorspec_sdk.graph.unroll import Unrolled

#: items whose slots are planned
MAX_PLANS = 4_096
#: (need of each sum; indices of the slots of the begun item)
LedgerState = tuple[tuple[Need, ...], tuple[int, ...]]


class _Left(NamedTuple):
    """Items to come behind a place: at least, at most."""

    least: int
    most: int


class Ledger:
    """Feasibility of one component. Numbers are sets, so there is nothing to count and no budget."""

    tier: Tier = "sums"
    exact = True
    steps = 0

    def __init__(self, layers: Layers, unrolled: Unrolled, window: int = WINDOW) -> None:
        """Raises ``NotLedger``. ``window``: see ``Sumsets``."""
        self.layers = layers
        self.slots = layers.slots
        self.sizes = [len(domain) for domain in layers.domains]
        shape = ledger_shape(layers, unrolled)
        self._items, self._registers = shape.items, shape.registers
        roles, cells = self._all_cells(shape.templates)
        self._table = CellTable(cells, roles, self._items[0].slots)
        added: list[list[Progression]] = [[] for _ in shape.registers]
        for cell, progression in zip(cells, self._table.progressions, strict=True):
            if cell.register >= 0:
                added[cell.register].append(progression)
        if not all(added):
            raise NotLedger
        pairs = zip(shape.registers, added, strict=True)
        self._sums = [RegisterSums(register, own, len(shape.items), window) for register, own in pairs]
        self._places = _places(shape.items, self._table)
        self._targets = {r.layer: at for at, r in enumerate(shape.registers) if r.layer is not None}
        self._plans: dict[tuple[int, tuple[Need, ...]], tuple[int, ...]] = {}
        self.start: LedgerState = (tuple(register.whole_need for register in shape.registers), ())

    def _all_cells(self, templates: Sequence[tuple[Item, Template]]) -> tuple[Roles, list[Cell]]:
        """The cells, the same for required and optional items."""
        domains = dict(zip(self.slots, self.layers.domains, strict=True))
        made = [cells_of(item, template, domains) for item, template in templates]
        roles, cells = made[0]
        if any(others != cells for _, others in made) or not 0 < len(cells) <= MAX_CELLS:
            raise NotLedger
        return roles, cells

    def is_satisfiable(self) -> bool:
        """True if there is a solution."""
        return self._can_end(self.start[0], self._left(0))

    def likely(self, layer: int, state: LedgerState) -> int:
        """A value of some solution; the slots of an item are planned together."""
        needs, taken = state
        if layer in self._targets or self._places[layer][1] is None:
            return self.values(layer, state).first
        number = self._places[layer][0]
        plan = self._plans.get((number, needs))
        if plan is None or plan[: len(taken)] != taken:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[number, needs] = self._plan(needs, taken, self._left(number + 1))
        return plan[len(taken)]

    def values(self, layer: int, state: LedgerState) -> IndexSet:
        """Feasible values of the layer's slot."""
        needs, taken = state
        at, domain = self._targets.get(layer), self.layers.domains[layer]
        if at is not None and self._registers[at].head:
            return self._sums[at].head_values(domain, self._own_counts(at, needs, self._left(0)))
        if at is not None:
            return self._sums[at].tail_value(domain, needs[at])
        number, role = self._places[layer]
        left = self._left(number + 1)
        if role is None:
            can_stop = all(lo <= 0 <= hi for lo, hi in needs)
            can_go_on = bool(self._alive(needs, (), left).any())
            return IndexSet.of(([0] if can_stop else []) + ([1] if can_go_on else []))
        if role[0] == "wide":
            return self._wide_values(needs, taken, left)
        alive = np.flatnonzero(self._alive(needs, taken, left))
        if role[0] == "small":
            return IndexSet.of(self._table.small_values(alive, role[1]))
        x = self._table.taken_x(taken)
        code = self._table.roles.codes.code(0 if x is None else x)
        computed = {self._table.cells[cell].computed[role[1]] for cell in alive.tolist()}
        found = [domain.index_of_code(factor * code + constant) for factor, constant in computed]
        return IndexSet.of(index for index in found if index is not None)

    def step(self, layer: int, state: LedgerState, index: int) -> tuple[int, LedgerState]:
        """Layer and state after a feasible value."""
        needs, taken = state
        target = self.layers.move(layer, index).target
        at = self._targets.get(layer)
        if at is not None:
            register, code = self._registers[at], self.layers.code(layer, index)
            assert isinstance(code, int)
            if register.head:
                needs = (*needs[:at], register.need(code), *needs[at + 1 :])
            return target, (needs, ())
        number, role = self._places[layer]
        if role is None:
            return target, (needs, ())
        taken = (*taken, index)
        if len(taken) < len(self._items[number].slots):
            return target, (needs, taken)
        return target, (self._after_item(needs, taken), ())

    # -- sums --------------------------------------------------------------------------------------

    def _left(self, number: int) -> _Left:
        """Items to come from ``number`` on."""
        items = self._items[number:]
        return _Left(sum(item.more is None for item in items), len(items))

    def _counts(self, needs: Sequence[Need], without: int | None) -> int:
        """Bit n is 1 if n items can meet all needs (but one)."""
        every = (1 << (len(self._items) + 1)) - 1
        total = every if self._table.has_idle else 1
        for at, (sums, need) in enumerate(zip(self._sums, needs, strict=True)):
            if at != without:
                total = _sum_of_masks(total, sums.counts(need)) & every
        return total

    def _can_end(self, needs: Sequence[Need], left: _Left) -> bool:
        return bool(self._counts(needs, None) & _range_mask(left.least, left.most))

    def _own_counts(self, at: int, needs: Sequence[Need], left: _Left) -> int:
        """Bit k is 1 if, with k of the items to come for this sum, the others can do with the rest."""
        allowed = 0
        for count in bits(self._counts(needs, at)):
            allowed |= _range_mask(max(left.least - count, 0), left.most - count)
        return allowed

    def _reach(self, at: int, needs: Sequence[Need], left: _Left) -> Reach:
        """What an item may add to a sum, so that the items behind it can do the rest."""
        sums, need = self._sums[at], needs[at]
        counts = self._own_counts(at, needs, left)
        return Reach(sums.additions(need, counts), need[0] if sums.single_gaps and counts >> 1 & 1 else None)

    # -- items -------------------------------------------------------------------------------------

    def _alive(self, needs: Sequence[Need], taken: Sequence[int], left: _Left) -> Mask:
        """Consistent cells by some number of which the rest can be met."""
        table = self._table
        x, alive = table.taken_x(taken), table.consistent(taken)
        if table.has_idle and not self._can_end(needs, left):
            alive &= table.registers >= 0
        for at, sums in enumerate(self._sums):
            mine = np.flatnonzero(alive & (table.registers == at))
            if len(mine):
                alive[mine] = table.reached(mine, self._reach(at, needs, left), sums.sums, x)
        return alive

    def _wide_values(self, needs: Sequence[Need], taken: Sequence[int], left: _Left) -> IndexSet:
        """Values of x: for each cell those that add a number within reach."""
        table = self._table
        spans: list[Span] = []
        asked: list[tuple[int, Sumsets, int]] = []
        reaches = [self._reach(at, needs, left) for at in range(len(self._sums))]
        idle = table.has_idle and self._can_end(needs, left)
        for number in np.flatnonzero(table.consistent(taken)).tolist():
            cell = table.cells[number]
            if cell.register < 0:
                spans += [(cell.lo, cell.hi)] if idle else []
                continue
            reach = reaches[cell.register]
            spans += table.xs(number, reach.numbers)
            if reach.total is not None:
                asked.append((number, self._sums[cell.register].sums, reach.total))
        known = IndexSet.union_of(spans)
        if all(known.all_in(table.cells[number].lo, table.cells[number].hi) for number, _, _ in asked):
            return known
        ask = partial(self._ask_x, known, asked)
        size = len(table.roles.codes)
        found = ask(((0, size - 1),))[0]
        return AskedSet(size, ask, [] if found is None else [found])

    def _ask_x(
        self, known: IndexSet, asked: Sequence[tuple[int, Sumsets, int]], spans: Spans
    ) -> tuple[int | None, bool]:
        """A feasible x within the spans: a listed one, or one that leaves a number that one item adds."""
        for span in spans:
            index = known.first_in(*span)
            if index is not None:
                return index, True
            for number, sums, total in asked:
                index = self._table.paired_x(number, sums, total, span)
                if index is not None:
                    return index, True
        return None, True

    def _plan(self, needs: Sequence[Need], taken: Sequence[int], left: _Left) -> tuple[int, ...]:
        """Indices of all slots of an item that begins with ``taken``, so that the rest can be met."""
        table = self._table
        planned = None if taken else self._planned_cell(needs, left)
        if planned is None:
            number, x = int(np.flatnonzero(self._alive(needs, taken, left))[0]), table.taken_x(taken)
            x = self._planned_x(number, needs, left) if x is None else x
        else:
            number, x = planned
        cell = table.cells[number]
        code = table.roles.codes.code(x)
        found = []
        first = self._items[0].layer + (self._items[0].more is not None)
        for offset, slot in enumerate(self._items[0].slots):
            (role, at), domain = table.role_of[slot], self.layers.domains[first + offset]
            if role == "computed":
                factor, constant = cell.computed[at]
                index = domain.index_of_code(factor * code + constant)
                assert index is not None
                found.append(index)
            else:
                found.append(x if role == "wide" else cell.small[at])
        return tuple(found)

    def _planned_cell(self, needs: Sequence[Need], left: _Left) -> tuple[int, int] | None:
        """(cell, x) that add about the least number within reach; None where that takes more to find."""
        for at, sums in enumerate(self._sums):
            for span in self._reach(at, needs, left).numbers.spans[:2]:
                added = sums.sums.member_in(*span)
                if added is not None:
                    return self._table.adding(at, added)
        return None

    def _planned_x(self, number: int, needs: Sequence[Need], left: _Left) -> int:
        cell = self._table.cells[number]
        if cell.register < 0:
            return cell.lo
        reach = self._reach(cell.register, needs, left)
        spans = self._table.xs(number, reach.numbers)
        if spans:
            return min(lo for lo, _ in spans)
        assert reach.total is not None
        sums = self._sums[cell.register].sums
        found = self._table.paired_x(number, sums, reach.total, (cell.lo, cell.hi))
        assert found is not None
        return found

    def _after_item(self, needs: tuple[Need, ...], taken: Sequence[int]) -> tuple[Need, ...]:
        number = int(np.flatnonzero(self._table.consistent(taken))[0])
        at = self._table.cells[number].register
        if at < 0:
            return needs
        x = self._table.taken_x(taken)
        added = self._table.added(number, 0 if x is None else x)
        lo, hi = needs[at]
        return (*needs[:at], (lo - added, hi - added), *needs[at + 1 :])


def _places(items: Sequence[Item], table: CellTable) -> dict[int, tuple[int, Role | None]]:
    """For each layer of an item: its number, and its slot's role (None: whether the item occurs)."""
    roles = [table.role_of[slot] for slot in items[0].slots]
    found: dict[int, tuple[int, Role | None]] = {}
    for number, item in enumerate(items):
        begin = item.layer
        if item.more is not None:
            found[begin] = number, None
            begin += 1
        found |= {begin + at: (number, role) for at, role in enumerate(roles)}
    return found


def _sum_of_masks(one: int, other: int) -> int:
    """Bits i + j of the bits i of one mask and j of another."""
    total = 0
    for at in bits(other):
        total |= one << at
    return total


def _range_mask(lo: int, hi: int) -> int:
    return ((1 << (hi - lo + 1)) - 1) << lo if lo <= hi else 0

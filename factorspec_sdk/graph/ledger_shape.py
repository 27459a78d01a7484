"""Recognising a ledger: items of one list that each add a number to one of some sums, and the sums' targets.

::

    slots      heads      item 0           item 1      ..     tails
    invoice    nets       q p rate net     q p rate net       -        net per rate = sum of its lines' nets

A **register** is one linear comparison over the list: the sum of what the items add, against a constant or
one field before (head) or after (tail) the list. An item's fields have roles: one *wide* integer x, *small*
ones whose values are listed, and *computed* ones, which follow. For each combination of small values the item
adds a·x + b to one register or to none: a **cell**. Items must be alike.

What does not have this form is ``NotLedger``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.linear import Compare, Linear, linear
from factorspec_sdk.automata.nodes import Condition, SlotValue, ValueNode
from factorspec_sdk.automata.single import is_plain, values_of
from factorspec_sdk.fields.domains import IntRange
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.relations.unrolled import ListPart, NullablePart, ObjectPart, Part


class NotLedger(Exception):
    """The component does not have this form."""


@dataclass(frozen=True, slots=True)
class Register:
    """``sum of the items + factor·target + constant <op> 0``, op eq or le.

    layer: of the target, None if there is none. codes: what the target may be. head: it stands before the
    items.
    """

    op: str
    factor: int
    constant: int
    layer: int | None
    codes: IntRange
    head: bool

    def need(self, code: int) -> tuple[int, int]:
        """What the items must add for a value of the target."""
        number = -self.factor * code - self.constant
        return (number if self.op == "eq" else -UNBOUNDED), number

    @property
    def whole_need(self) -> tuple[int, int]:
        """What the items must add for some value of the target."""
        ends = [self.need(code) for code in (self.codes.lo, self.codes.hi)]
        return min(end[0] for end in ends), max(end[1] for end in ends)


#: stands for no lower bound
UNBOUNDED = 1 << 59


@dataclass(frozen=True, slots=True)
class Item:
    """Slots of one item: the one that decides whether it occurs (None: always), and its own, with layers."""

    more: int | None
    slots: tuple[int, ...]
    layer: int


@dataclass(frozen=True, slots=True)
class Template:
    """What one item says: conditions on it alone, and what it adds to each register, as open values."""

    local: tuple[Condition, ...]
    terms: tuple[ValueNode, ...]


@dataclass(frozen=True, slots=True)
class LedgerShape:
    """Registers, items, and the templates of the items, moved to the slots of ``items[0]`` of its kind."""

    registers: tuple[Register, ...]
    items: tuple[Item, ...]
    templates: tuple[tuple[Item, Template], ...]


def ledger_shape(layers: Layers, unrolled: Unrolled) -> LedgerShape:
    """Raises ``NotLedger``. O(sizes of the conditions)."""
    items = _items(layers, unrolled)
    owner = {
        slot: at for at, item in enumerate(items) for slot in (*item.slots, item.more) if slot is not None
    }
    local: list[list[Condition]] = [[] for _ in items]
    alone: dict[int, list[Condition]] = {}
    sums: list[Compare] = []
    for condition in dict.fromkeys(c for found in layers.all_entering() for c in found):
        owners = {owner.get(slot) for slot in bits(condition.slots)}
        if len(owners) == 1 and None not in owners:
            local[owners.pop()].append(condition)  # type: ignore[index]  # not None
        elif not condition.slots & (condition.slots - 1):
            alone.setdefault(condition.slots.bit_length() - 1, []).append(condition)
        elif isinstance(condition, Compare) and condition.op in ("eq", "le"):
            sums.append(condition)
        else:
            raise NotLedger
    made = [_register(condition, layers, items, owner, alone) for condition in sums]
    registers = tuple(register for register, _ in made)
    _check_all_read(layers, items, registers)
    terms = [[own[at] for _, own in made] for at in range(len(items))]
    return LedgerShape(registers, tuple(items), tuple(_templates(items, local, terms)))


def _items(layers: Layers, unrolled: Unrolled) -> list[Item]:
    """The items of the list that holds most of the component's slots; the others are heads and tails."""
    layer_of = {slot: at for at, slot in enumerate(layers.slots)}
    lists = [list_ for list_ in _lists(unrolled.root) if len(list_.items) > 1]
    if not lists:
        raise NotLedger
    list_ = max(lists, key=lambda list_: sum(list_.starts[0] <= slot < list_.starts[-1] for slot in layer_of))
    items = []
    for at in range(len(list_.items)):
        more = list_.more[at]
        end = list_.starts[at + 1]
        if at + 1 < len(list_.items) and list_.more[at + 1] is not None:
            end -= 1
        slots = tuple(slot for slot in range(list_.starts[at], end) if slot in layer_of)
        if not slots or (more is not None) != (more in layer_of):
            raise NotLedger
        first = slots[0] if more is None else more
        items.append(Item(more, slots, layer_of[first]))
        own = layers.slots[layer_of[first] : layer_of[first] + len(slots) + (more is not None)]
        if own != ((*slots,) if more is None else (more, *slots)):
            raise NotLedger
    return items


def _lists(root: Part) -> Iterator[ListPart]:
    """The lists of the record that stand in no other list."""
    stack = [root]
    while stack:
        part = stack.pop()
        if isinstance(part, ListPart):
            yield part
        elif isinstance(part, ObjectPart):
            stack.extend(field.part for field in part.fields)
        elif isinstance(part, NullablePart):
            stack.append(part.inner)


def _register(
    condition: Compare,
    layers: Layers,
    items: Sequence[Item],
    owner: dict[int, int],
    alone: dict[int, list[Condition]],
) -> tuple[Register, list[ValueNode]]:
    """The register, and what each item adds to it."""
    value = condition.value
    if not isinstance(value, Linear) or value.poison:
        raise NotLedger
    terms: list[list[tuple[ValueNode, int]]] = [[] for _ in items]
    target: tuple[SlotValue, int] | None = None
    for node, factor in value.terms:
        owners = {owner.get(slot) for slot in bits(node.slots)}
        own = owners.pop() if len(owners) == 1 else None
        if own is not None:
            terms[own].append((node, factor))
        elif isinstance(node, SlotValue) and node.definite and target is None:
            target = node, factor
        else:
            raise NotLedger
    layer, codes, factor = None, IntRange(0, 0), 0
    if target is not None:
        layer, factor = layers.slots.index(target[0].slot), target[1]
        codes = _target_codes(layers, layer, alone)
    head = layer is not None and layer < items[0].layer
    if target is not None and (
        (condition.op == "le" and not head) or (condition.op == "eq" and abs(factor) * codes.step != 1)
    ):
        raise NotLedger
    return Register(condition.op, factor, value.constant, layer, codes, head), [
        linear(condition.store, own) for own in terms
    ]


def _target_codes(layers: Layers, layer: int, alone: dict[int, list[Condition]]) -> IntRange:
    """The codes that a target's own conditions leave it."""
    slot, domain = layers.slots[layer], layers.domains[layer]
    codes, values = domain.stride, IndexSet.full(len(domain))
    if codes is None:
        raise NotLedger
    for condition in alone.get(slot, ()):
        if not is_plain(condition, slot):
            raise NotLedger
        values &= values_of(condition, slot, domain)
    if len(values.spans) != 1:
        raise NotLedger
    first, last = values.spans[0]
    return IntRange(codes.code(first), codes.code(last), codes.step)


def _check_all_read(layers: Layers, items: Sequence[Item], registers: Sequence[Register]) -> None:
    """Every slot must be a target of one register or stand in an item; at least one register is needed."""
    targets = [register.layer for register in registers if register.layer is not None]
    inside = sum(len(item.slots) + (item.more is not None) for item in items)
    alone_or_shared = len(targets) + inside != len(layers.slots) or len(set(targets)) != len(targets)
    if not registers or alone_or_shared:
        raise NotLedger


def _templates(
    items: Sequence[Item], local: Sequence[list[Condition]], terms: Sequence[list[ValueNode]]
) -> Iterator[tuple[Item, Template]]:
    """The template of the required items and that of the optional ones; all items of a kind must share it."""
    found: dict[bool, tuple[Item, Template]] = {}
    for item, conditions, added in zip(items, local, terms, strict=True):
        kind = item.more is not None
        first = found[kind][0] if kind in found else item
        shift = first.slots[0] - item.slots[0]
        if tuple(slot + shift for slot in item.slots) != first.slots:
            raise NotLedger
        if not all(condition.movable for condition in conditions):
            raise NotLedger
        own = Template(
            tuple(sorted({c.moved(shift) for c in conditions}, key=id)),
            tuple(node.moved(shift) for node in added),
        )
        if kind in found and own != found[kind][1]:
            raise NotLedger
        found.setdefault(kind, (item, own))
    yield from found.values()

"""``NoOverlap``: items with start and end do not overlap; between neighbours in time there is time to travel.

State: the items that are still open, and *blocks* of those that are settled::

    blocks   [9:00 ─ 10:00 @A]      [10:30 ─ 12:00 @B .. @C]       two items without room between: one block
    items    start, end, place: what is still open of them

Two settled items need the shortest way between their places, over any stops: that is necessary at once.
Where the direct way is the shortest one (``pairs``), it is also sufficient; else the whole sequence is
checked when the last item is settled, and nothing of it may be forgotten.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from factorspec_sdk.automata.items import Item, end_slot
from factorspec_sdk.automata.nodes import Code, Condition, Known, Mark, NodeStore, SlotValue
from factorspec_sdk.automata.spans import INFINITE, Gap, mask_outside, room_between
from factorspec_sdk.automata.travel import Place, Travel, place_of
from factorspec_sdk.fields.domains import Domain


@dataclass(frozen=True, eq=False)
class Agenda:
    """What all states of one ``no_overlap`` share.

    in_order: items stand in the order of time. pairs: no sequence check is needed at the end.
    """

    travel: Travel | None
    in_order: bool
    pairs: bool

    def least(self, start: Place, end: Place) -> int | None:
        """Least time from one place to another."""
        return 0 if self.travel is None else self.travel.least(start, end)

    def direct(self, start: Place, end: Place) -> int | None:
        """Time of the direct way."""
        return 0 if self.travel is None else self.travel.time(start, end)

    @property
    def by_neighbours(self) -> bool:
        """True if settled items fit where each fits with the next one in time."""
        return self.pairs and not self.in_order

    @cached_property
    def farthest(self) -> int:
        """No way takes longer."""
        if self.travel is None:
            return 0
        return self.travel.longest if self.travel.complete else INFINITE


class Block(NamedTuple):
    """Settled items without room between: from ``start`` at ``first`` to ``end`` at ``last``."""

    start: int
    end: int
    number: int
    first: Place
    last: Place


class NoOverlap(Condition):
    """``items`` are open, ``blocks`` are settled. ``agenda``: the relation itself."""

    __slots__ = ("agenda", "blocks", "items")

    def __init__(
        self, store: NodeStore, agenda: Agenda, blocks: tuple[Block, ...], items: tuple[Item, ...]
    ) -> None:
        slots = 0
        for one in items:
            slots |= one.slots
        super().__init__(store, slots)
        self.agenda, self.blocks, self.items = agenda, blocks, items

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        self.store.num_tried += 1 + (len(self.items) + len(self.blocks)) // 4
        bit = 1 << slot
        items = [one.assign(slot, index, code) if one.slots & bit else one for one in self.items]
        return no_overlap(self.store, self.agenda, items, self.blocks)

    def _at(self, shift: int) -> Condition:
        return no_overlap(self.store, self.agenda, [one.moved(shift) for one in self.items], self.blocks)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        """By the blocks around the one item that reads the slot, all values at once."""
        readers = [one for one in self.items if one.slots >> slot & 1]
        if len(readers) != 1:
            return None
        one = readers[0]
        if isinstance(one.start, Known):
            return self._allowed_ends(one, slot, domain)
        for time, shift in ((one.start, 0), (one.end, -one.least_length)):
            if isinstance(time, SlotValue) and time.slot == slot and (one.firm or one.certain):
                return mask_outside(domain, [barred(self.agenda, one, b) for b in self.blocks], shift)
        return None

    def _allowed_ends(self, one: Item, slot: int, domain: Domain) -> int | None:
        """Values of the slot that is all that its end hangs on, where the start is known."""
        assert isinstance(one.start, Known)
        start, base = one.start.number, end_slot(one.end, slot)
        if base is None or start is None:
            return None
        return mask_outside(domain, [_ending(self.agenda, one, start, b) for b in self.blocks], base)


def barred(agenda: Agenda, one: Item, block: Block) -> Gap:
    """Open interval of the starts that the block forbids an item of the least length."""
    before, after = _ways(agenda, one, block)
    low = -INFINITE if before is None else block.start - one.least_length - before
    high = INFINITE if after is None else block.end + after
    if agenda.in_order:
        return (-INFINITE, high) if block.number < one.number else (low, INFINITE)
    return low, high


def _ending(agenda: Agenda, one: Item, start: int, block: Block) -> Gap:
    """Open interval of the ends that the block forbids an item that starts at ``start``."""
    before, after = _ways(agenda, one, block)
    earlier = agenda.in_order and block.number < one.number
    if after is not None and start >= block.end + after and (earlier or not agenda.in_order):
        return 0, 0
    if earlier or before is None:
        return -INFINITE, INFINITE
    return block.start - before, INFINITE


def _ways(agenda: Agenda, one: Item, block: Block) -> tuple[int | None, int | None]:
    """Least time from the item to the block, and from the block to it."""
    if not isinstance(one.detail, Known):
        return 0, 0
    place = place_of(one.detail.code)
    return agenda.least(place, block.first), agenda.least(block.last, place)


def no_overlap(
    store: NodeStore, agenda: Agenda, items: Iterable[Item], blocks: tuple[Block, ...] = ()
) -> Condition:
    """The condition that the items keep clear of the blocks and of each other."""
    kept: list[Item] = []
    all_blocks = list(blocks)
    for one in items:
        block = _block(one)
        if block is Mark.MISSING:
            return store.false
        if block is Mark.UNKNOWN:
            kept.append(one)
        elif isinstance(block, Block):
            if not agenda.by_neighbours and any(_clash(agenda, one, other) for other in all_blocks):
                return store.false
            all_blocks.append(block)
    joined = _joined(agenda, all_blocks, kept)
    if joined is None:
        return store.false
    if not kept:
        return store.true
    fresh = all_blocks[len(blocks) :]
    if fresh and not all(_has_room(agenda, one, joined, fresh) for one in kept if one.certain):
        return store.false
    found, open_ = tuple(joined), tuple(kept)
    key = (NoOverlap, id(agenda), found, open_)
    return store.intern(key, lambda: NoOverlap(store, agenda, found, open_))


def _joined(agenda: Agenda, blocks: list[Block], kept: Sequence[Item]) -> list[Block] | None:
    """The blocks as a state keeps them; None if the settled items can stand in no sequence."""
    if agenda.in_order:
        return _in_order(agenda, blocks, kept)
    blocks = sorted(blocks, key=lambda b: (b.start, b.end, b.number))
    if agenda.by_neighbours:
        return _relevant(agenda, _fused(blocks, kept), kept) if _is_sequence(agenda, blocks) else None
    return blocks if kept or _is_sequence(agenda, blocks) else None


def _block(one: Item) -> Block | Mark:
    """The item as a block; MISSING: it breaks the relation, ABSENT: it is left out, UNKNOWN: it is open."""
    mark = one.left_out
    if mark is not None:
        return mark
    start, end, place = one.start, one.end, one.detail
    if not (isinstance(start, Known) and isinstance(end, Known) and isinstance(place, Known)):
        return Mark.UNKNOWN
    assert start.number is not None and end.number is not None
    if end.number < start.number:
        return Mark.MISSING
    where = place_of(place.code)
    return Block(start.number, end.number, one.number, where, where)


def _clash(agenda: Agenda, one: Item, block: Block) -> bool:
    low, high = barred(agenda, one, block)
    assert isinstance(one.start, Known) and one.start.number is not None
    return low < one.start.number < high


def _is_sequence(agenda: Agenda, blocks: Sequence[Block]) -> bool:
    """True if every direct way from one item to the next fits; in order of time."""
    for one, two in pairwise(blocks):
        way = agenda.direct(one.last, two.first)
        if way is None or one.end + way > two.start:
            return False
    return True


def _fused(blocks: list[Block], kept: Sequence[Item]) -> list[Block]:
    """Neighbours without room for any open item between become one block."""
    room = min((one.least_length for one in kept), default=0)
    out: list[Block] = []
    for block in blocks:
        block = block._replace(number=0)
        if out and block.start - out[-1].end < room:
            out[-1] = out[-1]._replace(end=max(out[-1].end, block.end), last=block.last)
        else:
            out.append(block)
    return out


def _relevant(agenda: Agenda, blocks: list[Block], kept: Sequence[Item]) -> list[Block]:
    """Without the blocks that no open item can come near to."""
    lows, highs = [one.start.lo for one in kept], [one.end.hi for one in kept]
    if None in lows or None in highs or not kept:
        return blocks if kept else []
    far = agenda.farthest
    low, high = min(n for n in lows if n is not None), max(n for n in highs if n is not None)
    return [block for block in blocks if block.end + far > low and block.start - far < high]


def _in_order(agenda: Agenda, blocks: list[Block], kept: Sequence[Item]) -> list[Block] | None:
    """Blocks without an open item between them become one; None if their direct way does not fit.

    Of the first block only its end matters, of the last one only its start.
    """
    numbers = [one.number for one in kept]
    out: list[Block] = []
    for block in sorted(blocks, key=lambda b: b.number):
        last = out[-1] if out else None
        if last is None or bisect_right(numbers, last.number) < bisect_left(numbers, block.number):
            out.append(block)
            continue
        way = agenda.direct(last.last, block.first)
        if way is None or last.end + way > block.start:
            return None
        out[-1] = block._replace(start=last.start, first=last.first)
    if out and not (numbers and numbers[0] < out[0].number):
        out[0] = out[0]._replace(start=out[0].end, first=None)
    if out and not (numbers and numbers[-1] > out[-1].number):
        out[-1] = out[-1]._replace(end=out[-1].start, last=None)
    return out


def _has_room(agenda: Agenda, one: Item, blocks: Sequence[Block], fresh: Sequence[Block]) -> bool:
    """False if an item that must take place has no start left between the blocks, by the bounds of its times.

    Only ``fresh`` blocks can have taken the last one.
    """
    low, high, end = one.start.lo, one.start.hi, one.end.hi
    if low is None or high is None:
        return True
    if end is not None:
        high = min(high, end - one.least_length)
    if not agenda.in_order:
        reach = agenda.farthest
        first, last = low - reach, high + reach + one.least_length
        if not any(block.end > first and block.start < last for block in fresh):
            return True
        blocks = [block for block in blocks if block.end > first and block.start < last]
    return room_between(low, high, [barred(agenda, one, block) for block in blocks])

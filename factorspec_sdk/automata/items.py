"""Items to schedule in a residual: what is still open of their start, their end and what else matters."""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.automata.linear import Linear, linear
from factorspec_sdk.automata.nodes import Code, Known, Mark, NodeStore, SlotValue, ValueNode


@dataclass(frozen=True, slots=True)
class Item:
    """An item that is not settled.

    number: its position in writing order. length: end less start. detail: what else the relation asks of it
    (its place, its demand); a known null where nothing. firm: where one of its times is written, the other
    one is, and so is the demand.
    """

    number: int
    start: ValueNode
    end: ValueNode
    length: ValueNode
    detail: ValueNode
    firm: bool
    slots: int

    @property
    def certain(self) -> bool:
        """True if it takes place for sure."""
        return self.start.definite and self.end.definite

    @property
    def least_length(self) -> int:
        """Lower bound of its length."""
        return max(self.length.lo or 0, 0)

    @property
    def may_be_reversed(self) -> bool:
        """True if it may end before it starts, or one of its times may be missing."""
        return self.length.lo is None or self.length.lo < 0 or self.length.may_miss

    @property
    def left_out(self) -> Mark | None:
        """ABSENT if one of its times is no number, MISSING if one is missing, UNKNOWN if one may yet be.

        None if both times are numbers, or still open.
        """
        start, end = self.start, self.end
        for time, other in ((start, end), (end, start)):
            if isinstance(time, Known) and time.number is None:
                if Mark.MISSING in (time.code, other.code if isinstance(other, Known) else None):
                    return Mark.MISSING
                return Mark.UNKNOWN if other.may_miss else Mark.ABSENT
        return None

    def assign(self, slot: int, index: int, code: Code) -> Item:
        """The item after ``slot`` took ``code``."""
        return self._with(
            self.start.assign(slot, index, code),
            self.end.assign(slot, index, code),
            self.length.assign(slot, index, code),
            self.detail.assign(slot, index, code),
        )

    def moved(self, shift: int) -> Item:
        """The item on the slots whose numbers are higher by ``shift``."""
        return self._with(
            self.start.moved(shift), self.end.moved(shift), self.length.moved(shift), self.detail.moved(shift)
        )

    def _with(self, start: ValueNode, end: ValueNode, length: ValueNode, detail: ValueNode) -> Item:
        slots = start.slots | end.slots | detail.slots
        return Item(self.number, start, end, length, detail, self.firm, slots)


def item(
    store: NodeStore, number: int, start: ValueNode, end: ValueNode, detail: ValueNode, *, firm: bool
) -> Item:
    """An item before anything is read."""
    slots = start.slots | end.slots | detail.slots
    return Item(number, start, end, linear(store, [(end, 1), (start, -1)]), detail, firm, slots)


def end_slot(end: ValueNode, slot: int) -> int | None:
    """What is added to the slot's plain value to make the end, where that is all that is open of it."""
    term, base = end, 0
    if isinstance(end, Linear) and not end.poison and len(end.terms) == 1 and end.terms[0][1] == 1:
        term, base = end.terms[0][0], end.constant
    return base if isinstance(term, SlotValue) and term.slot == slot else None

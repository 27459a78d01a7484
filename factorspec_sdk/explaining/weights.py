"""What of a record is worth keeping, and what giving it up costs in changed fields."""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.explaining.placing import Placed
from factorspec_sdk.relations.unrolled import (
    FreePart,
    LeafPart,
    ListPart,
    NullablePart,
    ObjectPart,
    Part,
    UnionPart,
)


@dataclass(frozen=True, slots=True)
class Keep:
    """One decision to keep.

    index: what the slot takes; None: the part whose presence the slot decides does not occur.
    weight: changed fields if it is given up, at least 1.
    """

    index: int | None
    weight: int


def keeps_of(root: Part, given: Placed) -> dict[int, Keep]:
    """What is worth keeping of ``given``, by slot in writing order. O(size of the unrolled record).

    A written field costs one. That a part does not occur costs the fields that it must have at least (an
    empty list is one). That a part occurs costs its free texts; its other fields count for themselves.
    """
    found: dict[int, Keep] = {}
    _Walk(given.decisions, found).part(root)
    return dict(sorted(found.items()))


class _Walk:
    def __init__(self, decisions: dict[int, int], found: dict[int, Keep]) -> None:
        self._decisions = decisions
        self._found = found

    def part(self, part: Part) -> None:
        match part:
            case LeafPart():
                self._leaf(part)
            case NullablePart():
                self._nullable(part)
            case UnionPart():
                self._union(part)
            case ListPart():
                for item, more in zip(part.items, part.more, strict=True):
                    self._optional(more, item)
            case ObjectPart():
                for one in part.fields:
                    self._optional(one.slot, one.part)
            case FreePart(length=length):
                self._leaf(length)

    def _leaf(self, part: LeafPart | None) -> None:
        if part is not None and part.slot in self._decisions:
            self._found[part.slot] = Keep(self._decisions[part.slot], 1)

    def _nullable(self, part: NullablePart) -> None:
        self._choice(part.slot, part.inner)
        if self._decisions.get(part.slot) == 0:
            self._found[part.slot] = Keep(0, max(1, least_fields(part.inner)))
        self.part(part.inner)

    def _union(self, part: UnionPart) -> None:
        taken = self._decisions.get(part.slot)
        if taken is not None and (free := free_fields(part.branches[taken])):
            self._found[part.slot] = Keep(taken, free)
        for branch in part.branches:
            self.part(branch)

    def _optional(self, slot: int | None, part: Part) -> None:
        self._choice(slot, part)
        self.part(part)

    def _choice(self, slot: int | None, part: Part) -> None:
        if slot is None:
            return
        if not self._decisions.get(slot):
            self._found[slot] = Keep(None, max(1, least_fields(part)))
        elif free := free_fields(part):
            self._found[slot] = Keep(1, free)


def least_fields(part: Part) -> int:
    """The fewest fields that the part writes, itself included where it is a field of its own."""
    match part:
        case ObjectPart():
            return sum(least_fields(one.part) for one in part.fields if one.slot is None)
        case ListPart():
            must = [item for item, more in zip(part.items, part.more, strict=True) if more is None]
            return sum(least_fields(item) for item in must) or 1
        case UnionPart():
            return min(map(least_fields, part.branches))
        case _:
            return 1


def free_fields(part: Part) -> int:
    """Free texts that are always written with the part, but for those that count by their lengths."""
    match part:
        case FreePart():
            return int(part.length is None)
        case ObjectPart():
            return sum(free_fields(one.part) for one in part.fields if one.slot is None)
        case _:
            return 0

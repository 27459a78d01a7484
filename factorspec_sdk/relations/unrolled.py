"""The unrolled record: every field that can occur, with the slot that decides it.

Built by ``graph/unroll.py`` from the schema; relations resolve their paths on it. ``presence`` is the
``(slot, index)`` that makes a part occur, None where it always does. A slot whose controlling slot
decides otherwise is absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.paths import EVERY, Segment

Presence = tuple[int, int] | None


@dataclass(frozen=True, slots=True, eq=False)
class LeafPart:
    """A finite scalar: its slot."""

    path: str
    slot: int
    domain: Domain
    presence: Presence

    @property
    def optional(self) -> bool:
        """It can be absent."""
        return self.presence is not None


@dataclass(frozen=True, slots=True, eq=False)
class FreePart:
    """Free text or a free value: hole number; relations see only whether it is there."""

    path: str
    hole: int
    presence: Presence


@dataclass(frozen=True, slots=True, eq=False)
class NullablePart:
    """null (index 0 of ``slot``) or ``inner`` (index 1)."""

    path: str
    slot: int
    inner: Part


@dataclass(frozen=True, slots=True, eq=False)
class ListPart:
    """Items in order; ``more[k]`` is the slot that decides whether item k occurs, None where it must.

    starts: first slot number of each item, then that after the last item. Items have the same shape.
    """

    path: str
    presence: Presence
    items: tuple[Part, ...]
    more: tuple[int | None, ...]
    starts: tuple[int, ...]

    def item_presence(self, at: int) -> Presence:
        """What makes item ``at`` occur."""
        slot = self.more[at]
        return self.presence if slot is None else (slot, 1)


@dataclass(frozen=True, slots=True, eq=False)
class FieldPart:
    """One property: ``slot`` decides whether it is written (None: always)."""

    name: str
    slot: int | None
    part: Part


@dataclass(frozen=True, slots=True, eq=False)
class ObjectPart:
    """Properties in writing order."""

    path: str
    presence: Presence
    fields: tuple[FieldPart, ...]

    def field(self, name: str) -> Part | None:
        """The property's part, None if there is no such property."""
        return next((field.part for field in self.fields if field.name == name), None)


Part = LeafPart | FreePart | NullablePart | ListPart | ObjectPart


def walk(part: Part, segments: tuple[Segment, ...]) -> Iterator[Part]:
    """The parts that a path names, in writing order; those that can never occur are left out.

    Negative indices are left to the caller (``relations/lowering.py``): they depend on the length.
    """
    while isinstance(part, NullablePart) and segments:
        part = part.inner
    if not segments:
        yield part
        return
    head, rest = segments[0], segments[1:]
    if isinstance(head, str):
        found = part.field(head) if isinstance(part, ObjectPart) else None
        if found is not None:
            yield from walk(found, rest)
    elif isinstance(part, ListPart):
        if head is EVERY:
            for item in part.items:
                yield from walk(item, rest)
        elif 0 <= head < len(part.items):
            yield from walk(part.items[head], rest)

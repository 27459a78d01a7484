"""The unrolled record: every field that can occur, with the slot that decides it.

Built by ``graph/unroll.py`` from the schema; relations resolve their paths on it. ``presence`` is the
``(slot, index)`` that makes a part occur, None where it always does. A slot whose controlling slot
decides otherwise is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    """Free text or a free value: hole number; relations see whether it is there, and a text's length.

    length: the text's number of characters, where a relation reads it: a slot of its own behind the text.
    """

    path: str
    hole: int
    presence: Presence
    length: LeafPart | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NullablePart:
    """null (index 0 of ``slot``) or ``inner`` (index 1)."""

    path: str
    slot: int
    inner: Part


@dataclass(frozen=True, slots=True, eq=False)
class UnionPart:
    """``branches[index of slot]``.

    ends: for each branch the slot of size 1 after its own slots, from which the slots of the branches
    behind it are left out; None where there is nothing to leave out.
    """

    path: str
    slot: int
    branches: tuple[Part, ...]
    ends: tuple[int | None, ...]


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


Part = LeafPart | FreePart | NullablePart | UnionPart | ListPart | ObjectPart


def walk(part: Part, segments: tuple[Segment, ...]) -> Iterator[Part]:
    """The parts that a path names, in writing order; those that can never occur are left out.

    Of a union the parts in all branches. Negative indices are left to the caller
    (``relations/lowering.py``): they depend on the length.
    """
    return (found for found, _ in choices(part, segments, None))


def choices(part: Part, segments: tuple[Segment, ...], taken: Presence) -> Iterator[tuple[Part, Presence]]:
    """What ``walk`` finds, each with the branch of the innermost union on its way (else ``taken``)."""
    while isinstance(part, NullablePart) and segments:
        part = part.inner
    if not segments:
        yield part, taken
        return
    if isinstance(part, UnionPart):
        for index, branch in enumerate(part.branches):
            yield from choices(branch, segments, (part.slot, index))
        return
    for below in _below(part, segments[0]):
        yield from choices(below, segments[1:], taken)


def _below(part: Part, segment: Segment) -> Iterable[Part]:
    """The parts directly below a part that one segment names."""
    if isinstance(segment, str):
        found = part.field(segment) if isinstance(part, ObjectPart) else None
        return () if found is None else (found,)
    if not isinstance(part, ListPart):
        return ()
    return part.items if segment is EVERY else part.items[segment : segment + 1] if segment >= 0 else ()


def branches(part: Part) -> Iterator[Part]:
    """The part itself; of a union, or one that may be null, what stands in it."""
    if isinstance(part, NullablePart):
        yield from branches(part.inner)
    elif isinstance(part, UnionPart):
        for branch in part.branches:
            yield from branches(branch)
    else:
        yield part

"""The layout of a record: a flat program of literals and decisions, in writing order.

Lists are unrolled and every jump target is a node index ("pc"); the program is acyclic, and the
pc grows along no particular order: follow ``next`` and ``targets`` from ``start``::

    Literal(text, next)       text that is always written here
    Value(slot, next)         a finite slot, written as ``slots[slot].domain.text(index)``
    Branch(slot, targets)     a decision without text of its own: index i continues at targets[i]
    Hole(hole, next)          free text or a free JSON value, ``holes[hole]``
    Length(slot, next)        the length of the free text right before; writes nothing
    End()                     the record is complete

Invariants: slots are numbered in writing order; along any path slot numbers increase; a slot that
a path jumps over is absent in that record; no Literal follows a Literal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import Domain


@dataclass(frozen=True, slots=True)
class Literal:
    """Fixed text, then ``next``."""

    text: str
    next: int


@dataclass(frozen=True, slots=True)
class Value:
    """The text of a slot's value, then ``next``."""

    slot: int
    next: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Continue at ``targets[index]`` of the slot's value; nothing is written."""

    slot: int
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hole:
    """Free text, then ``next``."""

    hole: int
    next: int


@dataclass(frozen=True, slots=True)
class Length:
    """The slot takes the number of characters of the text in the hole right before, then ``next``.

    It stands behind a hole of kind "string" without schema and sources.
    """

    slot: int
    next: int


@dataclass(frozen=True, slots=True)
class End:
    """The record is complete."""


Node = Literal | Value | Branch | Hole | Length | End


@dataclass(frozen=True, slots=True)
class Slot:
    """One finite decision. ``path`` is for people ("stops[2].city"; "stops[2]?" for one more item)."""

    id: int
    path: str
    domain: Domain


@dataclass(frozen=True, slots=True)
class HoleSpec:
    """Where the model writes freely.

    kind "string": the inside of a JSON string (the quotes are literals around the hole), JSON-escaped,
    ``min_length`` to ``max_length`` characters, further restricted by ``schema`` if it is not None.
    Where ``sources`` is not None, the text is a verbatim piece of one of them.
    kind "json": any JSON value that ``schema`` admits, in canonical spacing, without free white space; its
    texts are those of ``grammar`` (EBNF) if that is not None.
    """

    path: str
    kind: OneOf["string", "json"]
    schema: dict[str, JsonValue] | None
    min_length: int = 0
    max_length: int | None = None
    sources: tuple[str, ...] | None = None
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Nodes, start, slots and holes of one layout."""

    nodes: tuple[Node, ...]
    start: int
    slots: tuple[Slot, ...]
    holes: tuple[HoleSpec, ...]

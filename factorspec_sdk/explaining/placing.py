"""From a JSON record, whole or in part, to decisions on the slots of the unrolled record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from factorspec_sdk.errors import JsonValue, Problem, shown
from factorspec_sdk.explaining.closest_value import closest_index
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.paths import below
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.relations.unrolled import (
    FreePart,
    LeafPart,
    ListPart,
    NullablePart,
    ObjectPart,
    Part,
    UnionPart,
)

_SHOWN_VALUES = 8


@dataclass
class Placed:
    """What a record says.

    decisions: value index by slot, for slots that the record decides within their domains.
    texts: what stands in the free parts, by hole.
    nearby: for values outside their domains, the index of the one that is meant, or nearest, by slot; for
        texts that are too short or too long, that of the nearest length.
    strays: values that the schema has no place for, and required ones that are missing.
    """

    decisions: dict[int, int] = field(default_factory=dict)
    texts: dict[int, JsonValue] = field(default_factory=dict)
    nearby: dict[int, int] = field(default_factory=dict)
    strays: list[Problem] = field(default_factory=list)

    @property
    def worth(self) -> tuple[int, int]:
        """Smaller for a better fit."""
        return len(self.strays), -len(self.decisions)


def place(
    part: Part,
    value: JsonValue,
    holes: Sequence[HoleSpec],
    *,
    partial: bool = False,
    open_list: str | None = None,
) -> Placed:
    """The decisions that a JSON value stands for. O(size of the unrolled part).

    Args:
        part: what the value is for: the root, or a part of it.
        value: JSON; dates and times as texts.
        holes: what free texts may be; patterns, formats, sources and open values are not looked at.
        partial: missing fields are open, not missing.
        open_list: path into which the record goes on: lists above it may have more items than are given.
    """
    walk = _Walk(holes, partial, open_list)
    walk.part(part, value)
    return walk.placed


def listed(domain: Domain) -> str:
    """The values of a domain, as they are written: all of a few, else the first and the last."""
    few = len(domain) <= _SHOWN_VALUES
    texts = [domain.text(at) for at in range(len(domain) if few else 2)]
    if not few:
        texts += ["…", domain.text(len(domain) - 1)]
    return f"the {len(domain)} values {', '.join(texts)}"


class _Walk:
    def __init__(self, holes: Sequence[HoleSpec], partial: bool, open_list: str | None) -> None:
        self.holes = holes
        self.partial = partial
        self.open_list = open_list
        self.placed = Placed()

    def part(self, part: Part, value: JsonValue) -> None:
        match part:
            case LeafPart():
                self._leaf(part, value)
            case FreePart():
                self._free(part, value)
            case NullablePart():
                self.placed.decisions[part.slot] = int(value is not None)
                if value is not None:
                    self.part(part.inner, value)
            case UnionPart():
                self._union(part, value)
            case ListPart():
                self._list(part, value)
            case ObjectPart():
                self._object(part, value)

    def _union(self, part: UnionPart, value: JsonValue) -> None:
        """The branch that the value fits best: with the fewest strays, then with the most decisions."""
        walks = [_Walk(self.holes, self.partial, self.open_list) for _ in part.branches]
        for walk, branch in zip(walks, part.branches, strict=True):
            walk.part(branch, value)
        index = min(range(len(walks)), key=lambda at: walks[at].placed.worth)
        best, end = walks[index].placed, part.ends[index]
        self.placed.decisions |= {part.slot: index, **best.decisions, **({} if end is None else {end: 0})}
        self.placed.texts |= best.texts
        self.placed.nearby |= best.nearby
        self.placed.strays += best.strays

    def _leaf(self, part: LeafPart, value: JsonValue) -> None:
        index = part.domain.index(value)
        if index is None:
            self._stray(part.path, f"not one of {listed(part.domain)}", value)
            closest = closest_index(part.domain, value)
            if closest is not None:
                self.placed.nearby[part.slot] = closest
        else:
            self.placed.decisions[part.slot] = index

    def _free(self, part: FreePart, value: JsonValue) -> None:
        self.placed.texts[part.hole] = value
        hole = self.holes[part.hole]
        if hole.kind != "string":
            return
        if not isinstance(value, str):
            self._stray(part.path, "must be a text", value)
        elif len(value) < hole.min_length:
            self._stray(part.path, f"must have at least {hole.min_length} characters", value)
        elif hole.max_length is not None and len(value) > hole.max_length:
            self._stray(part.path, f"must have at most {hole.max_length} characters", value)
        elif part.length is not None:
            self._leaf(part.length, len(value))
            return
        if part.length is not None:
            long = isinstance(value, str) and len(value) > hole.min_length
            self.placed.nearby[part.length.slot] = len(part.length.domain) - 1 if long else 0

    def _list(self, part: ListPart, value: JsonValue) -> None:
        if not isinstance(value, list):
            self._stray(part.path, "must be a list", value)
            return
        for at, (item, more) in enumerate(zip(part.items, part.more, strict=True)):
            if at < len(value):
                if more is not None:
                    self.placed.decisions[more] = 1
                self.part(item, value[at])
                continue
            if not self._goes_on(part.path):
                if more is not None:
                    self.placed.decisions[more] = 0
                elif not self.partial:
                    self._stray(item.path, "is missing", None)
                    continue
            break
        for at in range(len(part.items), len(value)):
            self._stray(f"{part.path}[{at}]", f"is more than the {len(part.items)} items allowed", value[at])

    def _goes_on(self, path: str) -> bool:
        return self.open_list is not None and self.open_list.startswith(f"{path}[")

    def _object(self, part: ObjectPart, value: JsonValue) -> None:
        if not isinstance(value, Mapping):
            self._stray(part.path, "must be an object", value)
            return
        for one in part.fields:
            if one.name in value:
                if one.slot is not None:
                    self.placed.decisions[one.slot] = 1
                self.part(one.part, value[one.name])
            elif not self.partial:
                if one.slot is None:
                    self._stray(one.part.path, "is missing", None)
                else:
                    self.placed.decisions[one.slot] = 0
        known = {one.name for one in part.fields}
        for name in value:
            if name not in known:
                path = below(part.path, name)
                self._stray(path, "is not a field of this record", value[name])

    def _stray(self, path: str, message: str, value: JsonValue) -> None:
        self.placed.strays.append(Problem(path, message, None if message == "is missing" else shown(value)))

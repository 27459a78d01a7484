"""From decisions and free texts back to a JSON record."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from factorspec_sdk.errors import JsonValue, Problem, RecordError
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.relations.unrolled import (
    FreePart,
    LeafPart,
    ListPart,
    NullablePart,
    ObjectPart,
    Part,
    UnionPart,
)

_FILLER = "?"


def written(
    unrolled: Unrolled, decisions: Mapping[int, int], texts: Mapping[int, JsonValue]
) -> dict[str, JsonValue]:
    """The record, fields in writing order. New free texts are question marks, as few as allowed.

    Raises:
        RecordError: a new free part has a schema of its own, so that its text cannot be made up.
    """
    value = _Writer(unrolled, decisions, texts).value(unrolled.root)
    assert isinstance(value, dict)
    return value


class _Writer:
    def __init__(
        self, unrolled: Unrolled, decisions: Mapping[int, int], texts: Mapping[int, JsonValue]
    ) -> None:
        self._holes = unrolled.holes
        self._decisions = decisions
        self._texts = texts

    def value(self, part: Part) -> JsonValue:
        match part:
            case LeafPart():
                return part.domain.value(self._decisions[part.slot])
            case FreePart():
                return self._texts[part.hole] if part.hole in self._texts else self._new(part)
            case NullablePart():
                return self.value(part.inner) if self._decisions[part.slot] else None
            case UnionPart():
                return self.value(part.branches[self._decisions[part.slot]])
            case ListPart():
                pairs = zip(part.items, part.more, strict=True)
                there = takewhile(lambda pair: self._is_there(pair[1]), pairs)
                return [self.value(item) for item, _ in there]
            case ObjectPart():
                return {one.name: self.value(one.part) for one in part.fields if self._is_there(one.slot)}

    def _is_there(self, slot: int | None) -> bool:
        return slot is None or bool(self._decisions[slot])

    def _new(self, part: FreePart) -> JsonValue:
        hole = self._holes[part.hole]
        if hole.kind == "string" and hole.schema is None:
            return _FILLER * hole.min_length
        hint = "give the record a valid value there"
        raise RecordError(
            "a new free value is needed", [Problem(part.path, "its value cannot be made up", None, hint)]
        )

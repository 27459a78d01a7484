"""From decisions and free texts back to a JSON record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import takewhile

from factorspec_sdk.errors import JsonValue, Problem, RecordError
from factorspec_sdk.graph.program import HoleSpec
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
    """The record, fields in writing order. Texts that do not fit are mended (see ``fitted``).

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
                return self._text(part)
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

    def _text(self, part: FreePart) -> JsonValue:
        hole, given = self._holes[part.hole], self._texts.get(part.hole)
        if part.length is not None:
            length = part.length.domain.integers
            assert length is not None
            size = length.code(self._decisions[part.length.slot])
            hole = replace(hole, min_length=size, max_length=size)
        if hole.kind == "string" and hole.schema is None:
            return fitted(hole, given if isinstance(given, str) else "")
        if part.hole in self._texts:
            return given
        hint = "give the record a valid value there"
        raise RecordError(
            "a new free value is needed", [Problem(part.path, "its value cannot be made up", None, hint)]
        )


def fitted(hole: HoleSpec, text: str) -> str:
    """The text where it may stand in the hole; else cut, filled up, or the longest piece in a source."""
    if hole.sources is not None:
        return max((_piece(hole, text, source) for source in hole.sources), key=lambda p: _common(p, text))
    most = len(text) if hole.max_length is None else hole.max_length
    return text[:most] + _FILLER * (hole.min_length - len(text))


def _piece(hole: HoleSpec, text: str, source: str) -> str:
    """A piece of the source around the longest one that it shares with the text."""
    most = len(source) if hole.max_length is None else hole.max_length
    if text in source and hole.min_length <= len(text) <= most:
        return text
    match = SequenceMatcher(None, text, source, autojunk=False).find_longest_match()
    begin = max(0, min(match.b, len(source) - hole.min_length))
    return source[begin : begin + min(most, max(match.size, hole.min_length))]


def _common(piece: str, text: str) -> int:
    return SequenceMatcher(None, text, piece, autojunk=False).find_longest_match().size

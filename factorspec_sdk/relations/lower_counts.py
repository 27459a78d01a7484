"""How many values some paths name, where the lengths of lists alone decide that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.nodes import ValueNode
from factorspec_sdk.automata.reading import nullable
from factorspec_sdk.fields.paths import EVERY, FieldPath, Segment, parse_path
from factorspec_sdk.relations.lower_numbers import list_length
from factorspec_sdk.relations.unrolled import LeafPart, ObjectPart, Part

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


def num_values(lowering: Lowering, paths: Sequence[str]) -> ValueNode | None:
    """The number of values that are not null; None where more than lengths decides it."""
    terms: list[tuple[ValueNode, int]] = []
    for text in paths:
        path = parse_path(text, tuple(lowering.binders))
        at = path.segments.index(EVERY) if path.stars else len(path.segments)
        number = _along(lowering, FieldPath(path.root, path.segments[:at]), path.segments[at + 1 :])
        if number is None:
            return None
        terms.append((number, 1))
    return linear(lowering.store, terms)


def _along(lowering: Lowering, path: FieldPath, rest: tuple[Segment, ...]) -> ValueNode | None:
    parts = lowering.parts(str(path))
    leaf = parts[0] if len(parts) == 1 else None
    if isinstance(leaf, LeafPart):
        return None if leaf.optional or nullable(leaf.domain) else lowering.store.known(1)
    part = lowering.list_at(str(path))
    if part is None or part.presence is not None or not all(_always(item, rest) for item in part.items):
        return None
    return list_length(lowering.store, part)


def _always(part: Part, rest: tuple[Segment, ...]) -> bool:
    """True if the part holds one value at ``rest`` whenever it occurs."""
    for name in rest:
        fields = part.fields if isinstance(part, ObjectPart) else ()
        field = next((field for field in fields if field.name == name), None)
        if field is None or field.slot is not None:
            return False
        part = field.part
    return isinstance(part, LeafPart) and not nullable(part.domain)

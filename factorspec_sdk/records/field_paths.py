"""Paths of declarations (``stops[*].city``, by Python names), resolved against a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem, UnknownField
from factorspec_sdk.fields.paths import EVERY, FieldPath, PathSyntaxError, Segment, parse_path
from factorspec_sdk.records.shape_problems import described
from factorspec_sdk.records.shapes import (
    ListShape,
    ObjectShape,
    OpenShape,
    Shape,
    UnionShape,
    fields_of,
)
from factorspec_sdk.records.unions import branches_of, models_of, together


class Misfit(Exception):
    """One problem of a declaration, and the error class that it belongs to."""

    def __init__(self, error: type[DeclarationError], problem: Problem) -> None:
        self.error = error
        self.problem = problem
        super().__init__(str(problem))


@dataclass(frozen=True, slots=True)
class Resolved:
    """A path in the record's own keys, the shape of what it names, and how the user wrote it.

    ``unbounded``: the first list without an upper end that it goes through.
    """

    path: FieldPath
    shape: Shape
    text: str
    unbounded: str | None


def resolve(model: type[BaseModel], text: str, binders: Mapping[str, Shape]) -> Resolved:
    """What a path names. ``binders``: names of bound items and their shapes.

    Raises:
        Misfit: if the text is no path, or the model has no such field.
    """
    try:
        path = parse_path(text, tuple(binders))
    except PathSyntaxError as error:
        raise Misfit(PathSyntaxError, error.problems[0]) from error
    shape: Shape = binders.get(path.root, ObjectShape(model))
    segments: list[Segment] = []
    unbounded: str | None = None
    for at, segment in enumerate(path.segments):
        if unbounded is None and any(_is_open_list(branch) for branch in branches_of(shape)):
            unbounded = FieldPath(path.root, path.segments[:at]).display
        extra = tuple(binders) if at == 0 and path.root == "$" else ()
        shape, key = step(shape, segment, text, extra)
        segments.append(key)
    return Resolved(FieldPath(path.root, tuple(segments)), shape, text, unbounded)


def step(shape: Shape, segment: Segment, place: str, extra: tuple[str, ...] = ()) -> tuple[Shape, Segment]:
    """Shape and key one segment below ``shape``. ``extra``: further names for the did-you-mean."""
    if isinstance(shape, OpenShape):
        return shape, segment
    if isinstance(shape, UnionShape):
        return _step_in_branches(shape, segment, place, extra)
    if isinstance(segment, str):
        if not isinstance(shape, ObjectShape):
            raise Misfit(UnknownField, Problem(place, f"{described(shape)} has no fields", repr(segment)))
        field = fields_of(shape.model).get(segment)
        if field is None:
            raise Misfit(UnknownField, unknown_field(shape.model, segment, place, extra))
        return field.shape, field.key
    if not isinstance(shape, ListShape):
        raise Misfit(UnknownField, Problem(place, f"{described(shape)} has no items", f"[{_shown(segment)}]"))
    if isinstance(segment, int) and shape.most is not None and not -shape.most <= segment < shape.most:
        problem = Problem(place, f"the list never has that many items, at most {shape.most}", f"[{segment}]")
        raise Misfit(UnknownField, problem)
    return shape.item, segment


def _step_in_branches(
    shape: UnionShape, segment: Segment, place: str, extra: tuple[str, ...]
) -> tuple[Shape, Segment]:
    """What the segment leads to in the branches that have it."""
    wanted = ObjectShape if isinstance(segment, str) else ListShape
    branches = [branch for branch in branches_of(shape) if isinstance(branch, wanted)]
    if not branches:
        return step(next(branches_of(shape)), segment, place, extra)  # says why not
    found = [
        step(branch, segment, place, extra)
        for branch in branches
        if not isinstance(branch, ObjectShape) or segment in fields_of(branch.model)
    ]
    if not found:
        names = [name for model in models_of(shape) for name in fields_of(model.model)]
        message = f"no branch of {described(shape)} has the field {segment!r}"
        raise Misfit(UnknownField, Problem(place, message, None, closest(str(segment), [*names, *extra])))
    if len({key for _, key in found}) > 1:
        raise Misfit(UnknownField, Problem(place, f"{segment!r} has different aliases in {described(shape)}"))
    return together([one for one, _ in found]), found[0][1]


def _is_open_list(shape: Shape) -> bool:
    return isinstance(shape, ListShape) and shape.most is None


def unknown_field(model: type[BaseModel], name: str, place: str, extra: tuple[str, ...] = ()) -> Problem:
    """The problem of a field that is not there, with the name that was probably meant."""
    fields = fields_of(model)
    for field in fields.values():
        if field.key == name:
            hint = f"{name!r} is an alias; the Python name is {field.name!r}"
            return Problem(place, f"{model.__name__} has no field {name!r}", None, hint)
    return Problem(place, f"{model.__name__} has no field {name!r}", None, closest(name, [*fields, *extra]))


def closest(name: str, known: Iterable[str]) -> str:
    """A hint: the name that was probably meant, or all names."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names) or 'none at all'}"


def _shown(segment: Segment) -> str:
    return "*" if segment is EVERY else str(segment)

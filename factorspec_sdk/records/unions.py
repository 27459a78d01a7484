"""Unions of a model: which shape an annotation has, and what a path below a union leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from pydantic import Discriminator, Tag
from pydantic.fields import FieldInfo

from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.records.shapes import (
    FreeShape,
    ListShape,
    ObjectShape,
    OpenShape,
    RefusedShape,
    ScalarShape,
    Shape,
    UnionShape,
    fields_of,
)

_CALLABLE = (
    "a discriminator that is a function cannot be enforced: give each model a Literal field and name it"
)


def union_shape(
    annotation: object,
    others: Sequence[object],
    metadata: Sequence[object],
    shape_of: Callable[[object], Shape],
) -> Shape:
    """The shape of a union of at least two types that are not null."""
    nullable = len(others) < len(get_args(annotation))
    tags = [part for part in metadata if _discriminator(part) is not None]
    if any(callable(_discriminator(part)) for part in tags):
        return RefusedShape(_CALLABLE)
    branches = tuple(shape_of(other) for other in others)
    refused = next(filter(None, map(_refusal, branches)), None)
    if refused is not None:
        return RefusedShape(refused)
    if any(isinstance(branch, OpenShape) for branch in branches):
        return OpenShape(nullable)
    plain = all(part in tags or isinstance(part, FieldInfo | Tag) for part in metadata)
    if not plain or all(map(is_free, branches)):
        return FreeShape(annotation, nullable)
    nullable = nullable or any(branch.nullable for branch in branches)
    branches = tuple(replace(branch, nullable=False) for branch in branches)
    tag = _discriminator(tags[-1]) if tags else None
    return UnionShape(branches, tuple(others), tag if isinstance(tag, str) else None, nullable)


def _discriminator(part: object) -> object:
    found = part.discriminator if isinstance(part, FieldInfo | Discriminator) else None
    return found.discriminator if isinstance(found, Discriminator) else found


def _refusal(shape: Shape) -> str | None:
    if isinstance(shape, RefusedShape):
        return shape.reason
    return shape.unwritable if isinstance(shape, ScalarShape) else None


def is_free(shape: Shape) -> bool:
    """True for what relations cannot see, in lists too."""
    while isinstance(shape, ListShape):
        shape = shape.item
    return isinstance(shape, FreeShape) or (isinstance(shape, ScalarShape) and not shape.finite)


def branches_of(shape: Shape) -> Iterator[Shape]:
    """The shape itself; of a union its branches, those of unions in it too."""
    if isinstance(shape, UnionShape):
        for branch in shape.branches:
            yield from branches_of(branch)
    else:
        yield shape


def models_of(shape: Shape) -> list[ObjectShape]:
    """The models among the branches."""
    return [branch for branch in branches_of(shape) if isinstance(branch, ObjectShape)]


def together(shapes: Sequence[Shape]) -> Shape:
    """One shape for what a path leads to in several branches."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return UnionShape(tuple(shapes), (), None, any(shape.nullable for shape in shapes))


def as_scalar(shape: Shape) -> ScalarShape | None:
    """A union of scalars as one scalar: its code type, and its values if all are listed; None for others."""
    branches = list(branches_of(shape))
    scalars = [branch for branch in branches if isinstance(branch, ScalarShape)]
    if len(scalars) < len(branches):
        return None
    codes = {scalar.code for scalar in scalars}
    values = [scalar.values for scalar in scalars if scalar.values is not None]
    listed = len(values) == len(scalars)
    return ScalarShape(
        codes.pop() if len(codes) == 1 else None,
        shape.nullable or any(scalar.nullable for scalar in scalars),
        tuple(dict.fromkeys(value for found in values for value in found)) if listed else None,
        params=tuple(param for scalar in scalars for param in scalar.params),
        decimals=scalars[0].decimals if len({scalar.kind for scalar in scalars}) == 1 else None,
    )


def tell_apart(shape: ObjectShape, other: ObjectShape) -> tuple[str, tuple[Scalar, ...] | bool] | None:
    """What an object of the one model shows and one of the other does not; None if nothing is known.

    (key, values): the field has one of them. (key, True): it has the field. (key, False): it has it not.
    """
    own = {field.key: field.shape for field in fields_of(shape.model).values()}
    others = {field.key: field.shape for field in fields_of(other.model).values()}
    for key, one in own.items():
        values, theirs = _values(one), _values(others[key]) if key in others else None
        if values is not None and theirs is not None and not set(values) & set(theirs):
            return key, values
    missing = next((key for key in own if key not in others), None)
    if missing is not None:
        return missing, True
    more = next((key for key in others if key not in own), None)
    return None if more is None else (more, False)


def _values(shape: Shape) -> tuple[Scalar, ...] | None:
    """The listed values of a field that is never null."""
    known = isinstance(shape, ScalarShape) and not shape.params and not shape.nullable
    return shape.values if isinstance(shape, ScalarShape) and known else None

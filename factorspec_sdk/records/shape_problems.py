"""Shapes in words, and what is wrong with those that a relation touches."""

from __future__ import annotations

from factorspec_sdk.errors import Problem
from factorspec_sdk.records.shapes import (
    FreeShape,
    ListShape,
    ObjectShape,
    OpenShape,
    RefusedShape,
    ScalarShape,
    Shape,
    UnionShape,
)


def described(shape: Shape) -> str:
    """A shape in words, for errors."""
    match shape:
        case ObjectShape():
            return shape.model.__name__
        case ListShape():
            return f"a list of {described(shape.item)}"
        case ScalarShape():
            return {
                "int": "an integer",
                "date": "a date",
                "time": "a time",
                "datetime": "a date with a time",
                "decimal": "a decimal",
                "text": "a text",
                "bool": "a boolean",
            }.get(shape.code or "", "a value of mixed types")
        case UnionShape():
            return " or ".join(dict.fromkeys(map(described, shape.branches)))
        case FreeShape():
            return "free text or data"
        case RefusedShape():
            return "an unsupported type"
        case OpenShape():
            return "a type variable"


def require_finite(shape: Shape, place: str) -> Problem | None:
    """What is wrong if a relation touches this field; None if nothing is."""
    match shape:
        case ScalarShape() if shape.finite:
            return None
        case ScalarShape():
            hint = shape.unwritable or _BOUND_HINTS.get(shape.code or "", "")
            return Problem(
                place, f"a relation touches {described(shape)} without a finite domain", None, hint
            )
        case RefusedShape():
            return Problem(place, shape.reason)
        case UnionShape():
            return next(filter(None, (require_finite(branch, place) for branch in shape.branches)), None)
        case FreeShape():
            hint = "declare it as Decimal: Annotated[Decimal, Field(decimal_places=2, ge=0, le=1000)]"
            touched = "a relation touches a field that has no finite domain"
            return Problem(place, touched, str(shape.annotation), hint if shape.annotation is float else None)
        case _:
            return None


def unbounded_list(place: str) -> Problem:
    """What is wrong if a relation touches a list without an upper end."""
    hint = "bound it, such as Annotated[list[Item], Field(max_length=12)]"
    return Problem(place, "a relation touches a list without max_length", None, hint)


_BOUND_HINTS = {
    "int": "bound it, such as Annotated[int, Field(ge=0, le=100)]",
    "date": "bound it, such as Annotated[date, Between(first, last)]",
    "datetime": "bound it, such as Annotated[datetime, Between(first, last, step=minutes(15))]",
    "time": "bound it, such as Annotated[time, Between(opens, closes, step=minutes(15))]",
    "text": 'list its values by Literal, Enum, or Annotated[str, In("parameter")]',
}

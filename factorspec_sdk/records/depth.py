"""``max_depth``: how often a model may stand inside itself in a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.records import installing
from factorspec_sdk.wire.recursion import MAX_DEPTH

DEPTH = "__factorspec_max_depth__"
M = TypeVar("M", bound=BaseModel)


def max_depth(most: int) -> Callable[[type[M]], type[M]]:
    """A class decorator: no model stands more than ``most`` times on a way down a record of this class.

    A recursive model needs it where relations read into the recursion; ``max_depth(1)`` allows no nesting.
    Only that of the outermost model counts; subclasses inherit it. Instances are validated by it too.
    """
    given: object = most
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MAX_DEPTH:
        problem = Problem("max_depth", f"takes a whole number from 1 to {MAX_DEPTH}", shown(most))
        raise DeclarationError("max_depth is wrong", [problem])

    def declare(model: type[M]) -> type[M]:
        installing.refuse_others(model)
        setattr(model, DEPTH, most)
        installing.install(model)
        return model

    return declare


def depth_of(model: type[BaseModel]) -> int | None:
    """What ``max_depth`` says of a class."""
    return getattr(model, DEPTH, None)


def enforce_depth(instance: BaseModel) -> None:
    """Check the depth of an instance of a class with ``max_depth``.

    Raises:
        ValidationError: with one error of type ``factorspec_max_depth`` for the first place that is too deep.
    """
    most = depth_of(type(instance))
    place = None if most is None else next(_too_deep(instance, most, "", Counter()), None)
    if place is not None:
        context = {"place": place, "most": str(most)}
        message = "{place} nests deeper than max_depth {most}"
        error = PydanticCustomError("factorspec_max_depth", message, context)
        details = [InitErrorDetails(type=error, input=instance)]
        raise ValidationError.from_exception_data(type(instance).__name__, details)


def _too_deep(value: object, most: int, place: str, above: Counter[type]) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from _too_deep(item, most, f"{place}[{at}]", above)
    if not isinstance(value, BaseModel):
        return
    here = above + Counter([type(value)])
    if here[type(value)] > most:
        yield place
        return
    for name in type(value).model_fields:
        yield from _too_deep(value.__dict__.get(name), most, f"{place}.{name}" if place else name, here)

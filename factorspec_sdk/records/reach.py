"""The models that a record is made of: the outermost one and all that relations can reach in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args, get_origin

from pydantic import BaseModel

from factorspec_sdk.errors import Problem
from factorspec_sdk.records import registry
from factorspec_sdk.records.domains import Between, In
from factorspec_sdk.records.parameters import params_of
from factorspec_sdk.records.shapes import (
    FieldShape,
    ListShape,
    ObjectShape,
    ScalarShape,
    Shape,
    UnionShape,
    fields_of,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A model in a record, and one path to it."""

    model: type[BaseModel]
    path: str
    fields: dict[str, FieldShape]

    def scalars(self) -> Iterator[tuple[str, ScalarShape]]:
        """(path, shape) of the scalars of this model, those in lists included."""
        for name, field in self.fields.items():
            for shape, path in leaves(field.shape, f"{self.path}.{name}" if self.path else name):
                if isinstance(shape, ScalarShape):
                    yield path, shape

    @property
    def children(self) -> list[type[BaseModel]]:
        """The models of its fields."""
        shapes = (shape for field in self.fields.values() for shape, _ in leaves(field.shape, ""))
        return [shape.model for shape in shapes if isinstance(shape, ObjectShape)]

    @property
    def needs_parameters(self) -> bool:
        """True if a relation or a domain of this very model waits for parameters."""
        if any(params_of(resolved.template) for resolved in registry.resolve(self.model)):
            return True
        return any(shape.params for _, shape in self.scalars())


def leaves(shape: Shape, path: str) -> Iterator[tuple[Shape, str]]:
    """What lists hold and what unions are made of, and the paths to it."""
    if isinstance(shape, ListShape):
        yield from leaves(shape.item, f"{path}[*]")
    elif isinstance(shape, UnionShape):
        for branch in shape.branches:
            yield from leaves(branch, path)
    else:
        yield shape, path


def hidden(annotation: object, path: str) -> Iterator[Problem]:
    """What a free part would silently drop: relations, and domains that JSON Schema does not say."""
    seen: list[object] = []
    waiting = [annotation]
    while waiting:
        part = waiting.pop(0)
        if any(part is known for known in seen):
            continue
        seen.append(part)
        waiting += get_args(part)
        if isinstance(part, Between) or (isinstance(part, In) and part.parameter is not None):
            yield Problem(path, f"{part!r} cannot be enforced inside this type", None, _HINT)
        elif isinstance(part, type) and get_origin(part) is None and issubclass(part, BaseModel):
            if registry.resolve(part):
                yield Problem(path, f"the relations of {part.__name__} cannot be enforced here", None, _HINT)
            for info in part.model_fields.values():
                waiting += [info.annotation, *info.metadata]


_HINT = "use nested models, lists and unions of them; dicts are written freely"


def models_in(model: type[BaseModel]) -> Iterator[Place]:
    """The model and all models nested in it, each once, in order of first use.

    Raises:
        DeclarationError: a model names a type that is not defined.
    """
    seen: set[type[BaseModel]] = {model}
    waiting = [Place(model, "", fields_of(registry.completed(model)))]
    while waiting:
        place = waiting.pop(0)
        yield place
        for name, field in place.fields.items():
            for shape, path in leaves(field.shape, f"{place.path}.{name}" if place.path else name):
                if isinstance(shape, ObjectShape) and shape.model not in seen:
                    seen.add(shape.model)
                    waiting.append(Place(shape.model, path, fields_of(registry.completed(shape.model))))

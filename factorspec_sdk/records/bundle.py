"""Several relations under one name: how users build kinds of their own from the kinds that exist."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.records.declarations import Declaration

M = TypeVar("M", bound=BaseModel)


class Bundle:
    """Relations that are declared together, as one class decorator. Made by ``all_of``."""

    def __init__(self, parts: tuple[Declaration, ...]) -> None:
        self.parts = parts

    def __call__(self, model: type[M]) -> type[M]:
        """Check all relations against the model and add them."""
        for part in reversed(self.parts):  # decorators apply from the bottom up
            model = part(model)
        return model

    def __iter__(self) -> Iterator[Declaration]:
        return iter(self.parts)


def all_of(
    *parts: Declaration | Bundle, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Bundle:
    """Relations under one name: a function that returns this is a new kind of relation.

    def chain(items: str, of: str) -> fs.Bundle:
        return fs.all_of(
            fs.all_different(f"{items}[*].{of}"),
            fs.slide(items, fs.ne(f"a.{of}", f"b.{of}")),
            name=f"{items} are a chain",
        )

    ``name`` stands before the name of each, ``why`` is given to those without one, and with ``enforce=False``
    all are report-only.

    Raises:
        DeclarationError: a part is no relation.
    """
    found: list[Declaration] = []
    for part in parts:
        if not issubclass(type(part), Bundle | Declaration):
            problem = Problem("all_of", "a relation is needed, such as all_different(...)", shown(part))
            raise DeclarationError("all_of takes relations", [problem])
        found.extend(part if isinstance(part, Bundle) else (part,))
    return Bundle(tuple(_named(part, name, why, enforce=enforce) for part in found))


def _named(part: Declaration, name: str | None, why: str | None, *, enforce: bool) -> Declaration:
    own = copy.copy(part)
    if name is not None:
        own.name = f"{name}: {part.name or part.default_name}"[:200]
    own.why = part.why if part.why is not None else why
    own.enforce = part.enforce and enforce
    return own

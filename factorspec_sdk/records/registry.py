"""The relations of a class: its own and inherited ones, each resolved against the class once.

Subclasses may change a field's type or alias, so relations are resolved anew for each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem, UnsupportedField, shown
from factorspec_sdk.records.arguments import told_arguments
from factorspec_sdk.records.installing import DECLARED
from factorspec_sdk.records.methods import RelationMethod
from factorspec_sdk.records.parameters import Template

if TYPE_CHECKING:
    from factorspec_sdk.records.declarations import Declaration

RESOLVED = "__factorspec_resolved__"
_NAME_CHARS = 200
_DEFAULT_CHARS = 120


@dataclass(frozen=True, slots=True)
class Resolved:
    """A relation of a class: its name and its wire form with parameters left open.

    local: report-only and over fields without a finite domain: checked on instances, not sent.
    """

    name: str
    template: dict[str, Template]
    method: RelationMethod | None
    local: bool


def add(model: type[BaseModel], declaration: Declaration) -> None:
    """Add what a decorator declares to the class, in front: decorators apply from the bottom up.

    Raises:
        DeclarationError: if the class itself declares another relation of that name.
    """
    own: tuple[tuple[str, Declaration], ...] = model.__dict__.get(DECLARED, ())
    taken = {name for name, _ in own} | {method.relation_name for method in _methods(model)}
    if declaration.name is not None:
        name = declaration.name
        check_name(name, model.__name__)
        if name in taken:
            raise _twice(model, name)
    else:
        with told_arguments(f"a relation on {model.__name__} is wrong"):
            default = _shortened(declaration.default_name)
        name = _unique(default, taken | {name for name, _ in _inherited(model)})
    setattr(model, DECLARED, ((name, declaration), *own))
    if RESOLVED in model.__dict__:
        delattr(model, RESOLVED)


def resolve(model: type[BaseModel]) -> tuple[Resolved, ...]:
    """All relations of a class, inherited ones first. Cached on the class.

    A generic model whose type variables are open has none.

    Raises:
        DeclarationError: with all problems of the relations that do not fit the class.
    """
    found = model.__dict__.get(RESOLVED)
    if found is not None:
        return found  # type: ignore[no-any-return]
    if model.__pydantic_generic_metadata__["parameters"]:
        return ()
    resolved: dict[str, Resolved] = {}
    problems: list[DeclarationError] = []
    for name, source in _all(model).items():
        try:
            check_name(name, model.__name__)
            resolved[name] = _resolved(model, name, source)
        except DeclarationError as error:
            problems.append(error)
    if problems:
        raise _together(model, problems)
    result = tuple(resolved.values())
    setattr(model, RESOLVED, result)
    return result


def completed(model: type[BaseModel]) -> type[BaseModel]:
    """The model once all types that its annotations name are known, as Pydantic does at the first use.

    Raises:
        DeclarationError: some of them are not defined.
    """
    if not model.__pydantic_complete__ and not model.model_rebuild(raise_errors=False):
        hint = f"call {model.__name__}.model_rebuild() where they are"
        problem = Problem(model.__name__, "its annotations name types that are not defined yet", None, hint)
        raise DeclarationError(f"{model.__name__} is not complete", [problem])
    return model


def _resolved(model: type[BaseModel], name: str, source: Declaration | RelationMethod) -> Resolved:
    method = source if isinstance(source, RelationMethod) else None
    try:
        return Resolved(name, source.template(model, name, finite=True), method, local=False)
    except UnsupportedField:
        if source.enforce:
            raise
    return Resolved(name, source.template(model, name, finite=False), method, local=True)


def _together(model: type[BaseModel], errors: list[DeclarationError]) -> DeclarationError:
    if len(errors) == 1:
        return errors[0]
    classes = {type(error) for error in errors}
    cls = classes.pop() if len(classes) == 1 else DeclarationError
    problems = [problem for error in errors for problem in error.problems]
    return cls(f"relations on {model.__name__} are wrong", problems)


def _all(model: type[BaseModel]) -> dict[str, Declaration | RelationMethod]:
    found: dict[str, Declaration | RelationMethod] = {}
    for name, source in _inherited(model, itself=True):
        if (
            isinstance(source, RelationMethod)
            and model.__dict__.get(source.method) is source
            and name in {own for own, _ in model.__dict__.get(DECLARED, ())}
        ):
            raise _twice(model, name)
        found[name] = source
    return found


def _inherited(
    model: type[BaseModel], *, itself: bool = False
) -> Iterator[tuple[str, Declaration | RelationMethod]]:
    """(name, declaration) along the base classes, the most basic first; overridden methods are left out."""
    for cls in reversed(model.__mro__ if itself else model.__mro__[1:]):
        yield from cls.__dict__.get(DECLARED, ())
        for method in _methods(cls):
            if _lookup(model, method.method) is method:
                yield method.relation_name, method


def _methods(cls: type) -> list[RelationMethod]:
    return [value for value in cls.__dict__.values() if isinstance(value, RelationMethod)]


def _lookup(model: type, name: str) -> object:
    for cls in model.__mro__:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return None


def check_name(name: str, place: str) -> None:
    """Refuse names that do not fit into messages and documents.

    Raises:
        DeclarationError: if the name is empty or too long.
    """
    if not name.strip() or len(name) > _NAME_CHARS:
        problem = Problem(place, f"a name has 1 to {_NAME_CHARS} characters", shown(name))
        raise DeclarationError("not a relation's name", [problem])


def _shortened(name: str) -> str:
    return name if len(name) <= _DEFAULT_CHARS else f"{name[: _DEFAULT_CHARS - 1]}…"


def _unique(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found


def _twice(model: type[BaseModel], name: str) -> DeclarationError:
    problem = Problem(
        name, f"{model.__name__} declares two relations of this name", None, "give each its own name="
    )
    return DeclarationError("relation names must be unique", [problem])

"""Objectives: ``maximize`` and ``minimize``, as class decorators, as methods, or given to ``bind``.

Levels are lexicographic, in reading order: decorators from the top down, then methods. A class that declares
any replaces those it inherits. Only the objective of the outermost model counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.records import installing
from factorspec_sdk.records.declarations import Scope, raise_misfits
from factorspec_sdk.records.methods import TracedMethod, named_in_annotations
from factorspec_sdk.records.parameters import Template
from factorspec_sdk.records.recording import record_number
from factorspec_sdk.records.terms import Term
from factorspec_sdk.relations.objective import MAX_GAP

GOALS = "__factorspec_goals__"
TEMPLATES = "__factorspec_goal_templates__"
MAX_NAME = 200
GoalName = Literal["maximize", "minimize"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Aim:
    """One level of an objective: decorates a class or a method, or is given to ``bind``.

    path, method: what is optimised; a decorator of a method has neither.
    """

    goal: GoalName
    path: str | None
    method: TracedMethod | None
    gap: int
    best_bound: bool
    name: str | None

    def __call__(self, target: T) -> T:
        """Declare the level on a class, or make a method its expression."""
        if isinstance(target, type):
            if not issubclass(target, BaseModel):
                raise _wrong("an objective is declared on a Pydantic model", target)
            _declare(target, self)
            return target
        if self.path is not None or self.method is not None or not isinstance(target, FunctionType):
            raise _wrong(f"{self.goal} decorates a class, or with nothing else a method", target)
        return cast(T, GoalMethod(self, target))

    def template(self, model: type[BaseModel]) -> dict[str, Template]:
        """The level's wire form for a class.

        Raises:
            DeclarationError: where the expression does not fit the class.
        """
        return _head(self, self.name, self._term(model).template)

    def _term(self, model: type[BaseModel]) -> Term:
        if self.method is not None:
            return _recorded(self.method, model, self.goal)
        if self.path is None:
            raise _wrong(f"{self.goal} on {model.__name__} says not what", None)
        scope = Scope(model)
        found = scope.side(self.path)
        if found is not None and found.code not in ("int", "date", "time", None):
            scope.fail(self.path, f"{self.goal} takes an integer, a date or a time, this is {found.kind}")
        raise_misfits(scope.problems, f"{self.goal} on {model.__name__} is wrong")
        assert found is not None
        return found


class GoalMethod(TracedMethod):
    """A method whose value is a level of the objective; on an instance it computes the value."""

    def __init__(self, aim: Aim, function: FunctionType) -> None:
        names = named_in_annotations(function, sys._getframe(2))  # noqa: SLF001
        super().__init__(function, names)
        self.aim = aim

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else self.function.__get__(instance)

    def template(self, model: type[BaseModel]) -> dict[str, Template]:
        """The level's wire form for a class."""
        name = self.aim.name or self.method.replace("_", " ")
        return _head(self.aim, name, _recorded(self, model, self.aim.goal).template)


def maximize(
    what: str | Callable[..., object] | None = None,
    *,
    gap: int = 0,
    best_bound: bool = False,
    name: str | None = None,
) -> Aim:
    """Reach only the valid records with the most: ``@fs.maximize(lambda day: fs.length(day.visits))``.

    It is for what is written; validation, ``explain``, ``why_not`` and ``nearest`` ask for validity alone.

    Args:
        what: a path to a number, date or time; or a function of the record. None before a method.
        gap: values so far from the optimum are reached too (days for dates, seconds for times).
        best_bound: where the optimum cannot be proved within the server's budget, take the best value found;
            else such a request is refused.
        name: how reports call it.
    """
    return _aim("maximize", what, gap, name, best_bound=best_bound)


def minimize(
    what: str | Callable[..., object] | None = None,
    *,
    gap: int = 0,
    best_bound: bool = False,
    name: str | None = None,
) -> Aim:
    """Reach only the valid records with the least value: see ``maximize``."""
    return _aim("minimize", what, gap, name, best_bound=best_bound)


def _aim(
    goal: GoalName,
    what: str | Callable[..., object] | None,
    gap: int,
    name: str | None,
    *,
    best_bound: bool,
) -> Aim:
    if type(gap) is not int or not 0 <= gap <= MAX_GAP:
        raise _wrong("a gap is an integer, 0 or more", gap)
    if name is not None and (type(name) is not str or not 0 < len(name) <= MAX_NAME):
        raise _wrong(f"a name has 1 to {MAX_NAME} characters", name)
    if what is None or isinstance(what, str):
        return Aim(goal, what, None, gap, best_bound, name)
    if not isinstance(what, FunctionType):
        raise _wrong(f"{goal} takes a path or a function of the record", what)
    method = TracedMethod(what, named_in_annotations(what, sys._getframe(2)))  # noqa: SLF001
    return Aim(goal, None, method, gap, best_bound, name)


def methods_of(model: type[BaseModel]) -> list[TracedMethod]:
    """The functions among a class's levels, with their parameters."""
    found = [goal if isinstance(goal, GoalMethod) else goal.method for goal in goals_of(model)]
    return [method for method in found if method is not None]


def goals_of(model: type[BaseModel]) -> tuple[Aim | GoalMethod, ...]:
    """The levels of a class's objective, in order."""
    for cls in model.__mro__:
        own: tuple[Aim, ...] = cls.__dict__.get(GOALS, ())
        methods = [value for value in cls.__dict__.values() if isinstance(value, GoalMethod)]
        if own or methods:
            return (*own, *methods)
    return ()


def templates_of(model: type[BaseModel]) -> list[dict[str, Template]]:
    """The wire form of the objective of a class, with parameters left open. Cached on the class."""
    found: list[dict[str, Template]] | None = model.__dict__.get(TEMPLATES)
    if found is None:
        if model.__pydantic_generic_metadata__["parameters"]:
            return []
        found = [goal.template(model) for goal in goals_of(model)]
        setattr(model, TEMPLATES, found)
    return found


def _recorded(method: TracedMethod, model: type[BaseModel], goal: GoalName) -> Term:
    trace, arguments = method.recording(model, goal, finite=True)
    return record_number(trace, method.function, arguments, goal)


def _declare(model: type[BaseModel], aim: Aim) -> None:
    setattr(model, GOALS, (aim, *model.__dict__.get(GOALS, ())))
    if TEMPLATES in model.__dict__:
        delattr(model, TEMPLATES)
    installing.resolve_when_built(model)
    if model.__pydantic_complete__:
        templates_of(model)


def _head(aim: Aim, name: str | None, expr: Template) -> dict[str, Template]:
    head: dict[str, Template] = {"goal": aim.goal, "expr": expr}
    if aim.gap:
        head["gap"] = aim.gap
    if aim.best_bound:
        head["best_bound"] = True
    if name is not None:
        head["name"] = name
    return head


def _wrong(message: str, value: object) -> DeclarationError:
    return DeclarationError("the objective is wrong", [Problem("", message, shown(value))])

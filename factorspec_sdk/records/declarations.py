"""What all class decorators have in common: an object that checks itself against a model.

A declaration is called with the class that it decorates; a ``Condition`` is a declaration that can also
stand inside another one (``slide``, ``implies``, ``both`` ...).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem, UnknownField, UnsupportedField
from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.records import installing
from factorspec_sdk.records.arguments import Told, check_texts, told_arguments
from factorspec_sdk.records.field_paths import Misfit, Resolved, resolve
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import Param, ParamConst, Template
from factorspec_sdk.records.shape_problems import described, require_finite, unbounded_list
from factorspec_sdk.records.shapes import (
    FreeShape,
    ListShape,
    OpenShape,
    ScalarShape,
    Shape,
)
from factorspec_sdk.records.terms import Term, TermError, constant
from factorspec_sdk.records.unions import as_scalar

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Literally:
    """A constant where a text would be read as a path."""

    value: Constant


def const(value: Constant) -> Literally:
    """State a constant where a text would be read as a path."""
    return Literally(value)


Side = str | Constant | Literally | Param


@dataclass(slots=True)
class Scope:
    """Where a declaration is checked: a model, the items bound around it, and the problems found so far."""

    model: type[BaseModel]
    finite: bool = True
    binders: Mapping[str, Shape] = field(default_factory=dict)
    problems: list[Misfit] = field(default_factory=list)

    def bound(self, binders: Mapping[str, Shape]) -> Scope:
        """The same scope with more bound items."""
        return Scope(self.model, self.finite, {**self.binders, **binders}, self.problems)

    def attempt(self, place: str, work: Callable[[], T]) -> T | None:
        """The result of ``work``, or None where it fails: the problem is kept."""
        try:
            return work()
        except Misfit as misfit:
            self.problems.append(misfit)
        except TermError as error:
            self.fail(place, error.message, error.hint)
        return None

    def fail(self, place: str, message: str, hint: str | None = None) -> None:
        """Keep a problem."""
        self.problems.append(Misfit(DeclarationError, Problem(place, message, None, hint)))

    def refuse(self, problem: Problem) -> None:
        """Keep a problem of a field that has no finite form."""
        self.problems.append(Misfit(UnsupportedField, problem))

    def resolve(self, text: str) -> Resolved | None:
        """What a path names; None if nothing, the problem is kept."""
        found = self.attempt(text, lambda: resolve(self.model, text, self.binders))
        if found is not None and found.unbounded is not None and self.finite:
            self.refuse(unbounded_list(found.unbounded))
            return None
        return found

    def scalars(self, text: str) -> tuple[Resolved, ScalarShape | None] | None:
        """A path that names scalars (their shape is None where it is a type variable)."""
        found = self.resolve(text)
        if found is None:
            return None
        if isinstance(found.shape, OpenShape):
            return found, None
        problem = require_finite(found.shape, text) if self.finite else None
        if problem is not None:
            self.refuse(problem)
            return None
        if (scalar := as_scalar(found.shape)) is None:
            more = f"{text}[*]" if isinstance(found.shape, ListShape) else f"{text}.…"
            self.fail(
                text, f"this is {described(found.shape)}, not a single value", f"name its parts: {more}"
            )
            return None
        return found, scalar

    def texts(self, text: str) -> Resolved | None:
        """A path that names texts, free ones or of a finite domain."""
        found = self.resolve(text)
        if found is None or isinstance(found.shape, OpenShape | FreeShape):
            return found
        if isinstance(found.shape, ScalarShape) and found.shape.code in ("text", None):
            return found
        self.fail(text, f"this is {described(found.shape)}, not a text")
        return None

    def list_of(self, text: str) -> tuple[Resolved, ListShape] | None:
        """A path that names one list."""
        found = self.resolve(text)
        if found is None:
            return None
        if not isinstance(found.shape, ListShape):
            self.fail(text, f"this is {described(found.shape)}, not a list")
            return None
        if found.path.stars:
            self.fail(text, "this names many lists, not one", "declare the relation on the inner model")
            return None
        if found.shape.most is None and self.finite:
            self.refuse(unbounded_list(text))
            return None
        return found, found.shape

    def side(self, side: Side, like: Term | None = None) -> Term | None:
        """A side of a comparison: a path to one field, a parameter or a constant."""
        if isinstance(side, Param):
            return Term(
                ParamConst(side, None if like is None else like.code), like.code if like else None, side.name
            )
        if not isinstance(side, str):
            value = side.value if isinstance(side, Literally) else side
            return self.attempt(str(side), lambda: constant(value, like))
        before = len(self.problems)
        found = self.scalars(side)
        if found is None:
            self._hint_constant(before, side)
            return None
        resolved, shape = found
        if resolved.path.stars:
            self.fail(
                side, "this names many fields where one is compared", "use slide, sum_of, count or every"
            )
            return None
        return field_term(resolved.path, shape, side)

    def _hint_constant(self, before: int, side: str) -> None:
        for at in range(before, len(self.problems)):
            misfit = self.problems[at]
            if misfit.error is UnknownField and side.isidentifier():
                old = misfit.problem
                hint = f"{old.hint}; a text constant is written const({side!r})"
                self.problems[at] = Misfit(UnknownField, Problem(old.place, old.message, old.value, hint))


def field_term(path: FieldPath, shape: ScalarShape | None, text: str) -> Term:
    """A term that is the value of a field."""
    binders = frozenset() if path.root == "$" else frozenset({path.root})
    return Term({"ref": str(path)}, shape.code if shape else None, text, shape, binders=binders)


class Declaration(metaclass=Told):
    """A relation as declared by a class decorator."""

    def __init__(self, name: str | None, why: str | None, *, enforce: bool) -> None:
        check_texts({"name": name, "why": why})
        self.name = name
        self.why = why
        self.enforce = enforce

    def __call__(self, model: type[M]) -> type[M]:
        """Check the declaration against the model and add it."""
        installing.declare(model, self)
        return model

    @property
    @abstractmethod
    def default_name(self) -> str:
        """A readable name, for declarations without one."""

    @abstractmethod
    def build(self, scope: Scope) -> dict[str, Template] | None:
        """The kind and its fields, without name; None where something is wrong (``scope`` has it)."""

    def template(self, model: type[BaseModel], name: str, *, finite: bool) -> dict[str, Template]:
        """The relation's wire form. ``finite``: every field that it touches must have a finite domain.

        Raises:
            DeclarationError: with everything that is wrong.
        """
        scope, wrong = Scope(model, finite), f"relation {name!r} on {model.__name__} is wrong"
        with told_arguments(wrong):
            built = self.build(scope)
        if scope.problems or built is None:
            raise_misfits(scope.problems, wrong)
        assert built is not None
        head: dict[str, Template] = {"name": name, "kind": built.pop("kind")}
        if self.why is not None:
            head["why"] = self.why
        if not self.enforce:
            head["enforce"] = False
        return {**head, **built}


class Condition(Declaration):
    """A declaration that is an expression, so that it can stand inside another one."""

    @abstractmethod
    def term(self, scope: Scope) -> Term | None:
        """The condition as an expression; None where something is wrong: ``scope`` has the problems."""

    def build(self, scope: Scope) -> dict[str, Template] | None:
        term = self.term(scope)
        return None if term is None else {"kind": "intension", "expr": term.template}


def raise_misfits(misfits: list[Misfit], what: str) -> None:
    """Raise one error for all problems: of their common class, or ``DeclarationError`` where they differ."""
    if not misfits:
        return
    classes = {misfit.error for misfit in misfits}
    error = classes.pop() if len(classes) == 1 else DeclarationError
    raise error(what, [misfit.problem for misfit in misfits])

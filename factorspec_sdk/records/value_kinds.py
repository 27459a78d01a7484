"""Declared relations that compare the values, or the lengths, of several fields with each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, count
from operator import index as index_of
from typing import Literal

from factorspec_sdk.fields.paths import EVERY, FieldPath
from factorspec_sdk.records.conditions import among, inline_rows, side_text
from factorspec_sdk.records.declarations import Condition, Scope, Side, field_term
from factorspec_sdk.records.kinds import (
    Compared,
    OverPaths,
    Shapes,
    constants,
    one_code,
    over,
    require_order,
)
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import InlineTable, Param, ParamTable, Template
from factorspec_sdk.records.shape_problems import described, unbounded_list
from factorspec_sdk.records.shapes import ListShape
from factorspec_sdk.records.terms import ComparisonName, Term, check_cell, compare, constant, logic


class AllEqual(OverPaths, Condition):
    """The values of all named fields are the same. A condition where each path names one field."""

    @property
    def default_name(self) -> str:
        return f"all equal: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        return {"kind": "all_equal", "over": paths}

    def term(self, scope: Scope) -> Term | None:
        sides = [scope.side(path) for path in self.paths]
        known = [side for side in sides if side is not None]
        if len(known) < len(sides):
            return None
        if len(known) < 2:
            scope.fail(self.listed, "at least two fields are needed here")
            return None
        pairs = combinations(known, 2)
        return scope.attempt(self.listed, lambda: logic("and", [_alike(a, b) for a, b in pairs]))


def _alike(one: Term, other: Term) -> Term:
    """Equal, or one of them null."""
    return logic("or", [compare("eq", one, other), *is_null_of(one), *is_null_of(other)])


def is_null_of(term: Term) -> list[Term]:
    """The condition that a field is null; none where it cannot be."""
    return [compare("eq", term, constant(None))] if term.shape is not None and term.shape.nullable else []


class Extremum(Compared):
    """The least or the greatest of several fields compared with a value."""

    def __init__(
        self,
        kind: Literal["minimum", "maximum"],
        paths: Sequence[str],
        comparison: tuple[ComparisonName, Side] | None,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, comparison, name, why, enforce=enforce)
        self.kind = kind

    @property
    def default_name(self) -> str:
        return f"{self.kind} of {self.listed}{self.compared}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        require_order(scope, shapes)
        one_code(scope, shapes)
        code = shapes[0][1].code if shapes and shapes[0][1] is not None else None
        built: dict[str, Template] = {"kind": self.kind, "over": paths}
        return {**built, **self.against(scope, Term(None, code, f"the {self.kind} of {self.listed}"))}


class SameLength(OverPaths):
    """Lists have equally many items."""

    @property
    def default_name(self) -> str:
        return f"equally long: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        if not self.paths:
            scope.fail("", "at least one path is needed")
        return {"kind": "same_length", "over": [_list_path(scope, text) for text in self.paths]}


def _paths(of: str | Sequence[str]) -> tuple[str, ...]:
    return (of,) if isinstance(of, str) else tuple(of)


class Occurring(OverPaths, Condition):
    """The values of some fields occur among other fields, or in a column of given rows.

    A condition where each path names one field.
    """

    def __init__(
        self,
        kind: Literal["member_of", "subset_of"],
        paths: Sequence[str],
        of: str | Sequence[str] | None,
        values: Iterable[Constant] | Param | None,
        column: int,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.kind = kind
        self.of = None if of is None else _paths(of)
        self.values = values if values is None or isinstance(values, Param) else tuple(values)
        self.column = column

    @property
    def default_name(self) -> str:
        word = "in" if self.kind == "member_of" else "all in"
        if isinstance(self.values, Param):
            return f"{self.listed} {word} {self.values.name}"
        return f"{self.listed} {word} {', '.join(self.of or map(side_text, self.values or ()))}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        built: dict[str, Template] = {"kind": self.kind, "over": paths}
        if (self.of is None) == (self.values is None):
            scope.fail("", "one of of= and values= is needed")
            return None
        if self.of is None:
            built["table"] = self._table(scope, shapes)
            return {**built, "column": self.column} if self.column else built
        built["of"], others = over(scope, self.of)
        one_code(scope, [*shapes, *others])
        return built

    def _table(self, scope: Scope, shapes: Shapes) -> Template:
        if isinstance(self.values, Param):
            return ParamTable(self.values, None if self.column else 1)
        values = self.values or ()
        for text, shape in shapes:
            field = Term(None, shape.code if shape is not None else None, text, shape)
            for value in values:
                scope.attempt("values", partial(check_cell, field, value))
        if self.column:
            scope.fail("column", "values have one column")
        return scope.attempt("values", lambda: InlineTable(inline_rows([(value,) for value in values], 1)))

    def term(self, scope: Scope) -> Term | None:
        sides = [scope.side(path) for path in self.paths]
        known = [side for side in sides if side is not None]
        if len(known) < len(sides):
            return None
        parts = [self._occurs(scope, side) for side in known]
        found = [part for part in parts if part is not None]
        return logic("and", found) if len(found) == len(parts) and found else None

    def _occurs(self, scope: Scope, subject: Term) -> Term | None:
        """The subject occurs, or is null."""
        if self.of is None:
            if self.column:
                scope.fail("column", "only a class decorator takes a column", "use table(...)")
                return None
            found = [among(scope, subject, self.values or (), self.default_name)]
        else:
            found = [_some_equal(scope, subject, path) for path in self.of]
        known = [term for term in found if term is not None]
        if len(known) < len(found):
            return None
        return scope.attempt(subject.text, lambda: logic("or", [*known, *is_null_of(subject)]))


def _some_equal(scope: Scope, subject: Term, text: str) -> Term | None:
    """One of the fields that a path names equals the subject."""
    found = scope.scalars(text)
    if found is None:
        return None
    path, shape = found[0].path, found[1]
    stars: list[tuple[str, str]] = []
    segments = path.segments
    while EVERY in segments:
        at = segments.index(EVERY)
        name = fresh_name(scope, len(stars))
        stars.append((str(FieldPath(path.root, segments[:at])), name))
        path = FieldPath(name, segments[at + 1 :])
        segments = path.segments
    term = scope.attempt(text, lambda: compare("eq", subject, field_term(path, shape, text)))
    for over_, name in reversed(stars):
        if term is not None:
            template: dict[str, Template] = {"op": "some", "in": over_, "as": name, "body": term.template}
            term = replace(term, template=template, binders=term.binders - {name})
    return term


def fresh_name(scope: Scope, number: int) -> str:
    """A name for a bound item that nothing else has."""
    names = (f"item{n}" for n in count(number + 1))
    return next(name for name in names if name not in scope.binders)


class PermutationOf(OverPaths):
    """The values of some fields are given ones, in any order."""

    def __init__(
        self,
        paths: Sequence[str],
        values: Iterable[Constant] | Param | None,
        of: str | Sequence[str] | None,
        start: int,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.values = values if values is None or isinstance(values, Param) else tuple(values)
        self.of = None if of is None else _paths(of)
        self.start = int(index_of(start))

    @property
    def default_name(self) -> str:
        if isinstance(self.values, Param):
            what = self.values.name
        elif self.values is not None:
            what = ", ".join(map(side_text, self.values))
        else:
            what = f"{self.start}.." if self.of is None else ", ".join(self.of)
        return f"{self.listed} a permutation of {what}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        built: dict[str, Template] = {"kind": "permutation_of", "over": paths}
        if self.of is not None and self.values is not None:
            scope.fail("", "values= and of= do not go together")
        if self.values is not None:
            return {**built, "values": constants(scope, shapes, self.values)}
        if self.of is not None:
            built["of"], others = over(scope, self.of)
            one_code(scope, [*shapes, *others])
            return built
        for text, shape in shapes:
            if shape is not None and shape.code not in ("int", None):
                scope.fail(text, "only integers count from a start", "give values= or of=")
        return {**built, "start": self.start}


def _list_path(scope: Scope, text: str) -> Template:
    """The path of one list, or of several lists of one field; problems go to ``scope``."""
    found = scope.resolve(text)
    if found is None:
        return None
    if not isinstance(found.shape, ListShape):
        scope.fail(text, f"this is {described(found.shape)}, not a list")
    elif found.shape.most is None and scope.finite:
        scope.refuse(unbounded_list(text))
    return str(found.path)

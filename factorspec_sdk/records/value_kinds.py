"""Declared relations that compare the values, or the lengths, of several fields with each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from factorspec_sdk.records.declarations import Condition, Scope, Side
from factorspec_sdk.records.kinds import Compared, OverPaths, one_code, require_order
from factorspec_sdk.records.parameters import Template
from factorspec_sdk.records.shapes import ListShape, described, unbounded_list
from factorspec_sdk.records.terms import ComparisonName, Term, compare, constant, logic


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
    nulls = [side for side in (one, other) if side.shape is not None and side.shape.nullable]
    return logic("or", [compare("eq", one, other), *(compare("eq", side, constant(None)) for side in nulls)])


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

"""Declared conditions on single fields: comparisons, membership, and their logical combinations."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from functools import partial
from typing import cast

from factorspec_sdk.fields.domains import typed_key
from factorspec_sdk.records.declarations import Condition, Literally, Scope, Side
from factorspec_sdk.records.moments import DURATION_HINT, Constant, scalar_of
from factorspec_sdk.records.parameters import InlineTable, Param, ParamConsts, ParamTable, Rows, Template
from factorspec_sdk.records.terms import (
    ComparisonName,
    LogicName,
    Term,
    TermError,
    check_cell,
    combination,
    compare,
    constant,
    contained,
)

_SIGNS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


class Comparison(Condition):
    """Two sides compared."""

    def __init__(
        self, op: ComparisonName, left: Side, right: Side, name: str | None, why: str | None, *, enforce: bool
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.op: ComparisonName = op
        self.left = left
        self.right = right

    @property
    def default_name(self) -> str:
        return f"{side_text(self.left)} {_SIGNS[self.op]} {side_text(self.right)}"

    def term(self, scope: Scope) -> Term | None:
        left = scope.side(self.left)
        right = scope.side(self.right, left)
        if left is not None and left.code is None and right is not None and not isinstance(self.right, Param):
            left = scope.side(self.left, right)
        if left is None or right is None:
            return None
        return scope.attempt(self.default_name, lambda: compare(self.op, left, right))


class OneOf(Condition):
    """A field takes one of some values."""

    def __init__(
        self,
        path: str,
        values: Iterable[Constant] | Param,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.path = path
        self.values = values if isinstance(values, Param) else tuple(values)

    @property
    def default_name(self) -> str:
        values = (
            self.values.name if isinstance(self.values, Param) else ", ".join(map(side_text, self.values))
        )
        return f"{self.path} in {values}"

    def term(self, scope: Scope) -> Term | None:
        subject = scope.side(self.path)
        return None if subject is None else among(scope, subject, self.values, self.default_name)


def among(scope: Scope, subject: Term, values: Sequence[Constant] | Param, text: str) -> Term | None:
    """True where the subject is one of some values."""
    if isinstance(values, Param):
        listed: Template = ParamConsts(values, subject.code)
        template: Template = {"op": "in", "arg": subject.template, "values": listed}
        return Term(template, "bool", text, binders=subject.binders)
    return scope.attempt(subject.text, lambda: contained(subject, [constant(v, subject) for v in values]))


class RowOf(Condition):
    """Some fields form a row of a table, or none of its rows."""

    def __init__(
        self,
        paths: Sequence[str],
        rows: Iterable[Sequence[Constant] | Constant] | Param,
        name: str | None,
        why: str | None,
        *,
        allow: bool,
        enforce: bool,
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.paths = (paths,) if isinstance(paths, str) else tuple(paths)
        self.rows = rows if isinstance(rows, Param) else tuple(_cells(row) for row in rows)
        self.allow = allow

    @property
    def default_name(self) -> str:
        table = self.rows.name if isinstance(self.rows, Param) else "its table"
        return f"({', '.join(self.paths)}) {'' if self.allow else 'not '}in {table}"

    def term(self, scope: Scope) -> Term | None:
        key = [scope.side(path) for path in self.paths]
        table = self._table(scope)
        known = [part for part in key if part is not None]
        if table is None or len(known) < len(key):
            return None
        self._check_columns(scope, known)
        template: dict[str, Template] = {
            "op": "member",
            "table": table,
            "key": [part.template for part in known],
        }
        if not self.allow:
            template["allow"] = False
        binders = frozenset[str]().union(*(part.binders for part in known))
        return Term(template, "bool", self.default_name, binders=binders)

    def build(self, scope: Scope) -> dict[str, Template] | None:
        term = self.term(scope)
        if term is None:
            return None
        resolved = [scope.resolve(path) for path in self.paths]
        over: list[Template] = [str(path.path) for path in resolved if path is not None]
        assert isinstance(term.template, dict)
        built: dict[str, Template] = {"kind": "table", "over": over, "table": term.template["table"]}
        return built if self.allow else {**built, "allow": False}

    def _table(self, scope: Scope) -> ParamTable | InlineTable | None:
        if not self.paths:
            scope.fail("", "a table needs at least one path")
            return None
        if isinstance(self.rows, Param):
            return ParamTable(self.rows, len(self.paths))
        return scope.attempt("rows", lambda: InlineTable(inline_rows(self.rows, len(self.paths))))

    def _check_columns(self, scope: Scope, key: Sequence[Term]) -> None:
        if isinstance(self.rows, Param):
            return
        for at, part in enumerate(key):
            for row in self.rows:
                if scope.attempt(f"rows: {part.text}", partial(check_cell, part, row[at])) is None:
                    break  # one problem per column says enough


def _cells(row: object) -> tuple[Constant, ...]:
    """The cells of a row; a single value is a row of one."""
    return tuple(row) if isinstance(row, tuple | list) else (cast(Constant, row),)


def inline_rows(rows: object, width: int) -> Rows:
    """Rows as JSON scalars, their width checked.

    Raises:
        TermError: naming the first row that does not fit.
    """
    assert isinstance(rows, Iterable)
    found = []
    for number, row in enumerate(rows):
        if len(row) != width:
            raise TermError(
                f"row {number} has {len(row)} columns, {width} paths are named", f"the row is {row!r}"
            )
        cells = [scalar_of(cell) for cell in row]
        known = tuple(cell[0] for cell in cells if cell is not None)
        if len(known) < len(cells):
            message = f"row {number} holds a value that is no text, number, boolean, date or time: {row!r}"
            raise TermError(
                message, DURATION_HINT if any(isinstance(c, datetime.timedelta) for c in row) else None
            )
        found.append(known)
    return tuple({tuple(map(typed_key, row)): row for row in found}.values())


class Logic(Condition):
    """Conditions joined by and, or, not, an implication, "all or none" (iff), "exactly one" (one)."""

    def __init__(
        self,
        op: LogicName,
        parts: Sequence[Condition],
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.op: LogicName = op
        self.parts = tuple(parts)

    @property
    def default_name(self) -> str:
        names = [part.name or part.default_name for part in self.parts]
        match self.op:
            case "implies":
                return f"if {names[0]} then {names[1]}"
            case "not":
                return f"not ({names[0]})"
            case "iff":
                return " if and only if ".join(names)
            case "one":
                return f"exactly one of: {', '.join(names)}"
            case _:
                return f" {self.op} ".join(names)

    def term(self, scope: Scope) -> Term | None:
        terms = self._terms(scope)
        return (
            None if terms is None else scope.attempt(self.default_name, lambda: combination(self.op, terms))
        )

    def _terms(self, scope: Scope) -> list[Term] | None:
        terms = [part.term(scope) for part in self.parts]
        known = [term for term in terms if term is not None]
        return known if len(known) == len(terms) else None

    def build(self, scope: Scope) -> dict[str, Template] | None:
        if self.op in ("and", "not"):
            return super().build(scope)
        terms = self._terms(scope)
        if terms is None or self.term(scope) is None:
            return None
        parts: list[Template] = [term.template for term in terms]
        match self.op:
            case "implies":
                return {"kind": "implies", "if": parts[0], "then": parts[1]}
            case "iff":
                return {"kind": "iff", "conditions": parts}
            case "one":
                return {"kind": "either", "conditions": parts, "exactly_one": True}
            case _:
                return {"kind": "either", "conditions": parts}


def side_text(side: object) -> str:
    """A side of a comparison as people read it."""
    if isinstance(side, Param):
        return side.name
    if isinstance(side, Literally):
        side = side.value
        return repr(side) if isinstance(side, str) else side_text(side)
    if isinstance(side, str):
        return side
    scalar = scalar_of(side)
    return str(scalar[0]) if scalar is not None else str(side)


def as_condition(value: object, place: str) -> Condition:
    """The value, which must be a condition.

    Raises:
        TermError: naming what it is instead.
    """
    if isinstance(value, Condition):
        return value
    raise TermError(
        f"{place} needs a condition, such as eq(...) or table(...)", f"this is {type(value).__name__}"
    )

"""Declared relations of the catalogue kinds over several fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import index as index_of
from typing import Literal

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.fields.domains import CodeType
from factorspec_sdk.records.conditions import side_text
from factorspec_sdk.records.declarations import Condition, Declaration, Scope, Side
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import Param, ParamConsts, Template
from factorspec_sdk.records.recording import trace_items
from factorspec_sdk.records.shapes import ObjectShape, ScalarShape, Shape
from factorspec_sdk.records.terms import ComparisonName, Term, compare, constant

_SIGNS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


Shapes = list[tuple[str, ScalarShape | None]]


class OverPaths(Declaration):
    """A declaration over some paths, each of which may name several fields."""

    def __init__(self, paths: Sequence[str], name: str | None, why: str | None, *, enforce: bool) -> None:
        super().__init__(name, why, enforce=enforce)
        self.paths = tuple(paths)
        given: Sequence[object] = self.paths
        for path in given:
            if not isinstance(path, str):  # such as the class, where the decorator is not called
                hint = 'the decorator is called with paths: @fs.all_different("lines[*].id")'
                raise DeclarationError("a path is a text", [Problem("", "this is none", shown(path), hint)])

    @property
    def listed(self) -> str:
        """The paths as people read them."""
        return ", ".join(self.paths)

    def over(self, scope: Scope) -> tuple[list[Template], Shapes]:
        """The paths in the record's keys, and their shapes; problems go to ``scope``."""
        return over(scope, self.paths)


class AllDifferent(OverPaths):
    """The values of all named fields differ pairwise."""

    @property
    def default_name(self) -> str:
        return f"all different: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        return {"kind": "all_different", "over": paths}


class Ordered(OverPaths):
    """Each named field stands in an order with the next one."""

    def __init__(
        self,
        paths: Sequence[str],
        op: Literal["lt", "le", "gt", "ge"],
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.op = op

    @property
    def default_name(self) -> str:
        return f"ordered {_SIGNS[self.op]}: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        require_order(scope, shapes)
        one_code(scope, shapes)
        return {"kind": "ordered", "over": paths, "op": self.op}


class Compared(OverPaths):
    """A number made of several fields, compared with a value."""

    def __init__(
        self,
        paths: Sequence[str],
        comparison: tuple[ComparisonName, Side] | None,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.comparison = comparison

    @property
    def compared(self) -> str:
        """The comparison as people read it."""
        if self.comparison is None:
            return ""
        return f" {_SIGNS[self.comparison[0]]} {side_text(self.comparison[1])}"

    def against(self, scope: Scope, subject: Term) -> dict[str, Template]:
        """The fields ``op`` and ``value``."""
        if self.comparison is None:
            scope.fail("", "exactly one comparison is needed", "give one of eq=, ne=, lt=, le=, gt=, ge=")
            return {}
        op, side = self.comparison
        value = scope.side(side, subject)
        if value is None:
            return {}
        scope.attempt(side_text(side), lambda: compare(op, subject, value))
        return {"op": op, "value": value.template}


class SumOf(Compared):
    """A weighted sum of integers compared with a value."""

    def __init__(
        self,
        paths: Sequence[str],
        weights: Sequence[int] | None,
        comparison: tuple[ComparisonName, Side] | None,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, comparison, name, why, enforce=enforce)
        self.weights = None if weights is None else tuple(weights)

    @property
    def default_name(self) -> str:
        weights = self.weights or (1,) * len(self.paths)
        parts = [
            path if weight == 1 else f"{weight}×{path}"
            for path, weight in zip(self.paths, weights, strict=False)
        ]
        return f"sum of {' + '.join(parts)}{self.compared}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        for text, shape in shapes:
            if shape is not None and shape.code not in ("int", "decimal", None):
                scope.fail(text, "only integers and decimals can be summed")
        built: dict[str, Template] = {"kind": "sum", "over": paths}
        if self.weights is not None:
            self._check_weights(scope)
            built["weights"] = list(self.weights)
        codes = {shape.code for _, shape in shapes if shape is not None}
        code: CodeType = "decimal" if "decimal" in codes else "int"
        return {**built, **self.against(scope, Term(None, code, f"the sum of {self.listed}"))}

    def _check_weights(self, scope: Scope) -> None:
        assert self.weights is not None
        if len(self.weights) != len(self.paths):
            scope.fail("weights", f"{len(self.weights)} weights for {len(self.paths)} paths")
        if any(type(weight) is not int for weight in self.weights):
            scope.fail("weights", f"weights are integers, not {list(self.weights)!r}")


class Count(Compared):
    """How many of the named fields take one of some values, compared with a number."""

    def __init__(
        self,
        paths: Sequence[str],
        values: Iterable[Constant] | Param,
        comparison: tuple[ComparisonName, Side] | None,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, comparison, name, why, enforce=enforce)
        self.values = values if isinstance(values, Param) else tuple(values)

    @property
    def default_name(self) -> str:
        values = (
            self.values.name if isinstance(self.values, Param) else ", ".join(map(side_text, self.values))
        )
        return f"count of {values} in {self.listed}{self.compared}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        values = constants(scope, shapes, self.values)
        if values == []:
            scope.fail("values", "at least one value is needed")
        built: dict[str, Template] = {"kind": "count", "over": paths, "values": values}
        return {**built, **self.against(scope, Term(None, "int", self.default_name))}


class Element(Compared):
    """The field at a position of a list of fields, compared with a value."""

    def __init__(
        self,
        paths: Sequence[str],
        index: Side,
        start: int,
        comparison: tuple[ComparisonName, Side] | None,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, comparison, name, why, enforce=enforce)
        self.index = index
        self.start = int(index_of(start))

    @property
    def default_name(self) -> str:
        return f"{self.listed} at {side_text(self.index)}{self.compared}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        index = scope.side(self.index)
        if index is not None and index.code not in ("int", None):
            scope.fail(side_text(self.index), f"a position is an integer, this is {index.kind}")
        code = shapes[0][1].code if shapes and shapes[0][1] is not None else None
        built: dict[str, Template] = {
            "kind": "element",
            "over": paths,
            "index": index.template if index else None,
        }
        if self.start:
            built["start"] = self.start
        return {**built, **self.against(scope, Term(None, code, self.listed))}


class Slide(Declaration):
    """A condition on every run of consecutive items of a list."""

    def __init__(
        self,
        path: str,
        condition: Condition | Callable[..., object],
        binders: tuple[str, ...] | None,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.path = path
        self.condition = condition
        self.binders = binders if binders is not None else _binders(condition)

    @property
    def default_name(self) -> str:
        condition = self.condition
        text = (
            (condition.name or condition.default_name)
            if isinstance(condition, Condition)
            else "consecutive items"
        )
        return f"{self.path}: {text}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        found = scope.list_of(self.path)
        self._check_binders(scope)
        if found is None:
            return None
        item = found[1].item
        term = self._term(scope, dict.fromkeys(self.binders, item))
        if term is None:
            return None
        binders: list[Template] = list(self.binders)
        return {"kind": "slide", "over": str(found[0].path), "as": binders, "expr": term.template}

    def _term(self, scope: Scope, items: dict[str, Shape]) -> Term | None:
        if isinstance(self.condition, Condition):
            return self.condition.term(scope.bound(items))
        return trace_items(self.condition, scope, items)

    def _check_binders(self, scope: Scope) -> None:
        if not self.binders or len(set(self.binders)) < len(self.binders):
            scope.fail("as_", f"names of consecutive items must differ: {list(self.binders)!r}")
        for name in self.binders:
            if not name.isidentifier():
                scope.fail("as_", f"{name!r} is no name")


class Intension(Declaration):
    """Any condition, declared or as a function of the record."""

    def __init__(
        self,
        condition: Condition | Callable[..., object],
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.condition = condition

    @property
    def default_name(self) -> str:
        condition = self.condition
        return (condition.name or condition.default_name) if isinstance(condition, Condition) else "condition"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        condition = self.condition
        if isinstance(condition, Condition):
            term = condition.term(scope)
        else:
            term = trace_items(condition, scope, {"$": ObjectShape(scope.model)})
        return None if term is None else {"kind": "intension", "expr": term.template}


def over(scope: Scope, texts: Sequence[str]) -> tuple[list[Template], Shapes]:
    """Paths in the record's keys, and their shapes; problems go to ``scope``."""
    if not texts:
        scope.fail("", "at least one path is needed")
    paths: list[Template] = []
    shapes: Shapes = []
    for text in texts:
        found = scope.scalars(text)
        if found is not None:
            paths.append(str(found[0].path))
            shapes.append((text, found[1]))
    return paths, shapes


def constants(scope: Scope, shapes: Shapes, values: Sequence[Constant] | Param) -> Template:
    """A list of constants that fields are compared with; problems go to ``scope``."""
    if isinstance(values, Param):
        return ParamConsts(values, shapes[0][1].code if shapes and shapes[0][1] is not None else None)
    found: list[Template] = []
    for value in values:
        for text, shape in shapes:
            field = Term(None, shape.code if shape is not None else None, text, shape)
            scope.attempt("values", partial(_equal, field, value))
        term = scope.attempt("values", partial(constant, value))
        if term is not None:
            found.append(term.template)
    return found


def _equal(field: Term, value: Constant) -> Term:
    return compare("eq", field, constant(value, field))


def _binders(condition: object) -> tuple[str, ...]:
    if isinstance(condition, Condition) or not callable(condition):
        return ("a", "b")
    return tuple(inspect.signature(condition).parameters)


def one_code(scope: Scope, shapes: Sequence[tuple[str, ScalarShape | None]]) -> None:
    """Keep a problem where the fields are of different types."""
    kinds = {shape.kind: text for text, shape in shapes if shape is not None and shape.code is not None}
    if len(kinds) > 1:
        listed = ", ".join(f"{text} is {kind}" for kind, text in kinds.items())
        scope.fail(shapes[0][0], f"the fields are of different types: {listed}")


def require_order(scope: Scope, shapes: Sequence[tuple[str, ScalarShape | None]]) -> None:
    """Keep a problem where a field's values have no order."""
    for text, shape in shapes:
        if shape is not None and shape.code in ("text", "bool", None):
            scope.fail(text, "its values have no order", "integers, dates and times are ordered")

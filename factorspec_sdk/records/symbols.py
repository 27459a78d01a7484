"""Symbolic values: scalars, objects and lists of the record while a relation is recorded."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType, FunctionType, MethodType
from typing import NoReturn

from factorspec_sdk.errors import Problem, UnknownField, UnsupportedField
from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.records import loops
from factorspec_sdk.records.declarations import field_term
from factorspec_sdk.records.field_paths import Misfit, step, unknown_field
from factorspec_sdk.records.identity import refuse_identity
from factorspec_sdk.records.shape_problems import described, require_finite, unbounded_list
from factorspec_sdk.records.shapes import (
    FreeShape,
    ListShape,
    ObjectShape,
    OpenShape,
    RefusedShape,
    ScalarShape,
    Shape,
    UnionShape,
    fields_of,
)
from factorspec_sdk.records.terms import (
    ArithmeticName,
    ComparisonName,
    Term,
    TermError,
    absolute,
    arithmetic,
    compare,
    constant,
    floor_division,
    logic,
    negative,
)
from factorspec_sdk.records.tracing import Symbolic, Trace
from factorspec_sdk.records.unions import as_scalar, branches_of

_WEEKDAY = "fs.elapsed(date(2026, 1, 5), day) % 7 is the weekday, Monday 0"
_ATTRIBUTE_HINTS = {
    "weekday": _WEEKDAY,
    "isoweekday": _WEEKDAY,
    "quantize": 'fs.rounded(value, Decimal("0.01")) rounds',
    "hour": "compare with a time or a datetime; fs.elapsed(time(0), start) counts the seconds of a time",
}


class SymbolicValue(Symbolic):
    """A scalar or a condition that is recorded as a term."""

    __slots__ = ("_fs_term",)
    _fs_term: Term

    def __init__(self, trace: Trace, term: Term) -> None:
        super().__init__(trace, term.text)
        object.__setattr__(self, "_fs_term", term)

    def __getattr__(self, name: str) -> object:
        term = self._fs_term
        if name == "value":
            return self
        if name == "days" and term.unit == "date":
            return SymbolicValue(self._fs_trace, replace(term, unit=None))
        if name == "total_seconds" and term.unit in ("time", "datetime"):
            return lambda: SymbolicValue(self._fs_trace, replace(term, unit=None))
        if name.startswith("__"):
            raise AttributeError(name)
        hint = _ATTRIBUTE_HINTS.get(name)
        return self._fs_trace.fail(f"the attribute {name!r} of {self._fs_text} cannot be recorded", hint)

    def _fs_other(self, other: object) -> Term:
        return term_of(other, self._fs_trace, self._fs_term)

    def _fs_compare(self, op: ComparisonName, other: object) -> SymbolicValue:
        return recorded(self._fs_trace, lambda: compare(op, self._fs_term, self._fs_other(other)))

    def _fs_arithmetic(self, op: ArithmeticName, other: object, *, swapped: bool = False) -> SymbolicValue:
        def work() -> Term:
            here, there = self._fs_term, self._fs_other(other)
            return arithmetic(op, there, here) if swapped else arithmetic(op, here, there)

        return recorded(self._fs_trace, work)

    def _fs_logic(self, other: object, op: str) -> SymbolicValue:
        def work() -> Term:
            return logic("and" if op == "and" else "or", [self._fs_term, self._fs_other(other)])

        return recorded(self._fs_trace, work)

    def __eq__(self, other: object) -> SymbolicValue:  # type: ignore[override]
        return self._fs_compare("eq", other)

    def __ne__(self, other: object) -> SymbolicValue:  # type: ignore[override]
        return self._fs_compare("ne", other)

    def __lt__(self, other: object) -> SymbolicValue:
        return self._fs_compare("lt", other)

    def __le__(self, other: object) -> SymbolicValue:
        return self._fs_compare("le", other)

    def __gt__(self, other: object) -> SymbolicValue:
        return self._fs_compare("gt", other)

    def __ge__(self, other: object) -> SymbolicValue:
        return self._fs_compare("ge", other)

    __hash__ = Symbolic.__hash__

    def __add__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("add", other)

    def __radd__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("add", other, swapped=True)

    def __sub__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("sub", other)

    def __rsub__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("sub", other, swapped=True)

    def __mul__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("mul", other)

    def __rmul__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("mul", other, swapped=True)

    def __mod__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("mod", other)

    def __rmod__(self, other: object) -> SymbolicValue:
        return self._fs_arithmetic("mod", other, swapped=True)

    def __floordiv__(self, other: object) -> SymbolicValue:
        return recorded(self._fs_trace, lambda: floor_division(self._fs_term, self._fs_other(other)))

    def __rfloordiv__(self, other: object) -> SymbolicValue:
        return recorded(self._fs_trace, lambda: floor_division(self._fs_other(other), self._fs_term))

    def __neg__(self) -> SymbolicValue:
        return recorded(self._fs_trace, lambda: negative(self._fs_term))

    def __pos__(self) -> SymbolicValue:
        return self

    def __abs__(self) -> SymbolicValue:
        return recorded(self._fs_trace, lambda: absolute(self._fs_term))

    def __and__(self, other: object) -> SymbolicValue:
        return self._fs_logic(other, "and")

    def __or__(self, other: object) -> SymbolicValue:
        return self._fs_logic(other, "or")

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> SymbolicValue:
        return recorded(self._fs_trace, lambda: logic("not", [self._fs_term]))

    def _fs_refuse(self, *_: object) -> NoReturn:
        self._fs_trace.fail(
            f"this operation on {self._fs_text} cannot be recorded",
            "relations know + - * // % abs and comparisons",
        )

    def _fs_refuse_division(self, *_: object) -> NoReturn:
        self._fs_trace.fail(
            f"this division of {self._fs_text} cannot be recorded: its result is no fixed-point number",
            "use // for integer division, fs.quotient(a, b) for a rounded one, fs.rounded(value, unit) for "
            'round; for percent multiply by Decimal("0.01")',
        )

    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __round__ = _fs_refuse_division
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = _fs_refuse
    __rshift__ = __rrshift__ = __xor__ = __rxor__ = __matmul__ = __rmatmul__ = _fs_refuse
    __trunc__ = __floor__ = __ceil__ = __getitem__ = _fs_refuse


class SymbolicText(SymbolicValue):
    """A free text of the record: relations ask for its length and whether it is there; it has no value.

    ``_fs_field``: its term, for such questions. Any other use is refused with ``_fs_problem``.
    """

    __slots__ = ("_fs_field", "_fs_problem")
    _fs_field: Term
    _fs_problem: Problem

    def __init__(self, trace: Trace, field: Term, problem: Problem) -> None:
        Symbolic.__init__(self, trace, field.text)
        object.__setattr__(self, "_fs_field", field)
        object.__setattr__(self, "_fs_problem", problem)

    @property
    def _fs_term(self) -> Term:  # type: ignore[override]
        self._fs_trace.raise_problem(UnsupportedField, self._fs_problem)


class SymbolicObject(Symbolic):
    """An object of the record: the model itself, a nested one, or an item of a list."""

    __slots__ = ("_fs_path", "_fs_shape")
    _fs_path: FieldPath
    _fs_shape: ObjectShape

    def __init__(self, trace: Trace, path: FieldPath, shape: ObjectShape, text: str) -> None:
        super().__init__(trace, text)
        object.__setattr__(self, "_fs_path", path)
        object.__setattr__(self, "_fs_shape", shape)

    def __getattr__(self, name: str) -> object:
        model = self._fs_shape.model
        field = fields_of(model).get(name)
        if field is not None:
            below = FieldPath(self._fs_path.root, (*self._fs_path.segments, field.key))
            return symbol(self._fs_trace, below, field.shape, f"{self._fs_text}.{name}")
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if not hasattr(model, name):
            problem = unknown_field(model, name, f"{self._fs_text}.{name}")
            self._fs_trace.raise_problem(UnknownField, problem)
        return self._fs_member(name)

    def _fs_member(self, name: str) -> object:
        """A method, property or class attribute of the model, to be recorded through."""
        for cls in self._fs_shape.model.__mro__:
            if name in cls.__dict__:
                member = cls.__dict__[name]
                traced = getattr(member, "traced_with", None)
                if traced is not None:
                    return traced(self)
                function = member.fget if type(member) is property else member
                if type(function) is FunctionType:
                    refuse_identity(self._fs_trace, function)
                    return function(self) if function is not member else MethodType(function, self)
                break
        return getattr(self._fs_shape.model, name)

    def __eq__(self, other: object) -> NoReturn:
        if other is None:
            self._fs_trace.fail(f"whether {self._fs_text} is null is asked by fs.is_null(...)")
        self._fs_trace.fail(f"{self._fs_text} is an object", "compare its fields")

    __ne__ = __eq__
    __hash__ = Symbolic.__hash__


class SymbolicUnion(SymbolicValue):
    """One of several models or values: the fields of all models, and a value where it is none."""

    __slots__ = ("_fs_path", "_fs_shape")
    _fs_path: FieldPath
    _fs_shape: UnionShape

    def __init__(self, trace: Trace, path: FieldPath, shape: UnionShape, text: str) -> None:
        super().__init__(trace, replace(field_term(path, None, text), code=None))
        object.__setattr__(self, "_fs_path", path)
        object.__setattr__(self, "_fs_shape", shape)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            shape, key = step(self._fs_shape, name, f"{self._fs_text}.{name}")
        except Misfit as misfit:
            self._fs_trace.raise_problem(misfit.error, misfit.problem)
        below = FieldPath(self._fs_path.root, (*self._fs_path.segments, key))
        return symbol(self._fs_trace, below, shape, f"{self._fs_text}.{name}")

    def _fs_compare(self, op: ComparisonName, other: object) -> SymbolicValue:
        if not any(isinstance(branch, ScalarShape) for branch in branches_of(self._fs_shape)):
            hint = "compare its fields, or ask fs.is_null(...) or fs.is_a(...)"
            self._fs_trace.fail(f"{self._fs_text} is {described(self._fs_shape)}", hint)
        return super()._fs_compare(op, other)


class SymbolicList(Symbolic):
    """A list of the record. A loop over it, inside an aggregate, binds one item."""

    __slots__ = ("_fs_path", "_fs_shape")
    _fs_path: FieldPath
    _fs_shape: ListShape

    def __init__(self, trace: Trace, path: FieldPath, shape: ListShape, text: str) -> None:
        super().__init__(trace, text)
        object.__setattr__(self, "_fs_path", path)
        object.__setattr__(self, "_fs_shape", shape)

    def __iter__(self) -> Iterator[object]:  # type: ignore[override]
        refuse_helpers(self._fs_trace, self._fs_text, sys._getframe(1))  # noqa: SLF001
        return loops.BoundItem(self._fs_trace, str(self._fs_path), self._fs_text, self._fs_bound)

    def _fs_bound(self, name: str) -> object:
        return symbol(self._fs_trace, FieldPath(name, ()), self._fs_shape.item, name)

    def __getitem__(self, index: object) -> object:
        if type(index) is not int:
            self._fs_trace.fail(
                f"{self._fs_text}[...] takes a constant integer",
                "for positions that are fields use the decorator fs.element; for neighbours use fs.slide",
            )
        try:
            shape, segment = step(self._fs_shape, index, f"{self._fs_text}[{index}]")
        except Misfit as misfit:
            self._fs_trace.fail(misfit.problem.message)
        below = FieldPath(self._fs_path.root, (*self._fs_path.segments, segment))
        return symbol(self._fs_trace, below, shape, f"{self._fs_text}[{index}]")

    def __eq__(self, other: object) -> NoReturn:
        self._fs_trace.fail(f"{self._fs_text} is a list", "compare its items")

    __ne__ = __eq__
    __hash__ = Symbolic.__hash__


def refuse_helpers(trace: Trace, text: str, frame: FrameType) -> None:
    """Only a ``for`` may ask a symbolic list for its items, no function that loops by itself."""
    if dis.opname[frame.f_code.co_code[frame.f_lasti]] != "GET_ITER":
        trace.fail(
            f"{text} is passed to a function that loops over it, like sum, zip, enumerate, sorted",
            "write the loop inside an aggregate: fs.every(... for x in items); fs.total for sum; "
            "fs.slide pairs neighbours",
        )


def symbol(trace: Trace, path: FieldPath, shape: Shape, text: str) -> object:
    """The symbolic value of a field."""
    match shape:
        case ObjectShape():
            return SymbolicObject(trace, path, shape, text)
        case ListShape():
            if shape.most is None and trace.finite:
                trace.raise_problem(UnsupportedField, unbounded_list(text))
            return SymbolicList(trace, path, shape, text)
        case OpenShape():
            return SymbolicValue(trace, field_term(path, None, text))
        case UnionShape():
            scalar = as_scalar(shape)
            if scalar is None:
                return SymbolicUnion(trace, path, shape, text)
            problem = require_finite(shape, text) if trace.finite else None
            if problem is not None:
                trace.raise_problem(UnsupportedField, problem)
            return SymbolicValue(trace, field_term(path, scalar, text))
        case ScalarShape():
            return _scalar(trace, path, shape, text)
        case _:
            return _refused(trace, shape, text)


def _refused(trace: Trace, shape: FreeShape | RefusedShape, text: str) -> NoReturn:
    problem = require_finite(shape, text)
    assert problem is not None
    trace.raise_problem(UnsupportedField, problem)


def _scalar(trace: Trace, path: FieldPath, shape: ScalarShape, text: str) -> SymbolicValue:
    field = field_term(path, shape, text)
    problem = require_finite(shape, text) if trace.finite else None
    if problem is not None and shape.code != "text":
        trace.raise_problem(UnsupportedField, problem)
    return SymbolicValue(trace, field) if problem is None else SymbolicText(trace, field, problem)


def term_of(value: object, trace: Trace, like: Term | None = None) -> Term:
    """The term of a symbolic value or of a constant.

    Raises:
        TermError: if the value has no term.
    """
    if issubclass(type(value), SymbolicValue):
        found: Term = object.__getattribute__(value, "_fs_term")
        return found
    if issubclass(type(value), Symbolic):
        trace.fail(f"{value!r} is not a single value", "name one of its fields or items")
    return constant(value, like)


def recorded(trace: Trace, work: Callable[[], Term]) -> SymbolicValue:
    """The symbolic value of a term; a term that does not fit is a tracing error."""
    try:
        return SymbolicValue(trace, work())
    except TermError as error:
        trace.fail(error.message, error.hint)

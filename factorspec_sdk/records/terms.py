"""Typed expressions: templates of the wire form that know what they stand for.

Declared conditions (``eq("a.leave", "b.arrive")``) and traced ones (``a.leave == b.arrive``) are made of the
same terms, so both are checked by the same rules.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal, get_args

from factorspec_sdk.errors import shown
from factorspec_sdk.fields.domains import CodeType, Scalar
from factorspec_sdk.fields.rounding import Rounding
from factorspec_sdk.records.moments import DURATION_HINT, duration, scalar_of
from factorspec_sdk.records.parameters import Template
from factorspec_sdk.records.shapes import ScalarShape

ComparisonName = Literal["eq", "ne", "lt", "le", "gt", "ge"]
ArithmeticName = Literal["add", "sub", "mul", "mod"]

LogicName = Literal["and", "or", "not", "implies", "iff", "one"]

_SIGNS = {
    "eq": "=",
    "ne": "≠",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "add": "+",
    "sub": "-",
    "mul": "×",
    "mod": "%",
}
_NAMES = {"int": "an integer", "date": "a date", "time": "a time", "text": "a text", "bool": "a boolean",
    "decimal": "a decimal", "datetime": "a date with a time"}  # fmt: skip


_CONSTANTS = "use integers, decimals, texts, booleans, dates, times, enum members"
_NUMBERS = ("int", "decimal")
_MOMENTS = ("date", "time", "datetime")


class TermError(Exception):
    """Two terms do not go together; callers add relation and place."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Term:
    """An expression.

    template: its wire form. code: what its value is, None where that is not known. text: how people read it.
    shape: the field's shape where it is a field. unit: "date" or "time" for a difference of two of them.
    constant: its value, where it is a constant. binders: names of bound items that it speaks of.
    """

    template: Template
    code: CodeType | None
    text: str
    shape: ScalarShape | None = None
    unit: CodeType | None = None
    constant: tuple[Scalar] | None = None
    binders: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """What the value is, in words."""
        return _NAMES.get(self.code or "", "null" if self.constant is not None else "a value of mixed types")


def constant(value: object, like: Term | None = None) -> Term:
    """A constant; durations are read in the unit of ``like``."""
    if isinstance(value, datetime.timedelta):
        return _duration(value, like)
    scalar = scalar_of(value)
    if scalar is None:
        raise TermError(
            f"{shown(value)} is no constant of a relation",
            'write Decimal("0.19")' if isinstance(value, float) else _CONSTANTS,
        )
    found, code = scalar
    template: dict[str, Template] = {"const": found}
    if code in ("date", "time", "datetime", "decimal"):
        template["type"] = code
    text = shown(found) if isinstance(found, str) and code != "decimal" else str(found)
    return Term(template, code, text, constant=(found,))


def compare(op: ComparisonName, left: Term, right: Term) -> Term:
    """A comparison, checked."""
    _check_comparable(op, left, right)
    return Term(
        {"op": op, "args": [left.template, right.template]},
        "bool",
        f"{left.text} {_SIGNS[op]} {right.text}",
        binders=left.binders | right.binders,
    )


def check_cell(column: Term, cell: object) -> Term:
    """Equality of a field and a table's cell, which need not be among the field's values."""
    return compare("eq", replace(column, shape=None), constant(cell, column))


def arithmetic(op: ArithmeticName, left: Term, right: Term) -> Term:
    """A sum, difference, product or remainder, checked."""
    for side in (left, right):
        if side.code not in (*_NUMBERS, *_MOMENTS, None) or side.constant == (None,):
            raise TermError(f"cannot calculate with {side.text}, which is {side.kind}")
    if op == "mod":
        _require_integers("%", left, right)
        _require_divisor(right)
    code, unit = _result(op, left, right)
    template: Template = {"op": op, "args": [left.template, right.template]}
    text = f"{left.text} {_SIGNS[op]} {right.text}"
    return Term(template, code, text, unit=unit, binders=left.binders | right.binders)


def division(op: Literal["quotient", "rounded"], left: Term, right: Term, mode: Rounding) -> Term:
    """A quotient rounded to an integer, or the multiple of a unit that rounding gives, checked."""
    for side in (left, right):
        _require_number(side)
    if mode not in get_args(Rounding):
        raise TermError(f"{shown(mode)} is no rounding", f"use one of {', '.join(get_args(Rounding))}")
    _require_divisor(right)
    template: Template = {"op": op, "args": [left.template, right.template], "mode": mode}
    text = f"{left.text} // {right.text}" if mode == "floor" else f"{op}({left.text}, {right.text}, {mode})"
    code: CodeType = "decimal" if op == "rounded" and right.code == "decimal" else "int"
    return Term(template, code, text, binders=left.binders | right.binders)


def floor_division(left: Term, right: Term) -> Term:
    """Python's ``//`` of integers, checked."""
    _require_integers("//", left, right)
    return division("quotient", left, right, "floor")


def extreme(op: Literal["least", "most"], terms: Sequence[Term]) -> Term:
    """The smallest or largest of some values, checked."""
    for term in terms:
        if term.constant == (None,):
            raise TermError("null has no order", "leave it out")
        _check_comparable("le", terms[0], replace(term, shape=None))
    codes = {"decimal" if _is_decimal(terms) and term.code == "int" else term.code for term in terms}
    text = f"{op}({', '.join(term.text for term in terms)})"
    binders = frozenset[str]().union(*(term.binders for term in terms))
    args: list[Template] = [term.template for term in terms]
    return Term({"op": op, "args": args}, codes.pop() if len(codes) == 1 else None, text, binders=binders)


def negative(term: Term) -> Term:
    """The negated number."""
    _require_number(term)
    return replace(_plain(term), template={"op": "neg", "args": [term.template]}, text=f"-{term.text}")


def absolute(term: Term) -> Term:
    """The absolute value."""
    _require_number(term)
    return replace(_plain(term), template={"op": "abs", "args": [term.template]}, text=f"|{term.text}|")


def logic(op: Literal["and", "or", "not", "implies"], terms: Sequence[Term]) -> Term:
    """A logical combination of conditions, checked."""
    for term in terms:
        if term.code not in ("bool", None) or term.constant is not None:
            raise TermError(f"{term.text} is {term.kind}, not a condition", "compare it with something")
    if len(terms) == 1 and op in ("and", "or"):
        return terms[0]
    joiner = {"and": " and ", "or": " or ", "implies": " → ", "not": ""}[op]
    text = joiner.join(term.text for term in terms)
    binders = frozenset[str]().union(*(term.binders for term in terms))
    flat: list[Template] = []
    for term in terms:
        inner = term.template
        nested = isinstance(inner, dict) and inner.get("op") == op and op in ("and", "or")
        args = inner["args"] if nested and isinstance(inner, dict) else [inner]
        assert isinstance(args, list)
        flat.extend(args)
    return Term({"op": op, "args": flat}, "bool", f"not {text}" if op == "not" else text, binders=binders)


def combination(op: LogicName, terms: Sequence[Term]) -> Term:
    """Like ``logic``, also "all or none" (iff) and "exactly one" (one), which are made of the others."""
    if op == "iff":
        found = logic("implies", [logic("or", terms), logic("and", terms)])
        return replace(found, text=" if and only if ".join(term.text for term in terms))
    if op == "one":
        found = logic("and", [logic("or", terms), *_at_most_one(terms)])
        return replace(found, text=f"exactly one of {', '.join(term.text for term in terms)}")
    return logic(op, terms)


def _at_most_one(terms: Sequence[Term]) -> list[Term]:
    """Not one of the first half and one of the second, nor two of either. O(n log n) parts."""
    if len(terms) < 2:
        return []
    halves = terms[: len(terms) // 2], terms[len(terms) // 2 :]
    apart = logic("not", [logic("and", [logic("or", half) for half in halves])])
    return [apart, *_at_most_one(halves[0]), *_at_most_one(halves[1])]


def contained(subject: Term, values: Sequence[Term]) -> Term:
    """True where the subject is one of some constants."""
    for value in values:
        _check_comparable("eq", subject, value)
    listed: list[Template] = [value.template for value in values]
    text = f"{subject.text} in [{', '.join(value.text for value in values)}]"
    return Term(
        {"op": "in", "arg": subject.template, "values": listed}, "bool", text, binders=subject.binders
    )


def _duration(value: datetime.timedelta, like: Term | None) -> Term:
    unit = None if like is None else like.unit or like.code
    if unit not in _MOMENTS or unit is None:
        raise TermError(f"{shown(value)} goes with dates and times only", DURATION_HINT)
    count = duration(value, unit)
    if count is None:
        raise TermError(f"{shown(value)} is no whole number of {'days' if unit == 'date' else 'seconds'}")
    return Term({"const": count}, "int", str(value), unit=unit, constant=(count,))


def _check_comparable(op: ComparisonName, left: Term, right: Term) -> None:
    sides = (left, right)
    if any(side.constant == (None,) for side in sides):
        if op not in ("eq", "ne"):
            raise TermError("null has no order", "compare with == or !=")
        return
    if (
        left.code is not None
        and right.code is not None
        and left.code != right.code
        and not (left.code in _NUMBERS and right.code in _NUMBERS)
    ):
        raise TermError(f"{left.text} is {left.kind} and {right.text} is {right.kind}: they never compare")
    if op not in ("eq", "ne"):
        for side in sides:
            if side.code in ("text", "bool"):
                raise TermError(f"{side.text} is {side.kind}, which has no order")
    for side, other in ((left, right), (right, left)):
        _check_value(side, other)


def _check_value(field: Term, other: Term) -> None:
    """A text that the field never takes is a misspelling."""
    shape = field.shape
    if shape is None or shape.values is None or shape.params or other.constant is None:
        return
    value = other.constant[0]
    if isinstance(value, str) and other.code != "decimal" and value not in shape.values:
        close = get_close_matches(value, [v for v in shape.values if isinstance(v, str)], n=1)
        raise TermError(
            f"{field.text} is never {value!r}",
            f"did you mean {close[0]!r}?" if close else "see the field's values",
        )


def _result(op: ArithmeticName, left: Term, right: Term) -> tuple[CodeType, CodeType | None]:
    moments = [side.code for side in (left, right) if side.code in _MOMENTS]
    if not moments and _is_decimal((left, right)):
        return "decimal", None
    if not moments:
        return "int", left.unit or right.unit if op in ("add", "sub") else None
    if op == "sub" and len(moments) == 2 and moments[0] == moments[1]:
        return "int", moments[0]
    if (
        len(moments) == 1
        and not _is_decimal((left, right))
        and (op == "add" or (op == "sub" and left.code == moments[0]))
    ):
        code = moments[0]
        assert code is not None
        return code, None
    raise TermError(f"cannot calculate {left.kind} {_SIGNS[op]} {right.kind}")


def _is_decimal(terms: Sequence[Term]) -> bool:
    return any(term.code == "decimal" for term in terms)


def _require_integers(sign: str, left: Term, right: Term) -> None:
    """Python's // and % of integers round down, those of decimals towards 0."""
    if _is_decimal((left, right)):
        raise TermError(
            f"{left.text} {sign} {right.text} is an operation on decimals, which rounds towards 0",
            'use fs.quotient(a, b, mode="floor"), or fs.rounded(value, unit) == value for multiples',
        )


def _require_divisor(term: Term) -> None:
    if term.constant is not None and term.constant[0] in (0, "0"):
        raise TermError("a division by 0 never has a value")


def _require_number(term: Term) -> None:
    if term.code not in (*_NUMBERS, None) or term.constant == (None,):
        raise TermError(f"cannot calculate with {term.text}, which is {term.kind}")


def _plain(term: Term) -> Term:
    return replace(term, shape=None, constant=None, code=term.code or "int")

"""Words for explanations: values, comparisons and lists of fields, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from factorspec_sdk.errors import shown
from factorspec_sdk.fields.decimals import exact_text, is_decimal, places_of
from factorspec_sdk.fields.domains import code_to_iso, moment_of
from factorspec_sdk.relations.evaluate import truth_of, value_of
from factorspec_sdk.relations.expressions import (
    Const,
    Division,
    Expr,
    Fold,
    In,
    Item,
    Length,
    Lookup,
    Member,
    Op,
    Present,
    Ref,
)
from factorspec_sdk.relations.view import Quantity, Special, View, quantity

COMPARED: Mapping[str, str] = {
    "eq": "equal", "ne": "differ from", "lt": "be less than", "le": "be at most", "gt": "be greater than",
    "ge": "be at least",
}  # fmt: skip
SIGNS: Mapping[str, str] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INFIX = {**SIGNS, "add": "+", "sub": "-", "mul": "*", "mod": "%", "and": "and", "or": "or"}
_ASKED: Mapping[str, str] = {"len": "length", "present": "is_present"}
_SHOWN_FIELDS = 6
_LAST_DAY = 3_652_059
#: codes that have an ISO text; other results are shown as numbers
_WRITABLE: Mapping[str, tuple[int, int]] = {
    "date": (1, _LAST_DAY),
    "time": (0, 86_399),
    "datetime": (86_400, _LAST_DAY * 86_400),
    "instant": (86_400, _LAST_DAY * 86_400),
}


def worded(value: Quantity) -> str:
    """A value as it stands in the record."""
    if isinstance(value.code, Special):
        return value.code.value
    kind = moment_of(value.type)
    if (
        kind is not None
        and isinstance(value.code, int)
        and _WRITABLE[kind][0] <= value.code <= _WRITABLE[kind][1]
    ):
        return code_to_iso(kind, value.code)
    if isinstance(value.code, int | Fraction) and is_decimal(value.type):
        return exact_text(value.code, places_of(value.type) or 0)
    return shown(value.code)


def fields_text(fields: Iterable[tuple[str, object]]) -> str:
    """Fields with their values ("a = 1, b = 2"), at most six."""
    listed = list(fields)
    text = ", ".join(f"{path} = {worded(quantity(value))}" for path, value in listed[:_SHOWN_FIELDS])
    return text + (f", … ({len(listed)} fields)" if len(listed) > _SHOWN_FIELDS else "")


def counted(number: int, word: str) -> str:
    """A number of things ("1 item", "2 items")."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def listed_text(values: Iterable[Quantity]) -> str:
    """Values ("1, 'a', …"), at most six."""
    listed = list(values)
    text = ", ".join(worded(value) for value in listed[:_SHOWN_FIELDS])
    return text + (f", … ({len(listed)} values)" if len(listed) > _SHOWN_FIELDS else "")


def expression_text(expr: Expr, view: View | None = None) -> str:
    """An expression in Python-like notation; with a view, paths are shown from the record's root."""
    match expr:
        case Ref():
            return _path_text(expr.ref, view)
        case Const():
            return str(expr.const) if expr.type == "decimal" else shown(expr.const)
        case Length() | Present():
            return f"{_ASKED[expr.op]}({_path_text(expr.of, view)})"
        case Op() | Division():
            return _operation_text(expr, [expression_text(arg, view) for arg in expr.args])
        case Lookup():
            return f"{expr.table}[{', '.join(expression_text(k, view) for k in expr.key)}]"
        case Member():
            key = ", ".join(expression_text(k, view) for k in expr.key)
            return f"({key}) {'in' if expr.allow else 'not in'} {expr.table}"
        case In():
            return f"{expression_text(expr.arg, view)} in {[c.const for c in expr.values]!r}"
        case Item():
            return f"({', '.join(expr.of)})[{expression_text(expr.index, view)}]"
        case Fold():
            return _fold_text(expr)


def _path_text(path: str, view: View | None) -> str:
    return path.removeprefix("$.") if view is None else view.shown(path)


def _fold_text(expr: Fold) -> str:
    """The bound item is not known here: paths stay relative."""
    where = f" if {expression_text(expr.where)}" if expr.where is not None else ""
    body = expression_text(expr.body)
    return f"{expr.op}({body} for {expr.bound} in {expr.over.removeprefix('$.')}{where})"


def _operation_text(expr: Op | Division, args: list[str]) -> str:
    wrapped = [
        f"({text})" if isinstance(arg, Op | Division) and not text.endswith(")") else text
        for text, arg in zip(args, expr.args, strict=True)
    ]
    if isinstance(expr, Division):
        if expr.op == "quotient" and expr.mode == "floor":
            return " // ".join(wrapped)
        return f"{expr.op}({', '.join(args)}, {expr.mode})"
    if expr.op in _INFIX and len(args) > 1:
        return f" {_INFIX[expr.op]} ".join(wrapped)
    if expr.op == "neg":
        return f"-{wrapped[0]}"
    if expr.op == "not":
        return f"not {wrapped[0]}"
    if expr.op == "implies":
        return f"{wrapped[0]} implies {wrapped[1]}"
    return f"{expr.op}({', '.join(args)})"


def broken_text(expr: Expr, view: View) -> str:
    """Why a condition is false here: the smallest false part, with the values in it."""
    if isinstance(expr, Fold) and expr.op == "every":
        for path, item in view.items(expr.over) or ():
            inner = view.bind(expr.bound, item, path)
            skipped = expr.where is not None and truth_of(expr.where, inner) is not True
            if not skipped and truth_of(expr.body, inner) is False:
                return broken_text(expr.body, inner)
    if isinstance(expr, Op) and expr.op == "and":
        for arg in expr.args:
            if truth_of(arg, view) is False:
                return broken_text(arg, view)
    return f"{expression_text(expr, view)} is false{_values_text(expr, view)}"


def _values_text(expr: Expr, view: View) -> str:
    parts = [f"{expression_text(part, view)} = {worded(value_of(part, view))}" for part in _operands(expr)]
    return f", with {', '.join(dict.fromkeys(parts))}" if parts else ""


def _operands(expr: Expr) -> list[Expr]:
    match expr:
        case Ref() | Lookup() | Length():
            return [expr]
        case Fold() if expr.op in ("sum", "count", "min", "max"):
            return [expr]
        case Member():
            return [part for key in expr.key for part in _operands(key)]
        case In():
            return _operands(expr.arg)
        case Item():
            return [expr]
        case Present():
            return [Ref(ref=expr.of)]
        case Op() | Division():
            return [part for arg in expr.args for part in _operands(arg)][:_SHOWN_FIELDS]
        case _:
            return []

"""What expressions mean on a concrete record: the definition that everything compiled is tested against.

Truth is three-valued (True, False, None = unknown), as in SQL's CHECK. See ``expressions.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fractions import Fraction
from functools import partial

from factorspec_sdk.fields.domains import Scalar, moment_kind, spelled_type
from factorspec_sdk.relations.arithmetic import computed, divided_by, extreme_of, read_text, total_of
from factorspec_sdk.relations.expressions import (
    ARITHMETIC,
    EXTREMES,
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
from factorspec_sdk.relations.view import Quantity, Special, View, exact_key, quantity, read_as

Truth = bool | None

_CALCULATIONS = frozenset({*ARITHMETIC, *EXTREMES, "quotient", "rounded"})
_COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def value_of(expr: Expr, view: View) -> Quantity:
    """The value of an expression; conditions give a bool, unknown ones ``UNKNOWN``."""
    match expr:
        case Ref():
            return _ref(view.one(expr.ref)[1])
        case Const():
            return constant(expr)
        case Length():
            return _length(view.one(expr.of)[1])
        case Lookup():
            return _lookup(expr, view)
        case Item():
            return _item(expr, view)
        case Fold() if expr.op in ("sum", "count", "min", "max"):
            return _fold_value(expr, view)
        case Op() | Division() if expr.op in _CALCULATIONS:
            return _calculated(expr, [value_of(arg, view) for arg in expr.args])
        case Op() if expr.op == "if":
            return _choose(expr, view)
        case _:
            truth = truth_of(expr, view)
            return Quantity(Special.UNKNOWN) if truth is None else Quantity(truth, "bool")


def truth_of(expr: Expr, view: View) -> Truth:
    """The truth of a condition; a value counts as true where it is the boolean ``true``."""
    match expr:
        case Op() if expr.op in ("and", "or", "not", "implies"):
            return _logic(expr.op, [partial(truth_of, arg, view) for arg in expr.args])
        case Op() if expr.op in ("eq", "ne", "lt", "le", "gt", "ge"):
            return compare(expr.op, value_of(expr.args[0], view), value_of(expr.args[1], view))
        case In():
            subject = value_of(expr.arg, view)
            return _logic("or", [partial(compare, "eq", subject, constant(c)) for c in expr.values])
        case Member():
            return _member(expr, view)
        case Present():
            return _present(expr, view.one(expr.of)[1])
        case Fold() if expr.op in ("every", "some"):
            return _fold_truth(expr, view)
        case _:
            code = value_of(expr, view).code
            return code if isinstance(code, bool) else False if code is Special.MISSING else None


def constant(const: Const) -> Quantity:
    """The value of a constant."""
    found = quantity(const.const)
    if const.type is None or const.const is None:
        return found
    text = str(const.const)
    kind = spelled_type(text) if const.type == "decimal" else moment_kind(const.type, text)
    return Quantity(read_as(const.const, kind), kind)


def compare(op: str, left: Quantity, right: Quantity) -> Truth:
    """Truth of a comparison of two values; where they have an order, texts of tables are what they spell."""
    if op not in ("eq", "ne") and left.type == right.type == "text":
        left, right = read_text(left), read_text(right)
    a, b = left.as_type(right), right.as_type(left)
    if a is Special.MISSING or b is Special.MISSING:
        return False
    if {a, b} & {Special.ABSENT, Special.UNKNOWN}:
        return None
    if isinstance(a, Special) or isinstance(b, Special):
        return op == "ne" if op in ("eq", "ne") else None
    if op == "eq" or op == "ne":
        return (exact_key(a) == exact_key(b)) is (op == "eq")
    if not (_is_number(a) and _is_number(b)):
        return None
    assert isinstance(a, int | Fraction) and isinstance(b, int | Fraction)
    return _COMPARE[op](Fraction(a), Fraction(b))


def all_of(truths: Iterable[Truth]) -> Truth:
    """Three-valued conjunction."""
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def _is_number(code: object) -> bool:
    return isinstance(code, int | Fraction) and not isinstance(code, bool)


def _calculated(expr: Op | Division, args: Sequence[Quantity]) -> Quantity:
    if isinstance(expr, Division):
        return divided_by(expr.op, args, expr.mode)
    if expr.op in EXTREMES:
        return extreme_of(args, smallest=expr.op == "least")
    return computed(expr.op, args)


def _length(value: object) -> Quantity:
    if isinstance(value, Enum) and not isinstance(value, Special):
        value = value.value
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return Quantity(len(value), "int")
    return Quantity(Special.UNKNOWN)


def _present(expr: Present, value: object) -> bool:
    return value is not Special.ABSENT and (expr.null or value is not None)


def _ref(value: object) -> Quantity:
    return Quantity(value) if isinstance(value, Special) else quantity(value)


def _logic(op: str, args: Sequence[Callable[[], Truth]]) -> Truth:
    if op == "and":
        return all_of(arg() for arg in args)
    if op == "or":
        return _negate(all_of(_negate(arg()) for arg in args))
    if op == "not":
        return _negate(args[0]())
    return _negate(all_of([args[0](), _negate(args[1]())]))


def _negate(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _choose(expr: Op, view: View) -> Quantity:
    truth = truth_of(expr.args[0], view)
    if truth is None:
        return Quantity(Special.UNKNOWN)
    return value_of(expr.args[1] if truth else expr.args[2], view)


def _key(parts: Sequence[Expr], view: View) -> tuple[list[Quantity], Special | None]:
    found = [value_of(part, view) for part in parts]
    codes = [part.code for part in found]
    if Special.MISSING in codes:
        return found, Special.MISSING
    return found, Special.UNKNOWN if any(isinstance(code, Special) for code in codes) else None


def _row(table: str, key: Sequence[Quantity], view: View) -> Sequence[Scalar] | None:
    """The first row that begins with ``key``, or None. Texts are dates or times where the key is one."""
    rows = view.rows_by_key(table, tuple(part.type for part in key))
    return rows.get(tuple(exact_key(part.code) for part in key if not isinstance(part.code, Special)))


def _member(expr: Member, view: View) -> Truth:
    key, trouble = _key(expr.key, view)
    if trouble is not None:
        return False if trouble is Special.MISSING else None
    return (_row(expr.table, key, view) is not None) is expr.allow


def _lookup(expr: Lookup, view: View) -> Quantity:
    key, trouble = _key(expr.key, view)
    if trouble is not None:
        return Quantity(trouble)
    row = _row(expr.table, key, view)
    return Quantity(Special.MISSING) if row is None else quantity(row[-1])


def _item(expr: Item, view: View) -> Quantity:
    at = value_of(expr.index, view).code
    if at is Special.MISSING:
        return Quantity(Special.MISSING)
    if not isinstance(at, int) or isinstance(at, bool):
        return Quantity(Special.UNKNOWN)
    fields = [value for path in expr.of for _, value in view.resolve(path)]
    return quantity(fields[at]) if 0 <= at < len(fields) else Quantity(Special.MISSING)


def _chosen(expr: Fold, view: View) -> list[View] | None:
    items = view.items(expr.over)
    if items is None:
        return None
    views = [view.bind(expr.bound, item, path) for path, item in items]
    return views if expr.where is None else [v for v in views if truth_of(expr.where, v) is True]


def _fold_truth(expr: Fold, view: View) -> Truth:
    views = _chosen(expr, view)
    if views is None:
        return None
    return _logic("and" if expr.op == "every" else "or", [partial(truth_of, expr.body, v) for v in views])


def _fold_value(expr: Fold, view: View) -> Quantity:
    views = _chosen(expr, view)
    if views is None:
        return Quantity(Special.UNKNOWN)
    if expr.op == "count":
        return Quantity(sum(truth_of(expr.body, v) is True for v in views), "int")
    found = [value_of(expr.body, v) for v in views]
    return total_of(found) if expr.op == "sum" else extreme_of(found, smallest=expr.op == "min")

"""What the value of an expression is (integer, decimal, date, time, text, boolean), on an unrolled record.

A decimal's type says how many places its codes have. ``calculated``: the value is a number, date or time that
something is calculated with, so texts of tables are read as what they spell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from factorspec_sdk.automata.nodes import SlotValue, ValueNode
from factorspec_sdk.automata.values import Choose
from factorspec_sdk.fields.decimals import decimal_type, is_decimal, places_of
from factorspec_sdk.fields.domains import (
    CodeType,
    Domain,
    Scalar,
    encode_scalar,
    moment_kind,
    moment_of,
    spelled_type,
)
from factorspec_sdk.relations.expressions import (
    ARITHMETIC,
    EXTREMES,
    Const,
    Division,
    Expr,
    Fold,
    Item,
    Length,
    Lookup,
    Op,
    Ref,
)
from factorspec_sdk.relations.view import quantity

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


def type_of(lowering: Lowering, expr: Expr, *, calculated: bool = False) -> CodeType | None:
    """The type of an expression's value; None where it is not known or mixed."""
    match expr:
        case Ref():
            return _slot_type(lowering.reference(expr.ref))
        case Const():
            return spelled_type(str(expr.const)) if expr.type == "decimal" else _constant_type(expr)
        case Lookup():
            return _cells_type([row[-1] for row in lowering.tables[expr.table]], calculated)
        case Item():
            types = {part.domain.code_type for path in expr.of for part in lowering.leaves(path)}
            return types.pop() if len(types) == 1 else None
        case Fold() if expr.op in ("sum", "min", "max"):
            return _fold_type(lowering, expr)
        case Op() if expr.op in (*ARITHMETIC, *EXTREMES, "if"):
            return _operation_type(lowering, expr, calculated)
        case Division() if expr.op == "rounded":
            return type_of(lowering, expr.args[1], calculated=True)
        case Division() | Length():
            return "int"
        case _:
            return "int" if isinstance(expr, Fold) and expr.op == "count" else "bool"


def common_type(types: Iterable[CodeType | None]) -> CodeType | None:
    """The type in which values of several types meet: the decimal of most places, else a date or time."""
    known = [found for found in types if found is not None]
    if any(is_decimal(found) for found in known):
        return decimal_type(max(places_of(found) or 0 for found in known))
    return next((found for found in known if moment_of(found) is not None), None)


def domains_type(domains: Iterable[Domain]) -> CodeType | None:
    """The type of all values of some fields, None where it is mixed."""
    kinds = {domain.code_type for domain in domains}
    return kinds.pop() if len(kinds) == 1 else None


def constant_code(const: Const, kind: CodeType | None) -> Scalar:
    """The code of a constant beside values of type ``kind``; a decimal with too many places stays a text."""
    places = places_of(kind)
    if const.type == "decimal":
        return encode_scalar(const.const, kind if places is None else decimal_type(places))
    return encode_scalar(const.const, kind if const.type is None else moment_kind(const.type, const.const))


def _constant_type(const: Const) -> CodeType | None:
    kind = moment_of(const.type)
    return quantity(const.const).type if kind is None else moment_kind(kind, const.const)


def _cells_type(cells: Sequence[Scalar], calculated: bool) -> CodeType | None:
    known = [cell for cell in cells if cell is not None]
    if not calculated or not any(isinstance(cell, str) for cell in known):
        return quantity(known[0]).type if known else None
    spelled = [spelled_type(cell) if isinstance(cell, str) else quantity(cell).type for cell in known]
    if None in spelled:
        return "text"
    return common_type(spelled)


def _fold_type(lowering: Lowering, expr: Fold) -> CodeType | None:
    found = lowering.items(expr.over)
    inner = None
    if found is not None and found[0]:
        inner = type_of(lowering.bind(expr.bound, found[0][0][0]), expr.body, calculated=True)
    return "int" if expr.op == "sum" and not is_decimal(inner) else inner


def _operation_type(lowering: Lowering, expr: Op, calculated: bool) -> CodeType | None:
    if expr.op == "if":
        branches = [type_of(lowering, arg, calculated=calculated) for arg in expr.args[1:]]
        return common_type(branches) or branches[0] or branches[1]
    types = [type_of(lowering, arg, calculated=True) for arg in expr.args]
    if expr.op == "mul" and any(is_decimal(found) for found in types):
        return decimal_type(sum(places_of(found) or 0 for found in types))
    if expr.op in EXTREMES:
        return common_type(types) or next((found for found in types if found is not None), None)
    moments = [found for found in types if moment_of(found) is not None]
    if moments:
        return moments[0] if len(moments) == 1 and expr.op in ("add", "sub") else "int"
    return common_type(types) or "int"


def _slot_type(node: ValueNode) -> CodeType | None:
    if isinstance(node, SlotValue):
        return node.domain.code_type
    if isinstance(node, Choose):  # one of several slots: an item counted from the end, a branch
        found = [kind for kind in (_slot_type(node.yes), _slot_type(node.no)) if kind is not None]
        # of a date (or decimal) and a text in two branches, texts compared with them are read as dates
        return common_type(found) or (found[0] if found else None)
    return None

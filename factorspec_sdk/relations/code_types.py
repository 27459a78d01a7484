"""What the value of an expression is (integer, date, time, text, boolean), on an unrolled record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factorspec_sdk.automata.nodes import SlotValue, ValueNode
from factorspec_sdk.automata.values import Choose
from factorspec_sdk.fields.domains import CodeType
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


def type_of(lowering: Lowering, expr: Expr) -> CodeType | None:
    """The type of an expression's value; None where it is not known or mixed."""
    match expr:
        case Ref():
            return _slot_type(lowering.reference(expr.ref))
        case Const():
            return expr.type or quantity(expr.const).type
        case Lookup():
            cells = [row[-1] for row in lowering.tables[expr.table] if row[-1] is not None]
            return quantity(cells[0]).type if cells else None
        case Item():
            types = {part.domain.code_type for path in expr.of for part in lowering.leaves(path)}
            return types.pop() if len(types) == 1 else None
        case Fold() if expr.op in ("min", "max"):
            found = lowering.items(expr.over)
            return (
                type_of(lowering.bind(expr.bound, found[0][0][0]), expr.body) if found and found[0] else None
            )
        case Op():
            return _operation_type(lowering, expr)
        case Division() | Length():
            return "int"
        case Fold() if expr.op in ("sum", "count"):
            return "int"
        case _:
            return "bool"


def _operation_type(lowering: Lowering, expr: Op) -> CodeType | None:
    if expr.op not in ARITHMETIC and expr.op not in (*EXTREMES, "if"):
        return "bool"
    types = [type_of(lowering, arg) for arg in expr.args]
    if expr.op == "if":
        return types[1] or types[2]
    if expr.op in EXTREMES:
        return next((found for found in types if found is not None), None)
    moments = [found for found in types if found in ("date", "time")]
    return moments[0] if len(moments) == 1 and expr.op in ("add", "sub") else "int"


def _slot_type(node: ValueNode) -> CodeType | None:
    if isinstance(node, SlotValue):
        return node.domain.code_type
    if isinstance(node, Choose):  # one of several slots: an item counted from the end, a branch
        found = [kind for kind in (_slot_type(node.yes), _slot_type(node.no)) if kind is not None]
        # of a date and a text in two branches, texts compared with them are read as dates
        return next((kind for kind in found if kind in ("date", "time")), found[0] if found else None)
    return None

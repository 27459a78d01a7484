"""Lowering of arithmetic: operators, divisions and lengths, from expressions to open values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factorspec_sdk.automata.division import modulo, quotient, rounded
from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.logic import indicator, occurs
from factorspec_sdk.automata.nodes import Mark, NodeStore, ValueNode
from factorspec_sdk.automata.texts import text_length
from factorspec_sdk.automata.values import choose, extreme, magnitude, product
from factorspec_sdk.fields.domains import CodeType
from factorspec_sdk.relations.expressions import EXTREMES, Division, Length, Op
from factorspec_sdk.relations.unrolled import LeafPart, ListPart

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


def operation(lowering: Lowering, expr: Op | Division, want: CodeType | None) -> ValueNode:
    """The value of an arithmetic operator, of a division, or of the least or most of some values."""
    inner = next((t for t in map(lowering.type_of, expr.args) if t in ("date", "time")), want)
    args = [lowering.value(arg, inner) for arg in expr.args]
    if isinstance(expr, Division):
        make = quotient if expr.op == "quotient" else rounded
        return make(lowering.store, args[0], args[1], expr.mode)
    if expr.op in EXTREMES:
        return extreme(lowering.store, 1 if expr.op == "least" else -1, args)
    return _arithmetic(lowering.store, expr.op, args)


def _arithmetic(store: NodeStore, op: str, args: list[ValueNode]) -> ValueNode:
    match op:
        case "add":
            return linear(store, [(arg, 1) for arg in args])
        case "sub":
            return linear(store, [(args[0], 1), (args[1], -1)])
        case "neg":
            return linear(store, [(args[0], -1)])
        case "mul":
            return product(store, args[0], args[1])
        case "mod":
            return modulo(store, args[0], args[1])
        case _:
            return magnitude(store, args[0])


def length_of(lowering: Lowering, expr: Length) -> ValueNode:
    """The number of items of a list, or of characters of a text."""
    part = lowering.list_at(expr.of)
    if part is not None:
        return list_length(lowering.store, part)
    if any(isinstance(found, LeafPart) for found in lowering.parts(expr.of)):
        return text_length(lowering.store, lowering.reference(expr.of))
    return lowering.store.known(Mark.UNKNOWN)


def list_length(store: NodeStore, part: ListPart) -> ValueNode:
    """The number of items of a list; UNKNOWN where it is null or absent."""
    items = [occurs(store, part.item_presence(at)) for at in range(len(part.items))]
    total = linear(store, [(indicator(store, item), 1) for item in items])
    return choose(store, occurs(store, part.presence), total, store.known(Mark.UNKNOWN))

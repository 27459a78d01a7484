"""Lowering of what is calculated: operators, divisions, lengths and folds become open values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factorspec_sdk.automata.division import modulo, quotient
from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.logic import conjunction, indicator, occurs
from factorspec_sdk.automata.nodes import Condition, Mark, NodeStore, ValueNode
from factorspec_sdk.automata.values import choose, extreme, magnitude, or_zero, product
from factorspec_sdk.fields.domains import CodeType, moment_of
from factorspec_sdk.relations.code_types import common_type
from factorspec_sdk.relations.expressions import EXTREMES, Division, Fold, Length, Op
from factorspec_sdk.relations.unrolled import ListPart

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


def operation(lowering: Lowering, expr: Op | Division) -> ValueNode:
    """The value of an arithmetic operator, of a division, or of the least or most of some values.

    Decimals are brought to the same places first, but for a product: there places add up.
    """
    types = [lowering.type_of(arg, calculated=True) for arg in expr.args]
    common = common_type(types)
    apart = expr.op == "mul" or moment_of(common) is not None
    args = [lowering.value(arg, own if apart else common) for arg, own in zip(expr.args, types, strict=True)]
    if isinstance(expr, Division):
        whole = quotient(lowering.store, args[0], args[1], expr.mode)
        if expr.op == "quotient":
            return whole
        return product(lowering.store, whole, lowering.value(expr.args[1], types[1]))
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
    return lowering.length(expr.of)


def list_length(store: NodeStore, part: ListPart) -> ValueNode:
    """The number of items of a list; UNKNOWN where it is null or absent."""
    items = [occurs(store, part.item_presence(at)) for at in range(len(part.items))]
    total = linear(store, [(indicator(store, item), 1) for item in items])
    return choose(store, occurs(store, part.presence), total, store.known(Mark.UNKNOWN))


def fold_value(lowering: Lowering, expr: Fold) -> ValueNode:
    """The sum, count, least or most of a list's items."""
    store, found = lowering.store, lowering.items(expr.over)
    if found is None:
        return store.known(Mark.UNKNOWN)
    items, there = found
    want = lowering.type_of(expr)
    values = [_summand(lowering.bind(expr.bound, item), expr, presence, want) for item, presence in items]
    if expr.op in ("sum", "count"):
        total = linear(store, [(value, 1) for value in values])
    else:
        total = extreme(store, 1 if expr.op == "min" else -1, values)
    return choose(store, there, total, store.known(Mark.UNKNOWN))


def _summand(inner: Lowering, expr: Fold, presence: Condition, want: CodeType | None) -> ValueNode:
    store, included = inner.store, inner.included(expr, presence)
    if expr.op == "count":
        return indicator(store, conjunction(store, [included, inner.condition(expr.body)]))
    value = inner.value(expr.body, want)
    if expr.op == "sum":
        return choose(store, included, or_zero(store, value), store.known(0))
    return choose(store, included, value, store.known(Mark.ABSENT))

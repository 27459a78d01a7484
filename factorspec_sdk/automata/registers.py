"""Registers: the number of a slot that was read stays a symbol, so that residuals do not depend on it.

A slot with hundreds of values (a time of day) splits a condition into as many residuals. Where it enters
only as a plain number in linear comparisons, it can be replaced by a ``Register`` instead: a value that has
no open slot and no known number. What is left of the comparisons are *differences* between a slot and the
register, which are intervals, however wide the slot is (``graph/sequence.py``).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from factorspec_sdk.automata.linear import Compare, Linear, Term, decided, linear
from factorspec_sdk.automata.logic import And, Not, conjunction, negation
from factorspec_sdk.automata.nodes import Condition, Known, NodeStore, SlotValue, ValueNode
from factorspec_sdk.automata.values import OrZero
from factorspec_sdk.fields.domains import IntRange


class NoRegister(Exception):
    """A condition reads the slot, or the register, in another way than as a number in a comparison."""


class Register(ValueNode):
    """A number between two bounds that no residual knows. It has no open slots."""

    __slots__ = ("codes",)

    def __init__(self, store: NodeStore, codes: IntRange) -> None:
        super().__init__(store, 0, codes.lo, codes.hi, True, False)
        self.codes = codes


def register(store: NodeStore, codes: IntRange) -> Register:
    """The register that holds one of ``codes``."""
    key: Hashable = (Register, codes.key)
    return store.intern(key, lambda: Register(store, codes))


def kept_open(condition: Condition, symbol: Register) -> Condition:
    """What ``condition`` is after slot 0 was read into the register, with the next slot as slot 0.

    Raises:
        NoRegister: slot 0 enters otherwise than as a plain number in a linear comparison.
    """
    store = condition.store
    if not condition.slots & 1:
        return condition.advance(0, 0)  # moved along; no value is read
    if isinstance(condition, And):
        return conjunction(store, [kept_open(part, symbol) for part in condition.parts], condition.unknown)
    if isinstance(condition, Not):
        return negation(store, kept_open(condition.inner, symbol))
    if not isinstance(condition, Compare) or not isinstance(condition.value, Linear):
        raise NoRegister
    value = condition.value
    terms: list[Term] = [
        (node.moved(-1) if not node.slots & 1 else symbol if _is_plain(node) else _refused(), factor)
        for node, factor in value.terms
    ]
    return decided(store, condition.op, linear(store, terms, value.constant, value.poison))


def speaks_of_register(condition: Condition) -> bool:
    """True if a register stands in the condition."""
    if isinstance(condition, And):
        return any(map(speaks_of_register, condition.parts))
    if isinstance(condition, Not):
        return speaks_of_register(condition.inner)
    if isinstance(condition, Compare) and isinstance(condition.value, Linear):
        return any(isinstance(node, Register) for node, _ in condition.value.terms)
    return False


@dataclass(frozen=True, slots=True)
class Difference:
    """``slot · x + register · r + constant <= 0`` (``equal``: = 0), x the number of slot 0."""

    slot: int
    register: int
    constant: int
    equal: bool


def difference(condition: Condition) -> Difference | None:
    """A condition on slot 0 and the register as a comparison of both; None if it is none."""
    if isinstance(condition, Not):
        inner = difference(condition.inner) if condition.inner.crisp else None
        if inner is None or inner.equal:
            return None
        return Difference(-inner.slot, -inner.register, 1 - inner.constant, False)
    if not isinstance(condition, Compare) or condition.op == "ne":
        return None
    value = condition.value
    if not isinstance(value, Linear) or value.poison:
        return None
    slot = number = 0
    for node, factor in value.terms:
        if isinstance(node, Register):
            number += factor
        elif node.slots == 1 and _is_plain(node):
            slot += factor
        else:
            return None
    return Difference(slot, number, value.constant, condition.op == "eq") if slot or number else None


def _is_plain(node: ValueNode) -> bool:
    plain = node.inner if isinstance(node, OrZero) else node
    return isinstance(plain, SlotValue) and not plain.nullable


def _refused() -> Known:
    raise NoRegister

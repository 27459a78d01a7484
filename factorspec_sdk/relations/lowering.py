"""Lowering: from a relation's wire form to conditions on the slots of an unrolled record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.division import Modulo, Quotient
from factorspec_sdk.automata.linear import Linear, compare
from factorspec_sdk.automata.logic import (
    as_bool,
    conjunction,
    disjunction,
    indicator,
    is_true,
    negation,
    occurs,
    same,
)
from factorspec_sdk.automata.nodes import Condition, Known, SlotValue, ValueNode
from factorspec_sdk.automata.tables import Lookup as LookupNode
from factorspec_sdk.automata.tables import item_at, lookup, membership
from factorspec_sdk.automata.texts import TextLength
from factorspec_sdk.automata.tries import Trie, build_trie
from factorspec_sdk.automata.values import (
    Extreme,
    Magnitude,
    Product,
    Rescaled,
    choose,
    rescaled,
)
from factorspec_sdk.fields.decimals import is_decimal, places_of
from factorspec_sdk.fields.domains import CodeType, Scalar, encode_scalar
from factorspec_sdk.relations.code_types import common_type, constant_code, type_of
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
    roots,
)
from factorspec_sdk.relations.located import Fields
from factorspec_sdk.relations.lower_numbers import fold_value, length_of, operation
from factorspec_sdk.relations.unrolled import LeafPart, ListPart, NullablePart, ObjectPart, Part, UnionPart

Tables = Mapping[str, Sequence[Sequence[Scalar]]]
_NUMBERS = (Linear, Product, Magnitude, Extreme, Quotient, Modulo, TextLength)


@dataclass(frozen=True)
class Lowering(Fields):
    """Conditions on the fields of one object instance. Does not change anything but the store.

    tries: cache of table tries by (table, column order, column types, leaf column), shared by a spec.
    """

    tables: Tables
    tries: dict[object, Trie]

    def over_items(
        self,
        part: ListPart,
        names: Sequence[str],
        exprs: Sequence[Expr],
        make: Callable[[Lowering, int], Condition],
    ) -> list[Condition]:
        """``make(lowering with names bound, number of the first item)`` for each run of items.

        Items have the same shape, so where ``exprs``, all that ``make`` lowers, speak of the bound items
        alone, the condition is made once and moved along.
        """
        width, conditions = len(names), list[Condition]()
        closed = all(root in names for expr in exprs for root in roots(expr))
        made: dict[tuple[tuple[bool, bool], ...], tuple[int, Condition]] = {}
        for at in range(len(part.items) - width + 1):
            optional = tuple(
                (part.item_presence(k) is None, part.more[k] is None) for k in range(at, at + width)
            )
            template = made.get(optional)
            if closed and template is not None and self._own(part, template[0], width, template[1]):
                conditions.append(template[1].moved(part.starts[at] - part.starts[template[0]]))
                continue
            inner = self
            for name, item in zip(names, part.items[at : at + width], strict=True):
                inner = inner.bind(name, item)
            made[optional] = at, make(inner, at)
            if made[optional][1].slots and made[optional][1].movable:
                made[optional][1].relative()
            conditions.append(made[optional][1])
        return conditions

    def _own(self, part: ListPart, at: int, width: int, condition: Condition) -> bool:
        """True if the condition reads only slots of items at.. (with the slots deciding on them)."""
        # equal patterns of ``more`` (the caller's key) make equal distances between the items of a run
        first = part.starts[at] - (part.more[at] is not None)
        last = part.starts[at + width] - (at + width < len(part.items) and part.more[at + width] is not None)
        inside = ((1 << (last - first)) - 1) << first
        return condition.movable and not condition.slots & ~inside

    def type_of(self, expr: Expr, *, calculated: bool = False) -> CodeType | None:
        """What an expression's value is; None where it is not known or mixed. See ``code_types``."""
        return type_of(self, expr, calculated=calculated)

    # -- values -----------------------------------------------------------------------------------

    def value(self, expr: Expr, want: CodeType | None = None) -> ValueNode:
        """The value of an expression; texts of tables are read as ``want`` where that is no text.

        Codes have the places of the expression's own type, or those of ``want`` where that is a decimal (it
        has as many places or more).
        """
        if not is_decimal(want):
            return self._own_value(expr, want)
        own = self.type_of(expr, calculated=True)
        places = places_of(own)
        if places is None:
            return self._own_value(expr, want)
        return rescaled(self.store, self._own_value(expr, own), 10 ** ((places_of(want) or 0) - places))

    def _own_value(self, expr: Expr, want: CodeType | None) -> ValueNode:
        store = self.store
        match expr:
            case Ref():
                return self.reference(expr.ref)
            case Const():
                return store.known(constant_code(expr, want or self.type_of(expr)))
            case Length():
                return length_of(self, expr)
            case Division():
                return operation(self, expr)
            case Lookup():
                keys, trie = self._keyed(expr.table, expr.key, want)
                return lookup(store, trie, keys)
            case Item():
                fields = tuple(node for path in expr.of for node in self.fields(path))
                return item_at(store, self.value(expr.index), fields)
            case Fold() if expr.op in ("sum", "count", "min", "max"):
                return fold_value(self, expr)
            case Op() if expr.op in (*ARITHMETIC, *EXTREMES):
                return operation(self, expr)
            case Op() if expr.op == "if":
                common = self.type_of(expr) if is_decimal(self.type_of(expr)) else want
                yes, no = self.value(expr.args[1], common), self.value(expr.args[2], common)
                return choose(store, self.condition(expr.args[0]), yes, no)
            case _:
                return as_bool(store, self.condition(expr))

    def included(self, expr: Fold, presence: Condition) -> Condition:
        """The item occurs and its filter is true (an unknown filter leaves it out)."""
        if expr.where is None:
            return presence
        chosen = compare(
            self.store, "eq", indicator(self.store, self.condition(expr.where)), self.store.known(1)
        )
        return conjunction(self.store, [presence, chosen])

    # -- conditions -------------------------------------------------------------------------------

    def condition(self, expr: Expr) -> Condition:
        """The truth of an expression."""
        store = self.store
        match expr:
            case Op() if expr.op in ("eq", "ne", "lt", "le", "gt", "ge"):
                return self._comparison(expr.op, expr.args[0], expr.args[1])
            case Op() if expr.op in ("and", "or"):
                parts = [self.condition(arg) for arg in expr.args]
                return conjunction(store, parts) if expr.op == "and" else disjunction(store, parts)
            case Op() if expr.op == "not":
                return negation(store, self.condition(expr.args[0]))
            case Op() if expr.op == "implies":
                return self.implication(self.condition(expr.args[0]), self.condition(expr.args[1]))
            case In():
                return self._one_of(expr)
            case Member():
                keys, trie = self._keyed(expr.table, expr.key, None, lookup_leaf=False)
                return membership(store, trie, keys, expr.allow)
            case Present():
                return self._present(expr)
            case Fold() if expr.op in ("every", "some"):
                return self._fold_condition(expr)
            case _:
                return is_true(store, self.value(expr))

    def _present(self, expr: Present) -> Condition:
        """True where one of the parts is there; of parts in branches of unions at most one is."""
        return disjunction(self.store, [self._there(part, expr.null) for part in self.parts(expr.of)])

    def _there(self, part: Part, with_null: bool) -> Condition:
        store = self.store
        if isinstance(part, NullablePart):
            null = occurs(store, (part.slot, 0)) if with_null else store.false
            return disjunction(store, [self._there(part.inner, with_null), null])
        if isinstance(part, UnionPart):
            return disjunction(store, [self._there(branch, with_null) for branch in part.branches])
        there = occurs(store, part.presence)
        if isinstance(part, LeafPart) and not with_null and part.domain.index(None) is not None:
            is_null = indicator(store, same(store, self.leaf(part), store.known(None)))
            return conjunction(store, [there, compare(store, "eq", is_null, store.known(0))])
        return there

    def implication(self, condition: Condition, consequence: Condition) -> Condition:
        """Three-valued material implication."""
        return disjunction(self.store, [negation(self.store, condition), consequence])

    def compared(self, op: str, left: ValueNode, right: ValueNode) -> Condition:
        """A comparison of two values; equality of numbers that cannot be null is linear."""
        if op not in ("eq", "ne") or (_is_number(left) and _is_number(right)):
            return compare(self.store, op, left, right)
        return same(self.store, left, right, op == "eq")

    def comparison_with(self, op: str, left: ValueNode, left_type: CodeType | None, right: Expr) -> Condition:
        """A comparison of a value of known type with an expression."""
        want = self._meeting(left_type, self.type_of(right), right)
        if is_decimal(want):
            left = rescaled(self.store, left, 10 ** ((places_of(want) or 0) - (places_of(left_type) or 0)))
        return self.compared(op, left, self.value(right, want or left_type))

    def _comparison(self, op: str, left: Expr, right: Expr) -> Condition:
        ordered = op not in ("eq", "ne")  # texts have no order: those of tables are what they spell
        kinds = self.type_of(left, calculated=ordered), self.type_of(right, calculated=ordered)
        want = self._meeting(kinds[0], kinds[1], left, right)
        return self.compared(op, self.value(left, want), self.value(right, want))

    def _meeting(self, left: CodeType | None, right: CodeType | None, *exprs: Expr) -> CodeType | None:
        """The type in which two sides are compared; it says how texts of tables are read."""
        if common_type((left, right)) is None:
            return None
        read = (self.type_of(expr, calculated=True) for expr in exprs)
        return common_type((left, right, *read))

    def _one_of(self, expr: In) -> Condition:
        kind = self.type_of(expr.arg, calculated=any(c.type is not None for c in expr.values))
        subject = self.value(expr.arg, kind)
        constants = [self.store.known(constant_code(c, kind)) for c in expr.values]
        return disjunction(self.store, [self.compared("eq", subject, c) for c in constants])

    def _fold_condition(self, expr: Fold) -> Condition:
        part = self.list_at(expr.over)
        store = self.store
        if part is None:
            return store.unknown
        there = occurs(store, part.presence)

        def one(inner: Lowering, at: int) -> Condition:
            included = inner.included(expr, occurs(store, part.item_presence(at)))
            body = inner.condition(expr.body)
            return self.implication(included, body) if every else conjunction(store, [included, body])

        every = expr.op == "every"
        spoken = [expr.body] if expr.where is None else [expr.body, expr.where]
        parts = self.over_items(part, [expr.bound], spoken, one)
        whole = conjunction(store, parts) if every else disjunction(store, parts)
        if there is store.true:
            return whole
        missing = conjunction(store, [negation(store, there), store.unknown])
        return disjunction(store, [conjunction(store, [there, whole]), missing])

    # -- tables -----------------------------------------------------------------------------------

    def _keyed(
        self, table: str, key: Sequence[Expr], want: CodeType | None, *, lookup_leaf: bool = True
    ) -> tuple[tuple[ValueNode, ...], Trie]:
        types = [self.type_of(part) for part in key]
        nodes = [self.value(part) for part in key]
        return self.keyed(table, nodes, types, want, lookup_leaf=lookup_leaf)

    def keyed(
        self,
        table: str,
        nodes: Sequence[ValueNode],
        types: Sequence[CodeType | None],
        want: CodeType | None = None,
        *,
        lookup_leaf: bool,
    ) -> tuple[tuple[ValueNode, ...], Trie]:
        """Keys in writing order of their last slots, and the table's trie in that column order."""
        order = tuple(sorted(range(len(nodes)), key=lambda i: nodes[i].slots.bit_length()))
        leaf = len(nodes) if lookup_leaf else None
        cache_key = (id(self.tables[table]), order, tuple(types), leaf, want if lookup_leaf else None)
        trie = self.tries.get(cache_key)
        if trie is None:
            columns = [*types, want]
            rows = [
                tuple(encode_scalar(cell, kind) for cell, kind in zip(row, columns, strict=False))
                for row in self.tables[table]
            ]
            trie = self.tries[cache_key] = build_trie(rows, order, leaf)
        return tuple(nodes[i] for i in order), trie


def _is_number(node: ValueNode) -> bool:
    """True if the value, where there is one, is a number and not null."""
    if isinstance(node, SlotValue):
        return not node.nullable
    if isinstance(node, Known):
        return node.number is not None
    if isinstance(node, Rescaled):
        return _is_number(node.inner)
    if isinstance(node, LookupNode):
        return node.lo is not None
    return node.definite or isinstance(node, _NUMBERS)


__all__ = ["Lowering", "ObjectPart", "Tables"]

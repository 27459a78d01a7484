"""Check every relation of a schema: paths, tables, bound names, types. One function per shape of scope.

Holds before: the tree is complete. Holds after: every path leads to finite values (or to a bounded list
where a list is needed), every table is there and as wide as its key, every expression has a type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from factorspec_sdk.relations import (
    AllDifferent,
    AllEqual,
    Cardinality,
    Circuit,
    Count,
    Cumulative,
    Either,
    Element,
    Iff,
    Implies,
    Intension,
    Maximum,
    MemberOf,
    Minimum,
    NoOverlap,
    Ordered,
    PermutationOf,
    Precedence,
    Regular,
    Relation,
    SameLength,
    Slide,
    SubsetOf,
    SubstringOf,
    Sum,
    Table,
)
from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.expressions import roots
from factorspec_sdk.relations.objective import Goal
from factorspec_sdk.wire.branches import first_relation
from factorspec_sdk.wire.check_sequences import check_cardinality, check_precedence, check_regular
from factorspec_sdk.wire.check_tasks import check_circuit, check_cumulative, check_no_overlap
from factorspec_sdk.wire.check_texts import check_substring_of
from factorspec_sdk.wire.check_values import (
    check_all_equal,
    check_extremum,
    check_occurring,
    check_permutation,
    check_same_length,
)
from factorspec_sdk.wire.keywords import VENDOR
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.load import too_large
from factorspec_sdk.wire.places import SHARED_VALUES, TELL_APART, Facts, Scope
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.read_schema import SchemaReader
from factorspec_sdk.wire.schema import ObjectNode, Row, SchemaNode, UnionNode, children
from factorspec_sdk.wire.type_sets import DECIMAL
from factorspec_sdk.wire.types import (
    INT,
    NUMBER,
    ORDERED,
    calculable,
    check_comparison,
    check_key,
    condition,
    const_type,
    expect,
    fields_type,
    ref_type,
    table_rows,
    type_of,
)

Tables = Mapping[str, tuple[Row, ...]]


class RelationChecker:
    """Visits every object once per set of tables around it."""

    def __init__(
        self, reader: SchemaReader, overlapping: set[int], limits: Limits, problems: Problems
    ) -> None:
        self.facts = Facts(reader.broken, overlapping, limits.related_items)
        self._limits = limits
        self._problems = problems
        self._seen: set[tuple[int, tuple[int, ...]]] = set()

    def visit(self, node: SchemaNode, tables: Tables, holders: tuple[int, ...] = ()) -> None:
        """Check the relations below a node. ``holders``: the objects around it that hold tables."""
        if (id(node), holders) in self._seen:
            return
        self._seen.add((id(node), holders))
        if len(self._seen) > self._limits.nodes:
            too_large(node.pointer, "too many combinations of tables around shared schemas")
        if isinstance(node, ObjectNode):
            if node.tables:
                tables, holders = {**tables, **node.tables}, (*holders, id(node))
            scope = Scope(node, tables, self._problems, self.facts)
            for relation, place in zip(node.relations, node.relation_pointers, strict=True):
                check_relation(relation, scope, place)
        elif isinstance(node, UnionNode):
            self._union(node)
        for inner in children(node):
            self.visit(inner, tables, holders)

    def _union(self, node: UnionNode) -> None:
        if id(node) in self.facts.overlapping:
            place = next(filter(None, (first_relation(branch, set()) for branch in node.branches)), None)
            if place is not None:
                message = (
                    f"this relation stands in a branch of the union at {node.pointer!r}, {SHARED_VALUES}"
                )
                self._problems.refuse(place, message, hint=TELL_APART)

    def check_objective(self, root: ObjectNode, objective: tuple[Goal, ...]) -> None:
        """Check the root's objective: each level is an expression over numbers, dates or times."""
        scope = Scope(root, root.tables, self._problems, self.facts)
        for at, goal in enumerate(objective):
            place = pointer("", VENDOR, "objective", at, "expr")
            found = type_of(goal.expr, scope, place)
            expect(found, ORDERED, f"{goal.goal} takes an integer, a date or a time", scope, place)
            if found & DECIMAL:
                hint = "count its smallest units: the quotient by 0.01 counts cents"
                self._problems.refuse(place, f"{goal.goal} of a decimal is not enforced", hint=hint)
            elif len(found) > 1:
                self._problems.add(place, f"{goal.goal} takes values of one type")
            if not roots(goal.expr):
                self._problems.add(place, f"{goal.goal} names no field", hint="leave this level out")


def check_relation(relation: Relation, scope: Scope, place: str) -> None:
    """Check one relation; problems are noted."""
    _CHECKS[type(relation)](relation, scope, place)


def _all_different(relation: AllDifferent, scope: Scope, place: str) -> None:
    fields_type(relation.over, scope, pointer(place, "over"))


def _ordered(relation: Ordered, scope: Scope, place: str) -> None:
    place = pointer(place, "over")
    found = fields_type(relation.over, scope, place)
    expect(found, ORDERED, "ordered takes numbers, dates or times", scope, place)
    if len(found) > 1:
        scope.problems.add(place, "all fields of ordered have one type")


def _element(relation: Element, scope: Scope, place: str) -> None:
    index = type_of(relation.index, scope, pointer(place, "index"))
    expect(index, INT, "a position is an integer", scope, pointer(place, "index"))
    over = fields_type(relation.over, scope, pointer(place, "over"))
    value = type_of(relation.value, scope, pointer(place, "value"))
    check_comparison(relation.op, over, value, scope, pointer(place, "value"))


def _intension(relation: Intension, scope: Scope, place: str) -> None:
    condition(relation.expr, scope, pointer(place, "expr"))


def _conditions(relation: Either | Iff, scope: Scope, place: str) -> None:
    for at, part in enumerate(relation.conditions):
        condition(part, scope, pointer(place, "conditions", at))


def _implies(relation: Implies, scope: Scope, place: str) -> None:
    condition(relation.condition, scope, pointer(place, "if"))
    condition(relation.consequence, scope, pointer(place, "then"))


def _table(relation: Table, scope: Scope, place: str) -> None:
    over = pointer(place, "over")
    found = [ref_type(path, scope, f"{over}/{at}") for at, path in enumerate(relation.over)]
    rows = table_rows(relation.table, len(relation.over), scope, place)
    check_key(found, rows, scope, over)


def _sum(relation: Sum, scope: Scope, place: str) -> None:
    over = pointer(place, "over")
    expect(fields_type(relation.over, scope, over, scales=True), NUMBER, "sum adds numbers", scope, over)
    if relation.weights is not None and len(relation.weights) != len(relation.over):
        message = f"{len(relation.weights)} weights for {len(relation.over)} paths"
        scope.problems.add(pointer(place, "weights"), message, hint="write one weight per path")
    value = pointer(place, "value")
    found = calculable(type_of(relation.value, scope, value))
    expect(found, NUMBER, "a sum is compared with a number", scope, value)


def _count(relation: Count, scope: Scope, place: str) -> None:
    over = fields_type(relation.over, scope, pointer(place, "over"))
    for at, const in enumerate(relation.values):
        below = pointer(place, "values", at)
        check_comparison("eq", over, const_type(const, scope, below), scope, below)
    value = pointer(place, "value")
    expect(type_of(relation.value, scope, value), INT, "a count is compared with an integer", scope, value)


def _slide(relation: Slide, scope: Scope, place: str) -> None:
    items = scope.items(relation.over, pointer(place, "over"))
    if items is None:
        return
    names: dict[str, str] = {}
    for at, name in enumerate(relation.binders):
        below = pointer(place, "as", at)
        if not name.isidentifier():
            scope.problems.add(below, "a bound name is an identifier", name)
        if name in names:
            scope.problems.add(below, "this name is bound already", name, "choose another name")
        names.setdefault(name, below)
    condition(relation.expr, scope.bind(names, items.item), pointer(place, "expr"))


#: one check per kind (``tests/wire/test_problems.py`` holds them against the union)
_CHECKS: Mapping[type[RelationBase], Callable[[Any, Scope, str], None]] = {
    AllDifferent: _all_different,
    AllEqual: check_all_equal,
    Cardinality: check_cardinality,
    Circuit: check_circuit,
    Count: _count,
    Cumulative: check_cumulative,
    Either: _conditions,
    Element: _element,
    Iff: _conditions,
    Implies: _implies,
    Intension: _intension,
    Maximum: check_extremum,
    MemberOf: check_occurring,
    Minimum: check_extremum,
    NoOverlap: check_no_overlap,
    Ordered: _ordered,
    PermutationOf: check_permutation,
    Precedence: check_precedence,
    Regular: check_regular,
    SameLength: check_same_length,
    Slide: _slide,
    SubstringOf: check_substring_of,
    SubsetOf: check_occurring,
    Sum: _sum,
    Table: _table,
}

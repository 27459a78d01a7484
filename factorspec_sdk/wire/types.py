"""Static types of expressions: what can never hold, or would silently be unknown, is a problem.

Types and what goes with what: ``type_sets``, ``number_types``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from factorspec_sdk.fields.decimals import decimal_type, is_decimal, places_of
from factorspec_sdk.fields.domains import (
    MOMENTS,
    CodeType,
    Domain,
    EnumDomain,
    Scalar,
    canonical_code,
    iso_to_code,
    moment_kind,
    spelled_type,
    typed_key,
)
from factorspec_sdk.relations.expressions import (
    ARITY,
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
from factorspec_sdk.wire.number_types import arithmetic_type, check_divisor, extreme_type, number_type
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.schema import Row
from factorspec_sdk.wire.type_sets import (
    ANY,
    BOOL,
    COMPOUND,
    DECIMAL,
    INT,
    MOMENT,
    NUMBER,
    ORDERED,
    Type,
    calculable,
    check_comparison,
    expect,
    may_equal,
    names_of,
    one_scale,
)

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_LOGIC = frozenset({"and", "or", "not", "implies"})
_CODE_TYPES: dict[type, CodeType] = {bool: "bool", int: "int", str: "text"}
_EXAMPLES = {"date": "2026-05-01", "time": "09:30:00", "datetime": "2026-05-01T09:30:00", "decimal": "12.30"}


def type_of_domain(domain: Domain) -> Type:
    """Types of a field's values."""
    if domain.code_type is not None:
        return frozenset({domain.code_type})
    assert isinstance(domain, EnumDomain)
    return _types_of(domain.values)


def ref_type(path: str, scope: Scope, place: str) -> Type:
    """Types of the single value that a path names."""
    domains = scope.value(path, place)
    found = ANY.union(*(COMPOUND if domain is None else type_of_domain(domain) for domain in domains))
    one_scale(found, scope, place)
    return found


def type_of(expr: Expr, scope: Scope, place: str) -> Type:
    """Type of an expression; what is wrong in it is noted."""
    match expr:
        case Ref():
            return ref_type(expr.ref, scope, pointer(place, "ref"))
        case Const():
            return const_type(expr, scope, place)
        case Op():
            return _op(expr, scope, place)
        case In():
            return _in(expr, scope, place)
        case Member() | Lookup():
            return _member(expr, scope, place) if isinstance(expr, Member) else _lookup(expr, scope, place)
        case Item():
            return _item(expr, scope, place)
        case Fold():
            return _fold(expr, scope, place)
        case Length() | Present():
            scope.asked(expr.op, expr.of, pointer(place, "of"))
            return INT if isinstance(expr, Length) else BOOL
        case Division():
            return _division(expr, scope, pointer(place, "args"))
        case _:
            assert_never(expr)


def condition(expr: Expr, scope: Scope, place: str) -> None:
    """Check that an expression is a condition."""
    found = type_of(expr, scope, place)
    if isinstance(expr, Const) and not isinstance(expr.const, bool):
        scope.problems.add(place, "a condition is needed, this is a constant", expr.const)
    else:
        expect(found, BOOL, "a condition is needed", scope, place)


def field_type(path: str, scope: Scope, place: str) -> Type:
    """Types of all fields that a path names."""
    return ANY.union(*map(type_of_domain, scope.fields(path, place)))


def fields_type(paths: Sequence[str], scope: Scope, place: str, *, scales: bool = False) -> Type:
    """Types of all fields that some paths name; ``scales``: decimals of different places go together."""
    found: Type = ANY
    for at, path in enumerate(paths):
        found |= field_type(path, scope, f"{place}/{at}")
    if not scales:
        one_scale(found, scope, place)
    return found


def const_type(const: Const, scope: Scope, place: str) -> Type:
    """Type of a constant; a date or time must be written in its ISO form."""
    value = const.const
    if const.type is None:
        return _types_of((value,))
    if value is None:
        return ANY
    if const.type == "decimal":
        kind = spelled_type(value) if isinstance(value, str) else None
        good = is_decimal(kind)
    else:
        kind = moment_kind(const.type, value)
        good = canonical_code(kind, value) is not None
    if not good:
        name = "decimal" if const.type == "decimal" else f"ISO {const.type}"
        hint = f"write it like {_EXAMPLES[const.type]}"
        scope.problems.add(pointer(place, "const"), f"this is no {name}", value, hint)
        return ANY if kind is None else frozenset({kind})
    assert kind is not None
    return frozenset({kind})


def table_rows(name: str, width: int, scope: Scope, place: str, key: str = "table") -> tuple[Row, ...]:
    """Rows of a table; an unknown name or another width is noted below ``key``, and gives no rows."""
    below = pointer(place, key)
    if name not in scope.tables:
        scope.problems.add(
            below, "there is no such table", name, scope.problems.did_you_mean(name, scope.tables)
        )
        return ()
    rows = scope.tables[name]
    if rows and len(rows[0]) != width:
        scope.problems.add(below, f"rows of {name!r} have {len(rows[0])} cells, {width} are needed")
        return ()
    return rows


def check_key(key: Sequence[Type], rows: tuple[Row, ...], scope: Scope, place: str) -> None:
    """Note a column whose cells can never equal the key's part."""
    for column, part in enumerate(key):
        cells = column_type(rows, column, part, scope)
        if part and cells and not may_equal(part, cells):
            names = f"{names_of(part)} never equals a cell of column {column}: {names_of(cells)}"
            scope.problems.add(f"{place}/{column}", names)


def _types_of(values: Sequence[Scalar]) -> Type:
    kinds = set(map(type, values))
    return frozenset(name for kind, name in _CODE_TYPES.items() if kind in kinds)


def column_type(rows: tuple[Row, ...], column: int, wanted: Type, scope: Scope) -> Type:
    """Types of the cells of a column. O(rows) once per table, column and wanted type."""
    place = (id(rows), column, wanted & (MOMENT | DECIMAL))
    if place not in scope.facts.columns:
        cells = [row[column] for row in rows if column < len(row)]
        scope.facts.columns[place] = _cells_type(cells, wanted)
    return scope.facts.columns[place]


def _cells_type(cells: Sequence[Scalar], wanted: Type) -> Type:
    """Like ``_types_of``, but texts that all spell dates, times or decimals compare with such values."""
    found = _types_of(cells)
    texts = [cell for cell in cells if isinstance(cell, str)]
    if not texts:
        return found
    for kind in MOMENTS:
        if kind in wanted and all(iso_to_code(kind, text) is not None for text in texts):
            found |= {kind}
    if wanted & DECIMAL:
        spelled = [spelled_type(text) for text in texts]
        if all(is_decimal(kind) for kind in spelled):
            found |= {decimal_type(max(places_of(kind) or 0 for kind in spelled))}
    return found


def _op(expr: Op, scope: Scope, place: str) -> Type:
    args = pointer(place, "args")
    least, most = ARITY[expr.op]
    if len(expr.args) < least or (most is not None and len(expr.args) > most):
        wanted = f"{least}" if most == least else f"at least {least}"
        scope.problems.add(args, f"{expr.op} takes {wanted} arguments, here are {len(expr.args)}")
        return ANY
    if expr.op in _LOGIC:
        for at, arg in enumerate(expr.args):
            condition(arg, scope, f"{args}/{at}")
        return BOOL
    if expr.op == "if":
        condition(expr.args[0], scope, f"{args}/0")
        return _branches(
            [type_of(arg, scope, f"{args}/{at}") for at, arg in enumerate(expr.args) if at], scope, args
        )
    types = [type_of(arg, scope, f"{args}/{at}") for at, arg in enumerate(expr.args)]
    if expr.op in EXTREMES:
        return extreme_type(expr, types, scope, args)
    if expr.op in _COMPARISONS:
        check_comparison(expr.op, types[0], types[1], scope, place)
        return BOOL
    return arithmetic_type(expr, types, scope, args)


def _branches(types: Sequence[Type], scope: Scope, place: str) -> Type:
    left, right = types
    if left and right and not left & right:
        scope.problems.add(
            place, f"the branches are {names_of(left)} and {names_of(right)}", hint="use one type"
        )
    return left | right


def _division(expr: Division, scope: Scope, place: str) -> Type:
    types = [calculable(type_of(arg, scope, f"{place}/{at}")) for at, arg in enumerate(expr.args)]
    for at, (arg, found) in enumerate(zip(expr.args, types, strict=True)):
        if isinstance(arg, Const) and arg.const is None:
            scope.problems.add(f"{place}/{at}", f"{expr.op} of null is always unknown")
        expect(found, NUMBER, f"{expr.op} takes numbers", scope, f"{place}/{at}")
    check_divisor(expr.args[1], scope, f"{place}/1")
    return INT if expr.op == "quotient" else number_type(expr.op, types[1:], scope, place)


def _in(expr: In, scope: Scope, place: str) -> Type:
    subject = type_of(expr.arg, scope, pointer(place, "arg"))
    for at, const in enumerate(expr.values):
        below = pointer(place, "values", at)
        check_comparison("eq", subject, const_type(const, scope, below), scope, below)
    return BOOL


def _key_types(key: Sequence[Expr], scope: Scope, place: str) -> list[Type]:
    return [type_of(part, scope, pointer(place, "key", at)) for at, part in enumerate(key)]


def _item(expr: Item, scope: Scope, place: str) -> Type:
    index = type_of(expr.index, scope, pointer(place, "index"))
    expect(index, INT, "a position is an integer", scope, pointer(place, "index"))
    return fields_type(expr.of, scope, pointer(place, "of"))


def _member(expr: Member, scope: Scope, place: str) -> Type:
    rows = table_rows(expr.table, len(expr.key), scope, place)
    check_key(_key_types(expr.key, scope, place), rows, scope, pointer(place, "key"))
    return BOOL


def _lookup(expr: Lookup, scope: Scope, place: str) -> Type:
    key = _key_types(expr.key, scope, place)
    rows = table_rows(expr.table, len(expr.key) + 1, scope, place)
    check_key(key, rows, scope, pointer(place, "key"))
    twice = key_twice(rows, scope)
    if twice is not None:
        message = f"a lookup needs one row per key; {expr.table!r} has two"
        scope.problems.add(pointer(place, "table"), message, twice)
    return column_type(rows, -1, MOMENT | DECIMAL, scope)


def key_twice(rows: tuple[Row, ...], scope: Scope) -> Row | None:
    """The first columns that two rows share. O(rows) once per table."""
    place = id(rows)
    if place not in scope.facts.keys_twice:
        seen: dict[tuple[tuple[str, Scalar], ...], int] = {}
        at = (i for i, row in enumerate(rows) if seen.setdefault(tuple(map(typed_key, row[:-1])), i) != i)
        first = next(at, None)
        scope.facts.keys_twice[place] = None if first is None else rows[first][:-1]
    return scope.facts.keys_twice[place]


def _fold(expr: Fold, scope: Scope, place: str) -> Type:
    items = scope.items(expr.over, pointer(place, "in"))
    if items is None:
        return ANY
    inner = scope.bind({expr.bound: pointer(place, "as")}, items.item)
    if expr.where is not None:
        condition(expr.where, inner, pointer(place, "where"))
    body = pointer(place, "body")
    if expr.op in ("every", "some", "count"):
        condition(expr.body, inner, body)
        return INT if expr.op == "count" else BOOL
    found = calculable(type_of(expr.body, inner, body))
    if expr.op == "sum":
        expect(found, NUMBER, "sum adds numbers", inner, body)
        return number_type("sum", [found], inner, body)
    expect(found, ORDERED, f"{expr.op} takes numbers, dates or times", inner, body)
    return found


__all__ = [
    "ANY",
    "BOOL",
    "COMPOUND",
    "INT",
    "NUMBER",
    "ORDERED",
    "Type",
    "calculable",
    "check_comparison",
    "check_key",
    "column_type",
    "condition",
    "const_type",
    "expect",
    "fields_type",
    "ref_type",
    "table_rows",
    "type_of",
    "type_of_domain",
]

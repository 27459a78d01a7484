"""Static types of expressions: what can never hold, or would silently be unknown, is a problem.

A type is the set of code types that a value may have, null apart: ``{"int"}``, ``{"date"}``, both for
mixed values. The empty set is null, or a value whose problems are noted already; it goes with everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from factorspec_sdk.fields.domains import (
    CodeType,
    Domain,
    EnumDomain,
    Scalar,
    code_to_iso,
    iso_to_code,
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
from factorspec_sdk.wire.places import Kind, Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.schema import Row

Type = frozenset[Kind]

ANY: Type = frozenset()
INT: Type = frozenset({"int"})
BOOL: Type = frozenset({"bool"})
DATE: Type = frozenset({"date"})
TEXT: Type = frozenset({"text"})
TIME: Type = frozenset({"time"})
COMPOUND: Type = frozenset({"compound"})
MOMENT: Type = DATE | TIME
ORDERED: Type = INT | MOMENT
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_EQUALITIES = frozenset({"eq", "ne"})
_LOGIC = frozenset({"and", "or", "not", "implies"})
_MOMENTS: tuple[Literal["date", "time"], ...] = ("date", "time")
_CODE_TYPES: dict[type, CodeType] = {bool: "bool", int: "int", str: "text"}
_NAMES = {
    "int": "an integer", "date": "a date", "time": "a time", "text": "a text", "bool": "a boolean",
    "compound": "no single value",
}  # fmt: skip
_DATE_HINT = 'write {"const": "2026-05-01", "type": "date"}'
_TIME_HINT = 'write {"const": "09:30:00", "type": "time"}'


def type_of_domain(domain: Domain) -> Type:
    """Types of a field's values."""
    if domain.code_type is not None:
        return frozenset({domain.code_type})
    assert isinstance(domain, EnumDomain)
    return _types_of(domain.values)


def ref_type(path: str, scope: Scope, place: str) -> Type:
    """Types of the single value that a path names."""
    domains = scope.value(path, place)
    return ANY.union(*(COMPOUND if domain is None else type_of_domain(domain) for domain in domains))


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


def expect(found: Type, wanted: Type, message: str, scope: Scope, place: str) -> None:
    """Note that a value has another type than is needed. ``found`` must lie within ``wanted``."""
    if found - wanted:
        scope.problems.add(place, f"{message}, this is {_names(found)}")


def field_type(path: str, scope: Scope, place: str) -> Type:
    """Types of all fields that a path names."""
    return ANY.union(*map(type_of_domain, scope.fields(path, place)))


def fields_type(paths: Sequence[str], scope: Scope, place: str) -> Type:
    """Types of all fields that some paths name."""
    found: Type = ANY
    for at, path in enumerate(paths):
        found |= field_type(path, scope, f"{place}/{at}")
    return found


def check_comparison(op: str, left: Type, right: Type, scope: Scope, place: str) -> None:
    """Note a comparison that is never definite, or never true."""
    if op not in _EQUALITIES:
        for side in (left, right):
            if side - ORDERED - TEXT or (side == TEXT and not (left | right) & MOMENT):
                scope.problems.add(place, f"{op} compares integers, dates or times, this is {_names(side)}")
                return
    if left and right and not left & right:
        both = left | right
        hint = _DATE_HINT if both == DATE | TEXT else _TIME_HINT if both == TIME | TEXT else None
        scope.problems.add(place, f"{_names(left)} cannot be compared with {_names(right)}", hint=hint)


def const_type(const: Const, scope: Scope, place: str) -> Type:
    """Type of a constant; a date or time must be written in its ISO form."""
    value = const.const
    if const.type is None:
        return _types_of((value,))
    if value is None:
        return ANY
    code = iso_to_code(const.type, value) if isinstance(value, str) else None
    if code is None or code_to_iso(const.type, code) != value:
        hint = "write it like 2026-05-01" if const.type == "date" else "write it like 09:30:00"
        scope.problems.add(pointer(place, "const"), f"this is no ISO {const.type}", value, hint)
    return frozenset({const.type})


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
        cells = _column_type(rows, column, part, scope)
        if part and cells and not part & cells:
            names = f"{_names(part)} never equals a cell of column {column}: {_names(cells)}"
            scope.problems.add(f"{place}/{column}", names)


def _types_of(values: Sequence[Scalar]) -> Type:
    kinds = set(map(type, values))
    return frozenset(name for kind, name in _CODE_TYPES.items() if kind in kinds)


def _column_type(rows: tuple[Row, ...], column: int, wanted: Type, scope: Scope) -> Type:
    """Types of the cells of a column. O(rows) once per table, column and wanted type."""
    place = (id(rows), column, wanted & MOMENT)
    if place not in scope.facts.columns:
        cells = [row[column] for row in rows if column < len(row)]
        scope.facts.columns[place] = _cells_type(cells, wanted)
    return scope.facts.columns[place]


def _cells_type(cells: Sequence[Scalar], wanted: Type = MOMENT) -> Type:
    """Like ``_types_of``, but texts that are all dates (or times) may be compared with dates (times)."""
    found = _types_of(cells)
    if "text" in found:
        for kind in _MOMENTS:
            if kind in wanted and all(
                not isinstance(c, str) or iso_to_code(kind, c) is not None for c in cells
            ):
                found |= {kind}
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
        return _extreme(expr, types, scope, args)
    if expr.op in _COMPARISONS:
        check_comparison(expr.op, types[0], types[1], scope, place)
        return BOOL
    return _arithmetic(expr, types, scope, args)


def _branches(types: Sequence[Type], scope: Scope, place: str) -> Type:
    left, right = types
    if left and right and not left & right:
        scope.problems.add(place, f"the branches are {_names(left)} and {_names(right)}", hint="use one type")
    return left | right


def _arithmetic(expr: Op, types: Sequence[Type], scope: Scope, place: str) -> Type:
    """Integers; a date (or time) plus or minus an integer; the difference of two dates (or times)."""
    before = len(scope.problems)
    if expr.op == "mod":
        _check_divisor(expr.args[1], scope, f"{place}/1")
    wanted = ORDERED if expr.op in ("add", "sub") else INT
    for at, (arg, found) in enumerate(zip(expr.args, types, strict=True)):
        needed = "integers, dates or times" if wanted is ORDERED else "integers"
        if isinstance(arg, Const) and arg.const is None:
            scope.problems.add(f"{place}/{at}", f"{expr.op} of null is always unknown")
        else:
            expect(found, wanted, f"{expr.op} takes {needed}", scope, f"{place}/{at}")
    if len(scope.problems) > before:
        return ANY
    moments = [found for found in types if found and found != INT]
    if not moments:
        return INT
    if expr.op == "sub" and types[0] == types[1]:
        return INT
    if len(moments) > 1 or (expr.op == "sub" and types[0] == INT) or len(moments[0]) > 1:
        shown = " and ".join(_names(found) for found in types)
        hint = "a date or time takes integers (days, seconds); sub takes two of one type"
        scope.problems.add(place, f"{expr.op} cannot take {shown}", hint=hint)
        return ANY
    return moments[0]


def _extreme(expr: Op, types: Sequence[Type], scope: Scope, place: str) -> Type:
    for at, found in enumerate(types):
        expect(found, ORDERED, f"{expr.op} takes integers, dates or times", scope, f"{place}/{at}")
    known = {found for found in types if found}
    if len(known) > 1:
        scope.problems.add(place, f"{expr.op} takes values of one type", hint="here are several")
    return known.pop() if known else ANY


def _division(expr: Division, scope: Scope, place: str) -> Type:
    for at, arg in enumerate(expr.args):
        found = type_of(arg, scope, f"{place}/{at}")
        if isinstance(arg, Const) and arg.const is None:
            scope.problems.add(f"{place}/{at}", f"{expr.op} of null is always unknown")
        expect(found, INT, f"{expr.op} takes integers", scope, f"{place}/{at}")
    _check_divisor(expr.args[1], scope, f"{place}/1")
    return INT


def _check_divisor(divisor: Expr, scope: Scope, place: str) -> None:
    if isinstance(divisor, Const) and divisor.const == 0:
        scope.problems.add(place, "a division by 0 never has a value", divisor.const)


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
    return _column_type(rows, -1, MOMENT, scope)


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
    found = type_of(expr.body, inner, body)
    if expr.op == "sum":
        expect(found, INT, "sum adds integers", inner, body)
        return INT
    expect(found, ORDERED, f"{expr.op} takes integers, dates or times", inner, body)
    return found


def _names(found: Type) -> str:
    return " or ".join(_NAMES[name] for name in sorted(found)) or "null"

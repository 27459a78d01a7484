"""Expressions over the fields of a record: the wire form of every condition.

An expression is a tree of these (closed union ``Expr``), each a frozen Pydantic model whose fields
are its JSON::

    {"ref": "$.total"}                                      a field's value
    {"const": 3}   {"const": "2026-05-01", "type": "date"}  a constant; durations are integers
    {"op": "sub", "args": [e, e]}                           arithmetic, comparison, logic
    {"op": "in", "arg": e, "values": [..]}                  one of some constants
    {"op": "member", "table": t, "key": [e..], "allow": b}  a row of a table (or none, allow false)
    {"op": "lookup", "table": t, "key": [e..]}              last column of the row with that key
    {"op": "item", "of": [ref..], "index": e}               element of a list of fields, by position
    {"op": "every", "in": ref, "as": s, "body": e}          fold over the items of a list
    {"op": "len", "of": ref}                                number of items, or of characters of a text
    {"op": "present", "of": ref}                            the field is there, and not null
    {"op": "quotient", "args": [e, e], "mode": m}           quotient rounded to an integer
    {"op": "rounded", "args": [e, unit], "mode": m}         the multiple of a unit that rounding gives

Meaning (``relations/evaluate.py`` is the definition, compiled residuals are tested against it):

* Codes are compared: integers; dates as days, times as seconds. So dates and times subtract to integers.
* Decimals are exact numbers: they compare and calculate with integers and with decimals of other places.
* Three truth values, as in SQL's CHECK: arithmetic or an order comparison on null or on an absent
  field is *unknown*; a relation is broken only if it is false. Equality with null is definite.
* A ``lookup`` without a row, an ``item`` index out of range, a division by 0: the comparison around it is
  false, whatever it compares.
* ``least`` and ``most`` leave null and absent values out and are unknown where nothing is left, as the folds
  ``min`` and ``max``. ``mod`` has the sign of its divisor, as in Python.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.fields.rounding import Rounding

ScalarJson = Annotated[Scalar, Field(union_mode="left_to_right")]
Comparison = Literal["eq", "ne", "lt", "le", "gt", "ge"]
OpName = Literal[
    "add", "sub", "mul", "mod", "neg", "abs", "least", "most",
    "eq", "ne", "lt", "le", "gt", "ge",
    "and", "or", "not", "implies", "if",
]  # fmt: skip
FoldName = Literal["every", "some", "sum", "count", "min", "max"]

#: operators on numbers
ARITHMETIC = ("add", "sub", "mul", "mod", "neg", "abs")
#: the smallest and the largest of some values
EXTREMES = ("least", "most")
#: number of arguments of each operator: (least, most or None)
ARITY: dict[str, tuple[int, int | None]] = {
    "add": (1, None), "sub": (2, 2), "mul": (2, 2), "mod": (2, 2), "neg": (1, 1), "abs": (1, 1),
    "least": (1, None), "most": (1, None),
    "eq": (2, 2), "ne": (2, 2), "lt": (2, 2), "le": (2, 2), "gt": (2, 2), "ge": (2, 2),
    "and": (1, None), "or": (1, None), "not": (1, 1), "implies": (2, 2), "if": (3, 3),
}  # fmt: skip


class WireModel(BaseModel):
    """Frozen, and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=True)


class Ref(WireModel):
    """The value of one field: a path below ``$`` or below a binder's name."""

    ref: str


class Const(WireModel):
    """A JSON scalar; ``type`` says that a text is a date, a time, both ("datetime") or a decimal."""

    const: bool | int | str | None
    type: Literal["date", "time", "datetime", "decimal"] | None = None


class Op(WireModel):
    """Arithmetic, comparison or logic on ``args``."""

    op: OpName
    args: tuple[Expr, ...]


class Division(WireModel):
    """``args[0] / args[1]`` rounded to an integer (``quotient``), or that times ``args[1]`` (``rounded``)."""

    op: Literal["quotient", "rounded"]
    args: Annotated[tuple[Expr, ...], Field(min_length=2, max_length=2)]
    mode: Rounding


class In(WireModel):
    """True where ``arg`` is one of ``values``."""

    op: Literal["in"]
    arg: Expr
    values: tuple[Const, ...]


class Member(WireModel):
    """True where the key is a row of the table (``allow``), or is none (not ``allow``)."""

    op: Literal["member"]
    table: str
    key: Annotated[tuple[Expr, ...], Field(min_length=1)]
    allow: bool = True


class Lookup(WireModel):
    """The last column of the table's row whose other columns are ``key``."""

    op: Literal["lookup"]
    table: str
    key: Annotated[tuple[Expr, ...], Field(min_length=1)]


class Item(WireModel):
    """The value at position ``index`` (from 0) among the fields that ``of`` names, in order."""

    op: Literal["item"]
    of: Annotated[tuple[str, ...], Field(min_length=1)]
    index: Expr


class Fold(WireModel):
    """``body`` over all items of a list, each bound to ``as`` in turn; only those where ``where`` holds."""

    op: FoldName
    over: Annotated[str, Field(alias="in")]
    bound: Annotated[str, Field(alias="as", pattern=r"^[A-Za-z_]\w*$")]
    body: Expr
    where: Expr | None = None


class Length(WireModel):
    """Number of items of a list, or of characters (code points) of a text."""

    op: Literal["len"]
    of: str


class Present(WireModel):
    """True where the field is written; with ``null``, null counts too. Never unknown."""

    op: Literal["present"]
    of: str
    null: bool = False


def _tag(value: object) -> str | None:
    if isinstance(value, BaseModel):
        return _CLASS_TAGS.get(type(value).__name__)
    if not isinstance(value, dict):
        return None
    if "ref" in value:
        return "ref"
    if "const" in value:
        return "const"
    op = value.get("op")
    return _OP_TAGS.get(op, "op") if isinstance(op, str) else None


_CLASS_TAGS = {
    "Ref": "ref", "Const": "const", "Op": "op", "In": "in", "Member": "member",
    "Lookup": "lookup", "Item": "item", "Fold": "fold", "Length": "len", "Present": "present",
    "Division": "division",
}  # fmt: skip
_OP_TAGS = {
    "in": "in", "member": "member", "lookup": "lookup", "item": "item", "len": "len",
    "present": "present", "quotient": "division", "rounded": "division",
    "every": "fold", "some": "fold", "sum": "fold", "count": "fold", "min": "fold", "max": "fold",
}  # fmt: skip

Expr = Annotated[
    Annotated[Ref, Tag("ref")]
    | Annotated[Const, Tag("const")]
    | Annotated[Op, Tag("op")]
    | Annotated[In, Tag("in")]
    | Annotated[Member, Tag("member")]
    | Annotated[Lookup, Tag("lookup")]
    | Annotated[Item, Tag("item")]
    | Annotated[Fold, Tag("fold")]
    | Annotated[Length, Tag("len")]
    | Annotated[Present, Tag("present")]
    | Annotated[Division, Tag("division")],
    Discriminator(
        _tag,
        custom_error_type="factorspec_expression",
        custom_error_message="not an expression: needs 'ref', 'const' or a known 'op'",
    ),
]

for _model in (Op, Division, In, Member, Lookup, Item, Fold):
    _model.model_rebuild()


def roots(expr: Expr) -> set[str]:
    """Where an expression's paths begin: "$" and binders from outside; its own binders are left out."""
    match expr:
        case Ref():
            return {_root(expr.ref)}
        case Const():
            return set()
        case Length() | Present():
            return {_root(expr.of)}
        case Op() | Division():
            return set().union(*(roots(arg) for arg in expr.args))
        case In():
            return roots(expr.arg)
        case Member() | Lookup():
            return set().union(*(roots(part) for part in expr.key))
        case Item():
            return roots(expr.index) | {_root(path) for path in expr.of}
        case Fold():
            inner = roots(expr.body) | (roots(expr.where) if expr.where is not None else set())
            return {_root(expr.over)} | (inner - {expr.bound})


def _root(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]

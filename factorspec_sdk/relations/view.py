"""A concrete record as relations see it: paths resolved to values, values turned into codes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TypeGuard

from factorspec_sdk.fields.decimals import MAX_PLACES, decimal_type, exact, exact_decimal, is_decimal
from factorspec_sdk.fields.domains import CodeType, Scalar, datetime_code, encode_scalar, typed_key
from factorspec_sdk.fields.paths import EVERY, FieldPath, Segment, parse_path

Tables = Mapping[str, Sequence[Sequence[Scalar]]]


class Special(Enum):
    """Results that are no JSON value.

    ABSENT: the field is not there (below a null object, beyond a list's end).
    UNKNOWN: arithmetic on null or on an absent field.
    MISSING: a lookup without a row, or a position outside a list.
    COMPOUND: an object or a list; it equals no scalar.
    """

    ABSENT = "absent"
    UNKNOWN = "unknown"
    MISSING = "missing"
    COMPOUND = "compound"


Exact = Scalar | Fraction


@dataclass(frozen=True, slots=True)
class Quantity:
    """A code and what it stands for; ``type`` is None for null, mixed and special ones.

    A decimal's code is the number itself, whatever its places: an integer where it is whole, else a fraction.
    """

    code: Exact | Special
    type: CodeType | None = None

    @property
    def key(self) -> tuple[str, Exact] | None:
        """What it is compared by; None for null and for what is no scalar."""
        return None if self.code is None or isinstance(self.code, Special) else exact_key(self.code)

    @property
    def number(self) -> int | Fraction | None:
        """The code if it is a number, a date or a time."""
        code = self.code
        return code if isinstance(code, int | Fraction) and not isinstance(code, bool) else None

    def as_type(self, other: Quantity) -> Exact | Special:
        """The code, read as a date, time or decimal where ``other`` is one and this is a text."""
        if self.type == "text" and isinstance(self.code, str):
            return read_as(self.code, other.type)
        return self.code


ABSENT = Quantity(Special.ABSENT)


def quantity(value: object) -> Quantity:
    """Code of a Python or JSON scalar: enum members by value, dates as days, times as seconds."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, datetime.datetime):
        named = value.tzinfo is not None
        code = Special.UNKNOWN if value.microsecond else datetime_code(value)
        return Quantity(code, "instant" if named else "datetime")
    if isinstance(value, datetime.date):
        return Quantity(value.toordinal(), "date")
    if isinstance(value, datetime.time):
        return Quantity(value.hour * 3600 + value.minute * 60 + value.second, "time")
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    kind = _SCALARS.get(type(value))
    if kind is not None or value is None:
        return Quantity(value, kind)  # type: ignore[arg-type]  # the type is one of _SCALARS
    return Quantity(Special.COMPOUND if isinstance(value, Mapping | Sequence) else Special.UNKNOWN)


def read_as(value: Scalar, kind: CodeType | None) -> Exact:
    """A JSON scalar read as a value of a type; a text that spells none stays itself."""
    if is_decimal(kind) and isinstance(value, str):
        number = exact_decimal(value)
        return value if number is None else number
    return value if is_decimal(kind) else encode_scalar(value, kind)


def exact_key(value: Exact) -> tuple[str, Exact]:
    """A key under which values of different types differ; equal numbers have equal keys."""
    return ("number", value) if isinstance(value, Fraction) else typed_key(value)


def _decimal(value: Decimal) -> Quantity:
    if not value.is_finite():
        return Quantity(Special.UNKNOWN)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return Quantity(exact(value), decimal_type(min(max(-exponent, 0), MAX_PLACES)))


_SCALARS: Mapping[type, CodeType] = {bool: "bool", int: "int", str: "text"}


def value_key(value: object) -> tuple[str, Exact] | None:
    """What a field's value is compared by; None for null and for what is no scalar."""
    return quantity(value).key


@dataclass(frozen=True, slots=True)
class View:
    """The object that holds a relation, inside a record.

    record: nested mappings, sequences and scalars (JSON values, or Python dates, times and enums).
    prefix: where the object stands in the whole record, for messages.
    binders: name -> (item, its path); items bound by folds and slides.
    indexes: rows by key, made when first asked for; shared by the views of one relation.
    """

    record: object
    tables: Tables
    prefix: str = ""
    binders: Mapping[str, tuple[object, str]] | None = None
    indexes: dict[object, Mapping[tuple[object, ...], Sequence[Scalar]]] = field(default_factory=dict)

    def bind(self, name: str, item: object, path: str) -> View:
        """This view with one more bound item."""
        return replace(self, binders={**(self.binders or {}), name: (item, path)})

    def rows_by_key(
        self, table: str, types: tuple[CodeType | None, ...]
    ) -> Mapping[tuple[object, ...], Sequence[Scalar]]:
        """The table's rows by their first columns, read as these types; of equal keys the first counts."""
        found = self.indexes.get((table, types))
        if found is None:
            rows: dict[tuple[object, ...], Sequence[Scalar]] = {}
            for row in self.tables[table]:
                cells = zip(row, types, strict=False)
                rows.setdefault(tuple(exact_key(read_as(cell, kind)) for cell, kind in cells), row)
            found = self.indexes[table, types] = rows
        return found

    def in_column(self, table: str, column: int, value: object) -> bool:
        """True if a column of a table holds the value; texts are dates or times where the value is one."""
        found = quantity(value)
        place = (table, column, found.type)
        if place not in self.indexes:
            rows = self.tables[table]
            cells = ((read_as(row[column], found.type), row) for row in rows if column < len(row))
            self.indexes[place] = {exact_key(cell): row for cell, row in cells}
        return value_key(value) in self.indexes[place]

    def resolve(self, text: str) -> Iterator[tuple[str, object]]:
        """(path, value) of every field that a path names, in writing order; absent ones are left out."""
        path = parse_path(text, tuple(self.binders or ()))
        value, shown = self._root(path)
        yield from _walk(value, shown, path.segments)

    def one(self, text: str) -> tuple[str, object | Special]:
        """Path and value of a single field; ``Special.ABSENT`` where it is not there."""
        for shown, value in self.resolve(text):
            return shown, value
        return self.shown(text), Special.ABSENT

    def shown(self, text: str) -> str:
        """A path as people read it, from the root of the record."""
        path = parse_path(text, tuple(self.binders or ()))
        return _join(self._root(path)[1], FieldPath("$", path.segments).display if path.segments else "")

    def items(self, text: str) -> list[tuple[str, object]] | None:
        """(path, item) of a list's items, or None where the list is absent or null."""
        shown, value = self.one(text)
        if not listed(value):
            return None
        return [(f"{shown}[{i}]", item) for i, item in enumerate(value)]

    def _root(self, path: FieldPath) -> tuple[object, str]:
        if path.root == "$" or self.binders is None:
            return self.record, self.prefix
        return self.binders[path.root]


def listed(value: object) -> TypeGuard[Sequence[object]]:
    """True if a value is a list."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _walk(value: object, shown: str, segments: Sequence[Segment]) -> Iterator[tuple[str, object]]:
    if not segments:
        yield shown, value
        return
    head, rest = segments[0], segments[1:]
    if isinstance(head, str):
        if isinstance(value, Mapping) and head in value:
            step = FieldPath("$", (head,)).display
            yield from _walk(value[head], _join(shown, step), rest)
        return
    if not listed(value):
        return
    if head is EVERY:
        for at, item in enumerate(value):
            yield from _walk(item, f"{shown}[{at}]", rest)
        return
    assert isinstance(head, int)
    at = head + len(value) if head < 0 else head
    if 0 <= at < len(value):
        yield from _walk(value[at], f"{shown}[{at}]", rest)


def _join(prefix: str, step: str) -> str:
    if not prefix or not step or step.startswith("["):
        return prefix + step
    return f"{prefix}.{step}"

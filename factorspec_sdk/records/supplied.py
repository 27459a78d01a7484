"""Values for parameters, turned into what the wire form holds: constants and tables."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from factorspec_sdk.errors import BindingError, JsonValue, Problem, shown
from factorspec_sdk.fields.domains import CodeType, Scalar, iso_to_code, moment_kind, moment_of, typed_key
from factorspec_sdk.records.moments import DURATION_HINT, scalar_of
from factorspec_sdk.records.parameters import (
    InlineTable,
    Leaf,
    LoopItem,
    Param,
    ParamConst,
    ParamConsts,
    ParamLoop,
    ParamTable,
    Rows,
    Template,
    fill,
    tables_of,
)

_NAMES = {"int": "an integer", "date": "a date", "time": "a time", "text": "a text", "bool": "a boolean",
    "decimal": "a decimal", "datetime": "a date with a time"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Supplied:
    """Parameters by name; ``values`` are Python values."""

    values: Mapping[str, object]

    def value(self, param: Param) -> object:
        """The value of a parameter; dots go through nested models.

        Raises:
            BindingError: if there is none.
        """
        first, *rest = param.name.split(".")
        if first not in self.values:
            raise BindingError("a parameter is missing", [Problem(param.name, "no value is given")])
        value = self.values[first]
        for name in rest:
            if not hasattr(value, name):
                raise BindingError(
                    "a parameter is missing", [Problem(param.name, f"there is no {name!r} in it")]
                )
            value = getattr(value, name)
        return value

    def fill(self, template: Template, items: Mapping[str, object] | None = None) -> JsonValue:
        """The wire form with these values in it; ``items``: those of the loops around, by name."""
        return fill(template, lambda leaf: self._leaf(leaf, items or {}))

    def tables(self, template: Template) -> dict[str, Rows]:
        """The tables that the wire form names."""
        return dict(tables_of(template, self.rows))

    def _leaf(self, leaf: Leaf, items: Mapping[str, object]) -> JsonValue:
        match leaf:
            case LoopItem():
                return _const(leaf.loop, _part(items[leaf.loop], leaf.part), leaf.type)
            case ParamLoop():
                bodies = [self.fill(leaf.body, {**items, leaf.name: item}) for item in self.items(leaf.param)]
                op = "and" if leaf.op == "every" else "or"
                return {"op": op, "args": bodies} if bodies else {"const": leaf.op == "every"}
            case ParamConst():
                return _const(leaf.param.name, self.value(leaf.param), leaf.type)
            case ParamConsts():
                return [_const(leaf.param.name, item, leaf.type) for item in self.items(leaf.param)]
            case ParamTable() | InlineTable():
                return leaf.table

    def items(self, param: Param) -> list[object]:
        """The items of a list, or the keys of a mapping.

        Raises:
            BindingError: if the value is neither.
        """
        value = self.value(param)
        if isinstance(value, str | bytes | BaseModel) or not isinstance(value, Iterable):
            raise BindingError(
                "a parameter does not fit", [Problem(param.name, "a list is needed", shown(value))]
            )
        return list(value)

    def scalars(self, param: Param, code: CodeType | None) -> tuple[Scalar, ...]:
        """The items as JSON scalars of one type, without repeats."""
        found = [_scalar(param.name, item, code) for item in self.items(param)]
        return tuple({typed_key(scalar): scalar for scalar in found}.values())

    def bound(self, param: Param, code: CodeType | None) -> object:
        """A parameter that bounds a field of one type.

        Raises:
            BindingError: if it is of another type.
        """
        value = self.value(param)
        _scalar(param.name, value, code)
        if isinstance(value, str):
            raise BindingError(
                "a parameter does not fit", [Problem(param.name, "texts bound nothing", shown(value))]
            )
        return value

    def rows(self, leaf: ParamTable | InlineTable) -> Rows:
        """The rows of a table.

        Raises:
            BindingError: naming each row that does not fit.
        """
        if isinstance(leaf, InlineTable):
            return leaf.rows
        value = self.value(leaf.param)
        rows: list[tuple[object, ...]]
        if leaf.single and isinstance(value, str):
            rows = [(value,)]
        elif isinstance(value, Mapping):
            rows = [(*_parts(key), _cell(found, leaf.attribute)) for key, found in value.items()]
        else:
            rows = [_parts(row) for row in self.items(leaf.param)]
        name, width = leaf.table, leaf.width
        if width is None:
            width = len(rows[0]) if rows else 0
        wrong = [
            Problem(f"{name}[{at}]", f"the row has {len(row)} columns, {width} are needed", shown(row))
            for at, row in enumerate(rows)
            if len(row) != width
        ]
        if wrong:
            raise BindingError("a parameter does not fit", wrong)
        cells = [tuple(_scalar(f"{name}[{at}]", cell, None) for cell in row) for at, row in enumerate(rows)]
        return tuple({tuple(map(typed_key, row)): row for row in cells}.values())


def _part(item: object, part: int | str | None) -> object:
    """An item of a loop, one of its columns, or one of its fields."""
    if part is None:
        return item
    return getattr(item, part) if isinstance(part, str) else _parts(item)[part]


def _parts(row: object) -> tuple[object, ...]:
    if isinstance(row, BaseModel):
        return tuple(getattr(row, name) for name in type(row).model_fields)
    return tuple(row) if isinstance(row, tuple | list) else (row,)


def _cell(value: object, attribute: str | None) -> object:
    return value if attribute is None else getattr(value, attribute)


def _scalar(place: str, value: object, code: CodeType | None) -> Scalar:
    scalar = scalar_of(value)
    if scalar is None:
        message = "only texts, integers, decimals, booleans, dates and times go into relations"
        hint = DURATION_HINT if isinstance(value, datetime.timedelta) else None
        raise BindingError("a parameter does not fit", [Problem(place, message, shown(value), hint)])
    found, found_code = scalar
    is_iso = (
        (moment := moment_of(code)) is not None
        and isinstance(found, str)
        and iso_to_code(moment_kind(moment, found), found) is not None
    )
    if code == "decimal" and found_code == "int":
        return found
    if code is not None and found is not None and found_code != code and not is_iso:
        problem = Problem(place, f"{_NAMES[code]} is needed", shown(value))
        raise BindingError("a parameter does not fit", [problem])
    return found


def _const(place: str, value: object, code: CodeType | None) -> dict[str, JsonValue]:
    found = _scalar(place, value, code)
    scalar = scalar_of(value)
    kind = code if moment_of(code) is not None else scalar[1] if scalar is not None else None
    if (moment_of(kind) is not None or kind == "decimal") and found is not None:
        return {"const": found, "type": kind}
    return {"const": found}

"""``Annotated`` domains: ``In`` (one of some values) and ``Between`` (a range with a step).

Both are ordinary Pydantic annotations. Where they name a parameter, they restrict nothing until the
model is bound (``factorspec_sdk.bind``), which replaces them by the values.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.fields.decimals import read_decimal
from factorspec_sdk.fields.domains import CodeType, Scalar, canonical_code, moment_kind, moment_of, typed_key
from factorspec_sdk.records.moments import Constant, code_of, scalar_of
from factorspec_sdk.records.parameters import Param, param

Bound = int | Decimal | datetime.date | datetime.time

_SHOWN_VALUES = 8


class In:
    """The field takes one of some values: given here, or a parameter that arrives with the call.

    ``In("cities")`` and ``In(param("cities"))`` name a parameter; ``In(["Rome", "Oslo"])`` lists values.
    """

    __slots__ = ("_keys", "parameter", "scalars")

    def __init__(self, values: str | Param | Iterable[Constant]) -> None:
        self.parameter: Param | None = None
        self.scalars: tuple[Scalar, ...] = ()
        if isinstance(values, str):
            values = param(values)
        if isinstance(values, Param):
            self.parameter = values
        else:
            self.scalars = _scalars(values)
        self._keys = frozenset(typed_key(scalar) for scalar in self.scalars)

    @classmethod
    def of_scalars(cls, scalars: tuple[Scalar, ...]) -> In:
        """A domain of JSON scalars, dates and times as ISO texts."""
        return cls(scalars)

    def __repr__(self) -> str:
        return f"In({shown(list(self.scalars) if self.parameter is None else self.parameter.name)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, In) and self._spelling == other._spelling

    def __hash__(self) -> int:
        return hash(self._spelling)

    @property
    def _spelling(self) -> tuple[object, ...]:
        return (self.parameter, *map(typed_key, self.scalars))

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _require_type(schema, self.scalars, repr(self))
        if self.parameter is not None:
            return schema
        return core_schema.no_info_after_validator_function(self._check, schema)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        result = handler(schema)
        if self.parameter is None:
            null = [None] if "anyOf" in result and None not in self.scalars else []
            result["enum"] = [*self.scalars, *null]
        return result

    def _check(self, value: object) -> object:
        if value is None:
            return value  # the field's type says whether it may be null
        scalar = scalar_of(value)
        if scalar is not None and typed_key(scalar[0]) in self._keys:
            return value
        if (
            isinstance(value, Decimal)
            and value == value.to_integral_value()
            and typed_key(int(value)) in self._keys
        ):
            return value  # 7 is listed for Decimal("7")
        texts = [str(s) for s in self.scalars]
        close = get_close_matches(str(value), texts, n=1)
        expected = ", ".join(repr(s) for s in self.scalars[:_SHOWN_VALUES])
        if len(self.scalars) > _SHOWN_VALUES:
            expected += f", … ({len(self.scalars)} values)"
        raise PydanticCustomError(
            "factorspec_domain",
            "Input should be one of {expected}{hint}",
            {"expected": expected, "hint": f"; did you mean {close[0]!r}?" if close else ""},
        )


@dataclass(frozen=True, slots=True)
class Between:
    """The field lies between two bounds, both included, in steps counted from the lower one.

    Bounds are integers, decimals, dates or times, or parameters; ``step`` is an integer, a ``Decimal``, or a
    duration such as ``days(7)`` or ``minutes(30)``. Without ``step``, dates go by days, times by seconds,
    decimals by their last place.
    """

    low: Bound | Param
    high: Bound | Param
    step: int | Decimal | datetime.timedelta = 1

    def __eq__(self, other: object) -> bool:
        """Equal if spelled alike: ``Annotated`` takes equal parts for one, and 12:00Z equals 14:00+02:00."""
        return isinstance(other, Between) and self._spelling == other._spelling

    def __hash__(self) -> int:
        return hash(self._spelling)

    @property
    def _spelling(self) -> str:
        return repr((self.low, self.high, self.step))

    @property
    def parameters(self) -> tuple[Param, ...]:
        """The parameters among the bounds."""
        return tuple(bound for bound in (self.low, self.high) if isinstance(bound, Param))

    @property
    def codes(self) -> tuple[int, int, int]:
        """Lower bound, upper bound and step as codes. Only for bounds that are no parameters."""
        assert not isinstance(self.low, Param) and not isinstance(self.high, Param)
        return code_of(self.low), code_of(self.high), self.step_code

    @property
    def step_code(self) -> int:
        """The step in the codes' unit: days for dates, seconds for times."""
        if isinstance(self.step, int):
            step = self.step
        elif isinstance(self.step, Decimal):
            step = 1 if self.step > 0 else 0
        else:
            known = self.low if not isinstance(self.low, Param) else self.high
            dated = isinstance(known, datetime.date) and not isinstance(known, datetime.datetime)
            by_day = dated or (isinstance(known, Param) and not self.step.seconds)
            unit = datetime.timedelta(days=1) if by_day else datetime.timedelta(seconds=1)
            step, rest = divmod(self.step, unit)
            if rest:
                raise DeclarationError(
                    "not a step", [Problem("", f"steps are whole multiples of {unit}", shown(self.step))]
                )
        if step < 1:
            raise DeclarationError("not a step", [Problem("", "a step is positive", shown(self.step))])
        return step

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        bounds = [bound for bound in (self.low, self.high) if not isinstance(bound, Param)]
        scalars = [(bound, scalar_of(bound)) for bound in bounds]
        _require_type(schema, [scalar[0] if scalar else repr(b) for b, scalar in scalars], repr(self))
        if self.step_code < 1 or self.parameters:
            return schema
        return core_schema.no_info_after_validator_function(self._check, schema)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        result = handler(schema)
        if isinstance(self.low, int):
            result["minimum"] = self.low
        if isinstance(self.high, int):
            result["maximum"] = self.high
        return result

    def _check(self, value: object) -> object:
        if value is None:
            return value
        if isinstance(value, Decimal):
            return self._check_decimal(value)
        if isinstance(value, datetime.datetime) and not self._in_zone(value):
            raise self._outside("")
        low, high, step = self.codes
        scalar = scalar_of(value)  # None for times with a zone or parts of a second
        if scalar is not None and low <= (code := code_of(value)) <= high and not (code - low) % step:
            return value
        raise self._outside(f" in steps of {self.step}" if step > 1 else "")

    def _in_zone(self, value: datetime.datetime) -> bool:
        """Times are written with the time zone of the bounds, if those have one."""
        bounds = [bound for bound in (self.low, self.high) if isinstance(bound, datetime.datetime)]
        return all(bound.utcoffset() == value.utcoffset() for bound in bounds)

    def _check_decimal(self, value: Decimal) -> object:
        assert isinstance(self.low, int | Decimal) and isinstance(self.high, int | Decimal)
        stepped = isinstance(self.step, Decimal)
        inside = value.is_finite() and self.low <= value <= self.high
        if inside and not (
            isinstance(self.step, Decimal) and (Fraction(value) - Fraction(self.low)) % Fraction(self.step)
        ):
            return value
        raise self._outside(f" in steps of {self.step}" if stepped else "")

    def _outside(self, steps: str) -> PydanticCustomError:
        return PydanticCustomError(
            "factorspec_domain",
            "Input should be between {low} and {high}{steps}",
            {"low": str(self.low), "high": str(self.high), "steps": steps},
        )


#: type of a core schema -> what its values are
_KINDS: dict[str, CodeType] = {
    "int": "int", "str": "text", "date": "date", "time": "time", "bool": "bool", "decimal": "decimal",
    "datetime": "datetime",
}  # fmt: skip
_NAMES = {
    "int": "an integer", "text": "a text", "date": "a date", "time": "a time", "bool": "a boolean",
    "decimal": "a decimal", "datetime": "a date with a time",
}  # fmt: skip


def _require_type(schema: CoreSchema, scalars: Iterable[Scalar], domain: str) -> None:
    """Refuse a domain whose values the field's type never takes."""
    inner: Any = schema
    while "schema" in inner and inner["type"] in ("nullable", "default", "function-after", "function-wrap"):
        inner = inner["schema"]
    kind = _KINDS.get(inner["type"])
    if kind is None:
        return
    problems = [
        Problem(domain, f"the field takes {_NAMES[kind]}, never this value", shown(scalar))
        for scalar in scalars
        if scalar is not None and not _fits(scalar, kind)
    ]
    if problems:
        raise DeclarationError("the domain does not fit the field's type", problems[:_SHOWN_VALUES])


def _fits(scalar: Scalar, kind: CodeType) -> bool:
    moment = moment_of(kind)
    if moment is not None:
        return canonical_code(moment_kind(moment, scalar), scalar) is not None
    if kind == "decimal":
        return type(scalar) is int or (isinstance(scalar, str) and read_decimal(scalar) is not None)
    return {"int": int, "text": str, "bool": bool}[kind] is type(scalar)


def _scalars(values: Iterable[Constant]) -> tuple[Scalar, ...]:
    if isinstance(values, type) and issubclass(values, Enum):
        values = tuple(values)
    found: dict[tuple[str, Scalar], Scalar] = {}
    problems = []
    for value in values:
        scalar = scalar_of(value)
        if scalar is None:
            problems.append(
                Problem("", "a domain's values are texts, integers, booleans, dates, times", shown(value))
            )
        else:
            found.setdefault(typed_key(scalar[0]), scalar[0])
    if problems:
        raise DeclarationError("not a domain", problems)
    return tuple(found.values())

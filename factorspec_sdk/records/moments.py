"""Steps between dates and times, and the codes and JSON scalars of Python constants."""

from __future__ import annotations

import datetime
from decimal import Decimal
from enum import Enum

from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.fields.domains import CodeType, Scalar, datetime_code

#: what a user may write as a constant
Constant = bool | int | str | Decimal | datetime.date | datetime.time | datetime.timedelta | Enum | None

#: what to write where a duration has no date or time beside it that gives it a unit
DURATION_HINT = "give durations as integers: seconds between times, days between dates"


def days(count: int) -> datetime.timedelta:
    """A duration of whole days: see ``minutes``."""
    return datetime.timedelta(days=count)


def hours(count: int) -> datetime.timedelta:
    """A duration of whole hours: see ``minutes``."""
    return datetime.timedelta(hours=count)


def minutes(count: int) -> datetime.timedelta:
    """A duration of whole minutes: a step of ``Between``, to add to times, to compare with differences."""
    return datetime.timedelta(minutes=count)


def scalar_of(value: object) -> tuple[Scalar, CodeType | None] | None:
    """JSON scalar and code type of a Python constant; None if it has no exact JSON form."""
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return None, None
    if isinstance(value, bool):
        return value, "bool"
    if isinstance(value, int):
        return int(value), "int"
    if isinstance(value, str):
        return str(value), "text"
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, datetime.datetime):
        return None if value.microsecond else (datetime_text(value), "datetime")
    if isinstance(value, datetime.date):
        return value.isoformat(), "date"
    if isinstance(value, datetime.time) and not value.microsecond and value.tzinfo is None:
        return value.isoformat(), "time"
    return None


def datetime_text(value: datetime.datetime) -> str:
    """The canonical text: the time zone UTC is ``Z``."""
    return value.isoformat().removesuffix("+00:00") + (
        "Z" if value.utcoffset() == datetime.timedelta() else ""
    )


def _decimal_text(value: Decimal) -> tuple[Scalar, CodeType] | None:
    """The shortest text of a decimal, so that equal decimals have equal texts."""
    if not value.is_finite() or abs(value.adjusted()) > _MAX_EXPONENT:
        return None
    return format(value.normalize() + 0, "f"), "decimal"


_MAX_EXPONENT = 30


def code_of(value: object) -> int:
    """Integer code of a bound: itself, days of a date, seconds of a time.

    Raises:
        DeclarationError: if the value has no exact code.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime.datetime):
        if not value.microsecond:
            return datetime_code(value)
    elif isinstance(value, datetime.date):
        return value.toordinal()
    if isinstance(value, datetime.time) and not value.microsecond and value.tzinfo is None:
        return value.hour * 3600 + value.minute * 60 + value.second
    raise DeclarationError(
        "not a bound",
        [
            Problem(
                "",
                "bounds are numbers, dates, or times in whole seconds (times of a day without a time zone)",
                shown(value),
            )
        ],
    )


def duration(value: datetime.timedelta, unit: CodeType) -> int | None:
    """A duration in days (for dates) or seconds (for times); None if it is no whole number of them."""
    seconds_of = datetime.timedelta(days=1) if unit == "date" else datetime.timedelta(seconds=1)
    whole, rest = divmod(value, seconds_of)
    return None if rest else whole

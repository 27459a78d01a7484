"""Codes: what relations compare. Integers; dates as days, times as seconds, decimals as scaled integers.

``CodeType`` says what the values of a field are; texts of dates, times and decimals have one spelling each.
"""

from __future__ import annotations

import datetime
from typing import Literal, get_args

from factorspec_sdk.fields.decimals import (
    MAX_PLACES,
    DecimalType,
    decimal_code,
    decimal_type,
    is_decimal,
    places_of,
    read_decimal,
)

Scalar = None | bool | int | str
#: "decimal" stands for decimals whose places are not known; a domain's type carries them
CodeType = Literal["int", "date", "time", "text", "bool", "decimal"] | DecimalType
MomentType = Literal["date", "time"]
MOMENTS: tuple[MomentType, ...] = get_args(MomentType)


def typed_key(value: Scalar) -> tuple[str, Scalar]:
    """A key under which ``True`` and ``1`` differ, as they do in JSON."""
    return (type(value).__name__, value)


def iso_to_code(kind: MomentType, text: str) -> int | None:
    """Code of an ISO text: days for dates, seconds since midnight for times; None if it is not one."""
    try:
        if kind == "date":
            return datetime.date.fromisoformat(text).toordinal()
        moment = datetime.time.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is not None or moment.microsecond:
        return None
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def code_to_iso(kind: MomentType, code: int) -> str:
    """ISO text of a code; the inverse of ``iso_to_code``."""
    if kind == "date":
        return datetime.date.fromordinal(code).isoformat()
    return f"{code // 3600:02d}:{code // 60 % 60:02d}:{code % 60:02d}"


def encode_scalar(value: Scalar, code_type: CodeType | None) -> Scalar:
    """The code of a JSON scalar of the given type; a text that spells no value of the type stays itself."""
    places = places_of(code_type)
    if is_decimal(code_type) and places is not None:
        if isinstance(value, int) and not isinstance(value, bool):
            return value * int(10**places)
        code = decimal_code(value, places) if isinstance(value, str) else None
        return value if code is None else code
    kind = moment_of(code_type)
    if kind is not None and isinstance(value, str):
        code = iso_to_code(kind, value)
        return value if code is None else code
    return value


def spelled_type(text: str) -> CodeType | None:
    """The type of number, date or time that a text spells canonically; None where it spells none."""
    found = read_decimal(text)
    if found is not None:
        return decimal_type(found[1]) if found[1] <= MAX_PLACES else None
    for kind in MOMENTS:
        code = iso_to_code(kind, text)
        if code is not None and code_to_iso(kind, code) == text:
            return kind
    return None


def is_numeric(code_type: CodeType | None) -> bool:
    """True if codes of this type are integers: numbers, dates, times."""
    return moment_of(code_type) is not None or places_of(code_type) is not None


def moment_of(code_type: str | None) -> MomentType | None:
    """The type if it is one of dates and times."""
    return next((kind for kind in MOMENTS if kind == code_type), None)

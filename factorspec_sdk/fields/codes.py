"""Codes: what relations compare. Integers; dates as days, times as seconds, decimals as scaled integers.

A date with a time is a *datetime* where it names no time zone, and an *instant* where it does: seconds since
the year 1, of the calendar and of UTC. The two never compare. An instant's zone is ``Z`` or an offset.

``CodeType`` says what the values of a field are; texts of dates, times and decimals have one spelling each.
"""

from __future__ import annotations

import datetime
import re
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
CodeType = Literal["int", "date", "time", "datetime", "instant", "text", "bool", "decimal"] | DecimalType
MomentType = Literal["date", "time", "datetime", "instant"]
MOMENTS: tuple[MomentType, ...] = get_args(MomentType)


def typed_key(value: Scalar) -> tuple[str, Scalar]:
    """A key under which ``True`` and ``1`` differ, as they do in JSON."""
    return (type(value).__name__, value)


def iso_to_code(kind: MomentType, text: str) -> int | None:
    """Code of an ISO text: days for dates, seconds since midnight for times; None if it is not one."""
    try:
        if kind == "date":
            return datetime.date.fromisoformat(text).toordinal()
        if kind != "time":
            return _seconds(kind, datetime.datetime.fromisoformat(text))
        moment = datetime.time.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is not None or moment.microsecond:
        return None
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _seconds(kind: MomentType, moment: datetime.datetime) -> int | None:
    if moment.microsecond or (moment.tzinfo is None) is (kind == "instant"):
        return None
    return datetime_code(moment)


def datetime_code(moment: datetime.datetime) -> int:
    """Seconds since the year 1: of UTC where the moment has a time zone, else of the calendar."""
    offset = moment.utcoffset()
    seconds = moment.toordinal() * _DAY + moment.hour * 3600 + moment.minute * 60 + moment.second
    return seconds if offset is None else seconds - int(offset.total_seconds())


def zone_of(text: str) -> str:
    """The time zone that the text of a date with a time ends with; empty where it names none."""
    found = _ZONE.search(text)
    return "" if found is None else found.group()


def moment_kind(kind: MomentType, text: object) -> MomentType:
    """The same, but "instant" for a datetime whose text names a time zone."""
    return "instant" if kind == "datetime" and isinstance(text, str) and zone_of(text) else kind


def canonical_code(kind: MomentType, text: object) -> int | None:
    """The code of a text that is spelled canonically, else None."""
    code = iso_to_code(kind, text) if isinstance(text, str) else None
    if code is None or not isinstance(text, str):
        return None
    return code if code_to_iso(kind, code, zone_of(text)) == text else None


_DAY = 86_400
_ZONE = re.compile(r"(?<=T\d\d:\d\d:\d\d)(?:Z|[+-]\d\d:\d\d)$", re.ASCII)


def code_to_iso(kind: MomentType, code: int, zone: str = "Z") -> str:
    """ISO text of a code; the inverse of ``iso_to_code``. ``zone``: of an instant."""
    if kind == "date":
        return datetime.date.fromordinal(code).isoformat()
    if kind == "datetime":
        return f"{code_to_iso('date', code // _DAY)}T{code_to_iso('time', code % _DAY)}"
    if kind == "instant":
        return code_to_iso("datetime", code + _offset(zone)) + zone
    return f"{code // 3600:02d}:{code // 60 % 60:02d}:{code % 60:02d}"


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return -seconds if zone[0] == "-" else seconds


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
        if canonical_code(kind, text) is not None:
            return kind
    return None


def is_numeric(code_type: CodeType | None) -> bool:
    """True if codes of this type are integers: numbers, dates, times."""
    return moment_of(code_type) is not None or places_of(code_type) is not None


def moment_of(code_type: str | None) -> MomentType | None:
    """The type if it is one of dates and times."""
    return next((kind for kind in MOMENTS if kind == code_type), None)

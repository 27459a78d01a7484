"""Finite domains: the ordered values a slot can take, each with one JSON text and one code.

A value is named by its index (0 .. len - 1). Relations compare *codes*: integers, dates as days,
times as seconds, everything else as itself. Three forms exist::

    IntRange    lo, hi, step                 integers, written as digits; never enumerated
    StepDomain  date or time, lo, hi, step   days or seconds; written as ISO text
    EnumDomain  any JSON scalars, in order   enums, literals, booleans, and any of these with null
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, Protocol

from factorspec_sdk.fields.text import json_text

Scalar = None | bool | int | str
CodeType = Literal["int", "date", "time", "text", "bool"]


def typed_key(value: Scalar) -> tuple[str, Scalar]:
    """A key under which ``True`` and ``1`` differ, as they do in JSON."""
    return (type(value).__name__, value)


class Domain(Protocol):
    """An ordered finite set of JSON scalars. Immutable."""

    @property
    def key(self) -> Hashable:
        """Content key: equal for equal domains."""

    @property
    def code_type(self) -> CodeType | None:
        """What the non-null values are, or None where they are mixed."""

    @property
    def integers(self) -> IntRange | None:
        """The domain itself if all values are integers in a stride, else None."""

    def __len__(self) -> int: ...

    def value(self, index: int) -> Scalar:
        """The JSON value at ``index``."""

    def text(self, index: int) -> str:
        """The canonical JSON text of the value at ``index``."""

    def code(self, index: int) -> Scalar:
        """What relations compare: an integer for numbers, dates (days) and times (seconds)."""

    def index(self, value: object) -> int | None:
        """Index of a JSON value, or None if it is not in the domain."""

    def index_of_code(self, code: Scalar) -> int | None:
        """Index of the value with this code, or None."""


@dataclass(frozen=True)
class IntRange:
    """Integers ``lo, lo + step, ..., hi``. ``hi`` is itself a member; ``step`` ≥ 1."""

    lo: int
    hi: int
    step: int = 1

    @property
    def key(self) -> Hashable:
        return ("int", self.lo, self.hi, self.step)

    @property
    def code_type(self) -> CodeType:
        return "int"

    @property
    def integers(self) -> IntRange:
        return self

    def __len__(self) -> int:
        return (self.hi - self.lo) // self.step + 1 if self.hi >= self.lo else 0

    def value(self, index: int) -> int:
        return self.lo + index * self.step

    def text(self, index: int) -> str:
        return str(self.lo + index * self.step)

    def code(self, index: int) -> int:
        return self.lo + index * self.step

    def index(self, value: object) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one number type: 3.0 is the integer 3
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return self.index_of_code(value)

    def index_of_code(self, code: Scalar) -> int | None:
        if not isinstance(code, int) or isinstance(code, bool) or not self.lo <= code <= self.hi:
            return None
        at, rest = divmod(code - self.lo, self.step)
        return None if rest else at

    def between(self, lo: int | None, hi: int | None) -> int:
        """Bit mask of the indices whose codes lie in ``[lo, hi]``; None is no bound."""
        first = 0 if lo is None else max(0, -((self.lo - lo) // self.step))
        last = len(self) - 1 if hi is None else min(len(self) - 1, (hi - self.lo) // self.step)
        return ((1 << (last - first + 1)) - 1) << first if first <= last else 0


@dataclass(frozen=True)
class StepDomain:
    """Dates (code = proleptic ordinal day) or times of a day (code = second) in a stride."""

    type: Literal["date", "time"]
    codes: IntRange

    @property
    def key(self) -> Hashable:
        return (self.type, self.codes.lo, self.codes.hi, self.codes.step)

    @property
    def code_type(self) -> CodeType:
        return self.type

    @property
    def integers(self) -> IntRange | None:
        return None

    def __len__(self) -> int:
        return len(self.codes)

    def value(self, index: int) -> str:
        return code_to_iso(self.type, self.codes.code(index))

    def text(self, index: int) -> str:
        return f'"{self.value(index)}"'

    def code(self, index: int) -> int:
        return self.codes.code(index)

    def index(self, value: object) -> int | None:
        if not isinstance(value, str):
            return None
        code = iso_to_code(self.type, value)
        if code is None or code_to_iso(self.type, code) != value:
            return None
        return self.codes.index_of_code(code)

    def index_of_code(self, code: Scalar) -> int | None:
        return self.codes.index_of_code(code)


class EnumDomain:
    """The given JSON scalars, in the given order, without repeats.

    ``code_type`` may be "date" or "time": the values are then ISO texts (or null).
    """

    __slots__ = ("_by_code", "_by_value", "_codes", "_texts", "_type", "key", "values")

    def __init__(self, values: tuple[Scalar, ...], code_type: CodeType | None = None) -> None:
        self.values = values
        self._type = code_type if code_type is not None else _common_type(values)
        self.key: Hashable = ("enum", self._type, tuple(typed_key(v) for v in values))
        self._codes = tuple(encode_scalar(v, self._type) for v in values)
        self._by_value = {typed_key(v): i for i, v in enumerate(values)}
        self._by_code = {typed_key(c): i for i, c in enumerate(self._codes)}
        self._texts: tuple[str, ...] | None = None

    @property
    def code_type(self) -> CodeType | None:
        return self._type

    @property
    def integers(self) -> IntRange | None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumDomain) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"EnumDomain({list(self.values)!r})"

    def __len__(self) -> int:
        return len(self.values)

    def value(self, index: int) -> Scalar:
        return self.values[index]

    def text(self, index: int) -> str:
        if self._texts is None:
            self._texts = tuple(json_text(v) for v in self.values)
        return self._texts[index]

    def code(self, index: int) -> Scalar:
        return self._codes[index]

    def index(self, value: object) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is not None and not isinstance(value, bool | int | str):
            return None
        return self._by_value.get(typed_key(value))

    def index_of_code(self, code: Scalar) -> int | None:
        return self._by_code.get(typed_key(code))


class BranchDomain:
    """Decision without text of its own: 0 .. size - 1 ("one more item?", null or object)."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def key(self) -> Hashable:
        return ("branch", self.size)

    @property
    def code_type(self) -> CodeType:
        return "int"

    @property
    def integers(self) -> IntRange | None:
        return None

    def __len__(self) -> int:
        return self.size

    def value(self, index: int) -> int:
        return index

    def text(self, index: int) -> str:
        return ""

    def code(self, index: int) -> int:
        return index

    def index(self, value: object) -> int | None:
        return value if isinstance(value, int) and 0 <= value < self.size else None

    def index_of_code(self, code: Scalar) -> int | None:
        return self.index(code)


def iso_to_code(kind: Literal["date", "time"], text: str) -> int | None:
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


def code_to_iso(kind: Literal["date", "time"], code: int) -> str:
    """ISO text of a code; the inverse of ``iso_to_code``."""
    if kind == "date":
        return datetime.date.fromordinal(code).isoformat()
    return f"{code // 3600:02d}:{code // 60 % 60:02d}:{code % 60:02d}"


def encode_scalar(value: Scalar, code_type: CodeType | None) -> Scalar:
    """The code of a JSON scalar of the given type; values that are no ISO text stay themselves."""
    if isinstance(value, str) and (code_type == "date" or code_type == "time"):
        code = iso_to_code(code_type, value)
        return value if code is None else code
    return value


def _common_type(values: tuple[Scalar, ...]) -> CodeType | None:
    names: dict[type, CodeType] = {bool: "bool", int: "int", str: "text"}
    found = {names[type(v)] for v in values if v is not None}
    return found.pop() if len(found) == 1 else None

"""Finite domains: the ordered values a slot can take, each with one JSON text and one code.

A value is named by its index (0 .. len - 1). Relations compare *codes*: integers, dates as days,
times as seconds, decimals as scaled integers, everything else as itself. Four forms exist::

    IntRange       lo, hi, step                  integers, written as digits; never enumerated
    StepDomain     date, time or both, stride    days or seconds; written as ISO text
    DecimalDomain  places, stride                scaled integers; written with fixed places
    EnumDomain     any JSON scalars, in order    enums, literals, booleans, and any of these with null
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from factorspec_sdk.fields.codes import (
    MOMENTS,
    CodeType,
    MomentType,
    Scalar,
    canonical_code,
    code_to_iso,
    datetime_code,
    encode_scalar,
    is_numeric,
    iso_to_code,
    moment_kind,
    moment_of,
    spelled_type,
    typed_key,
    zone_of,
)
from factorspec_sdk.fields.decimals import decimal_code, decimal_text, decimal_type
from factorspec_sdk.fields.text import json_text


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

    @property
    def stride(self) -> IntRange | None:
        """The codes, if they are integers in a stride in the order of the indices, else None."""

    def __len__(self) -> int: ...

    def value(self, index: int) -> Scalar | float:
        """The JSON value at ``index``."""

    def text(self, index: int) -> str:
        """The canonical JSON text of the value at ``index``."""

    def code(self, index: int) -> Scalar:
        """What relations compare: an integer for numbers, decimals, dates (days) and times (seconds)."""

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

    @property
    def stride(self) -> IntRange:
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
    """Dates (code = proleptic ordinal day), times (second) or both in a stride; ``zone``: of instants."""

    type: MomentType
    codes: IntRange
    zone: str = ""

    @property
    def key(self) -> Hashable:
        return (self.type, self.codes.lo, self.codes.hi, self.codes.step, self.zone)

    @property
    def code_type(self) -> CodeType:
        return self.type

    @property
    def integers(self) -> IntRange | None:
        return None

    @property
    def stride(self) -> IntRange:
        return self.codes

    def __len__(self) -> int:
        return len(self.codes)

    def value(self, index: int) -> str:
        return code_to_iso(self.type, self.codes.code(index), self.zone)

    def text(self, index: int) -> str:
        return f'"{self.value(index)}"'

    def code(self, index: int) -> int:
        return self.codes.code(index)

    def index(self, value: object) -> int | None:
        if not isinstance(value, str):
            return None
        code = iso_to_code(self.type, value)
        if code is None or code_to_iso(self.type, code, self.zone) != value:
            return None
        return self.codes.index_of_code(code)

    def index_of_code(self, code: Scalar) -> int | None:
        return self.codes.index_of_code(code)


@dataclass(frozen=True, slots=True)
class DecimalDomain:
    """Fixed-point decimals; ``quoted``: written as a JSON string, else as a JSON number."""

    places: int
    codes: IntRange
    quoted: bool = True

    @property
    def key(self) -> Hashable:
        return ("decimal", self.places, self.quoted, self.codes.lo, self.codes.hi, self.codes.step)

    @property
    def code_type(self) -> CodeType:
        return decimal_type(self.places)

    @property
    def integers(self) -> IntRange | None:
        return None

    @property
    def stride(self) -> IntRange:
        return self.codes

    def __len__(self) -> int:
        return len(self.codes)

    def value(self, index: int) -> str | float:
        text = decimal_text(self.codes.code(index), self.places)
        return text if self.quoted else float(text)

    def text(self, index: int) -> str:
        text = decimal_text(self.codes.code(index), self.places)
        return f'"{text}"' if self.quoted else text

    def code(self, index: int) -> int:
        return self.codes.code(index)

    def index(self, value: object) -> int | None:
        if self.quoted:
            code = decimal_code(value, self.places) if isinstance(value, str) else None
            return (
                None if code is None or decimal_text(code, self.places) != value else self.index_of_code(code)
            )
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        code = decimal_code(format(Decimal(repr(value)), "f"), self.places)
        return None if code is None else self.index_of_code(code)

    def index_of_code(self, code: Scalar) -> int | None:
        return self.codes.index_of_code(code)


class EnumDomain:
    """The given JSON scalars, in the given order, without repeats.

    ``code_type`` may be "date", "time" or a decimal: the values are then such texts (or null).
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

    @property
    def stride(self) -> IntRange | None:
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

    @property
    def stride(self) -> IntRange | None:
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


def _common_type(values: tuple[Scalar, ...]) -> CodeType | None:
    names: dict[type, CodeType] = {bool: "bool", int: "int", str: "text"}
    found = {names[type(v)] for v in values if v is not None}
    return found.pop() if len(found) == 1 else None


__all__ = [
    "MOMENTS",
    "BranchDomain",
    "CodeType",
    "DecimalDomain",
    "Domain",
    "EnumDomain",
    "IntRange",
    "MomentType",
    "Scalar",
    "StepDomain",
    "canonical_code",
    "code_to_iso",
    "datetime_code",
    "encode_scalar",
    "is_numeric",
    "iso_to_code",
    "moment_kind",
    "moment_of",
    "spelled_type",
    "typed_key",
    "zone_of",
]

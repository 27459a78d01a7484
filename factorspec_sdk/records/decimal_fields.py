"""``Decimal`` fields: their places and bounds, from what Pydantic users write.

``Annotated[Decimal, Field(max_digits=7, decimal_places=2, ge=0)]`` is written as a JSON string of two places;
with ``AsNumber()`` beside it, as a JSON number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, lcm

import annotated_types

from factorspec_sdk.fields.decimals import MAX_PLACES, decimal_code, decimal_text
from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.records.domains import Between, In
from factorspec_sdk.records.parameters import Param

EXAMPLE = "Field(decimal_places=2, ge=0, le=1000); max_digits bounds it too"


@dataclass(frozen=True, slots=True)
class AsNumber:
    """Write a ``Decimal`` field as a JSON number instead of a string."""


@dataclass(frozen=True, slots=True)
class DecimalRange:
    """Bounds and step in units of the last place; ``low`` and ``high`` are None where open.

    Values are ``origin + k * step``.
    """

    places: int
    low: int | None
    high: int | None
    step: int
    origin: int
    quoted: bool

    @property
    def first(self) -> int | None:
        """The lowest value, None where there is no lower bound."""
        return None if self.low is None else self.low + (self.origin - self.low) % self.step

    @property
    def last(self) -> int | None:
        """The highest value, None where there is no upper bound."""
        return None if self.high is None else self.high - (self.high - self.origin) % self.step

    @property
    def empty(self) -> bool:
        """True if no value lies between the bounds."""
        return self.first is not None and self.last is not None and self.first > self.last


def decimal_places(metadata: Sequence[object], domain: In | Between | None) -> int | None:
    """The places of a field: ``decimal_places``, else those of its values or bounds; None: not said."""
    said = (getattr(part, "decimal_places", None) for part in metadata)
    stated = [places for places in said if isinstance(places, int)]
    if stated:
        return min(stated)
    if isinstance(domain, In) and domain.parameter is None:
        return max((_places(Decimal(str(v))) for v in domain.scalars if v is not None), default=0)
    if isinstance(domain, Between):
        known = [b for b in (domain.low, domain.high) if isinstance(b, int | Decimal)]
        step = [domain.step] if isinstance(domain.step, Decimal) else []
        return max(_places(Decimal(b)) for b in known + step) if known + step else None
    return None


def decimal_range(metadata: Sequence[object], domain: In | Between | None, places: int) -> DecimalRange:
    """The bounds that metadata and a range say, at so many places."""
    unit = 10**places
    lows, highs, steps = list[Fraction](), list[Fraction](), [Fraction(1)]
    for part in _grouped(metadata):
        match part:
            case annotated_types.Ge():
                lows.append(_exact(part.ge) * unit)
            case annotated_types.Gt():
                lows.append(Fraction(floor(_exact(part.gt) * unit) + 1))
            case annotated_types.Le():
                highs.append(_exact(part.le) * unit)
            case annotated_types.Lt():
                highs.append(Fraction(ceil(_exact(part.lt) * unit) - 1))
            case annotated_types.MultipleOf():
                steps.append(_exact(part.multiple_of) * unit)
            case _:
                digits = getattr(part, "max_digits", None)
                lows += [] if digits is None else [Fraction(1 - 10**digits)]
                highs += [] if digits is None else [Fraction(10**digits - 1)]
    step, origin = lcm(*(abs(part.numerator) for part in steps)), 0
    if isinstance(domain, Between):
        lows += [_exact(domain.low) * unit] if not isinstance(domain.low, Param) else []
        highs += [_exact(domain.high) * unit] if not isinstance(domain.high, Param) else []
        if isinstance(domain.step, Decimal):
            step = (_exact(domain.step) * unit).numerator
            origin = 0 if isinstance(domain.low, Param) else (_exact(domain.low) * unit).numerator
    quoted = not any(isinstance(part, AsNumber) for part in metadata)
    low, high = (ceil(max(lows)) if lows else None), (floor(min(highs)) if highs else None)
    return DecimalRange(places, low, high, step, origin, quoted)


def listed_decimals(values: Iterable[Scalar], metadata: Sequence[object], places: int) -> tuple[Scalar, ...]:
    """The texts of listed values within the bounds, with so many places each."""
    bounds = decimal_range(metadata, None, places)
    found = []
    for value in values:
        code = decimal_code(str(value), places) if value is not None else None
        if code is None or code % bounds.step:
            continue
        if (bounds.low is None or code >= bounds.low) and (bounds.high is None or code <= bounds.high):
            found.append(decimal_text(code, places))
    return tuple(dict.fromkeys(found))


def refusal(metadata: Sequence[object], domain: In | Between | None, places: int | None) -> str | None:
    """Why a ``Decimal`` field cannot be written; None if it can."""
    if places is None:
        return f"a Decimal field needs decimal_places: {EXAMPLE}"
    if places > MAX_PLACES:
        return f"decimal_places is {places}, at most {MAX_PLACES} are supported"
    digits = [most for part in metadata if isinstance(most := getattr(part, "max_digits", None), int)]
    if digits and min(digits) < places:
        return f"max_digits {min(digits)} is below decimal_places {places}"
    if isinstance(domain, Between) and isinstance(domain.step, Decimal):
        if any(isinstance(part, annotated_types.MultipleOf) for part in _grouped(metadata)):
            return "write multiple_of or a step, not both"
        if (_exact(domain.step) * 10**places).denominator > 1:
            return f"the step {domain.step} has more than {places} decimal places"
    return None


def _grouped(metadata: Iterable[object]) -> Iterable[object]:
    for part in metadata:
        if isinstance(part, annotated_types.GroupedMetadata) and not isinstance(part, Between):
            yield from _grouped(part)
        else:
            yield part


def _places(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _exact(value: object) -> Fraction:
    """The exact number of a bound; a float by its shortest decimal text, as Pydantic reads it."""
    if isinstance(value, float):
        return Fraction(repr(value))
    assert isinstance(value, int | Decimal)
    return Fraction(value)

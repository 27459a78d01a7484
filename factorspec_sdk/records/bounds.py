"""Bounds of a scalar or list, read from what stands in its ``Annotated``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import lcm

import annotated_types

from factorspec_sdk.fields.domains import CodeType, Scalar, iso_to_code, moment_kind, moment_of
from factorspec_sdk.records.domains import Between
from factorspec_sdk.records.moments import code_of
from factorspec_sdk.records.parameters import Param

_END_OF_DAY = 24 * 3600 - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Closed bounds as codes, None where open; ``least``/``most`` bound a length.

    Values are ``origin + k * step``; ``origin`` None: multiples of ``step``.
    """

    low: int | None = None
    high: int | None = None
    step: int = 1
    origin: int | None = None
    least: int | None = None
    most: int | None = None
    pattern: bool = False

    @property
    def any(self) -> bool:
        """True if anything restricts the value."""
        return self.low is not None or self.high is not None or self.step > 1

    @property
    def first(self) -> int | None:
        """The lowest value, None where there is no lower bound."""
        if self.low is None:
            return None
        return self.low + (((self.origin or 0) - self.low) % self.step)

    @property
    def last(self) -> int | None:
        """The highest value, None where there is no upper bound."""
        if self.high is None:
            return None
        return self.high - ((self.high - (self.origin or 0)) % self.step)

    @property
    def empty(self) -> bool:
        """True if no value lies between the bounds."""
        return self.first is not None and self.last is not None and self.first > self.last

    def allow(self, value: Scalar, code: CodeType) -> bool:
        """True if a listed value lies within the bounds."""
        number = (
            iso_to_code(moment_kind(kind, value), value)
            if (kind := moment_of(code)) is not None and isinstance(value, str)
            else value
        )
        if not isinstance(number, int) or isinstance(number, bool):
            return True
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            return False
        return not (number - (self.origin or 0)) % self.step

    def within(self, domain: Between) -> Bounds:
        """These bounds and those of ``domain``; parameters among them bind later."""
        low, high = domain.low, domain.high
        result = self
        if not isinstance(low, Param):
            result = result.above(code_of(low))
            if domain.step_code > 1:
                result = replace(result, step=domain.step_code, origin=code_of(low))
        return result if isinstance(high, Param) else result.below(code_of(high))

    def above(self, code: int) -> Bounds:
        """With a lower bound."""
        return replace(self, low=code if self.low is None else max(self.low, code))

    def below(self, code: int) -> Bounds:
        """With an upper bound."""
        return replace(self, high=code if self.high is None else min(self.high, code))

    def whole_day(self) -> Bounds:
        """With the ends of a day where a time has no bound."""
        return self.above(0).below(_END_OF_DAY)


def bounds_of(metadata: Iterable[object]) -> Bounds:
    """The bounds that metadata says; what it says about other things is left alone."""
    bounds = Bounds()
    for part in _grouped(metadata):
        match part:
            case annotated_types.Ge():
                bounds = bounds.above(_up(part.ge))
            case annotated_types.Gt():
                bounds = bounds.above(_down(part.gt) + 1)
            case annotated_types.Le():
                bounds = bounds.below(_down(part.le))
            case annotated_types.Lt():
                bounds = bounds.below(_up(part.lt) - 1)
            case annotated_types.MultipleOf():
                bounds = replace(bounds, step=lcm(bounds.step, code_of(part.multiple_of)))
            case annotated_types.MinLen():
                bounds = replace(bounds, least=max(bounds.least or 0, part.min_length))
            case annotated_types.MaxLen():
                most = part.max_length if bounds.most is None else min(bounds.most, part.max_length)
                bounds = replace(bounds, most=most)
            case _ if getattr(part, "pattern", None) is not None:
                bounds = replace(bounds, pattern=True)
    return bounds


def _grouped(metadata: Iterable[object]) -> Iterator[object]:
    for part in metadata:
        if isinstance(part, annotated_types.GroupedMetadata) and not isinstance(part, Between):
            yield from _grouped(part)
        else:
            yield part


def _up(bound: object) -> int:
    """The lowest code that is not below a bound."""
    if isinstance(bound, datetime.time) and bound.microsecond:
        return code_of(bound.replace(microsecond=0)) + 1
    return code_of(bound)


def _down(bound: object) -> int:
    """The highest code that is not above a bound."""
    if isinstance(bound, datetime.time) and bound.microsecond:
        return code_of(bound.replace(microsecond=0))
    return code_of(bound)

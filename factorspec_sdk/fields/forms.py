"""How the values of a stride are spelled, for walks that decide them character by character.

A *form* knows which codes begin with some characters, as intervals, so that ten million texts need not be
listed. The *body* is the text without sign and quotes::

    "-12.30"    opening '"'   sign '-'   body '12.30'   closing '"'

``DecimalForm``: digits, a point, a fixed number of digits. ``MomentForm``: texts of one width whose order is
that of their codes (ISO dates and times).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from factorspec_sdk.fields.codes import code_to_iso
from factorspec_sdk.fields.decimals import decimal_text
from factorspec_sdk.fields.domains import DecimalDomain, Domain, IntRange, StepDomain

Span = tuple[int, int]


class Piece(NamedTuple):
    """What may come next: the characters of ``text``, or ``length`` digits (``exact``: and then no more)."""

    text: str = ""
    length: int = 0
    exact: bool = False


class Form(Protocol):
    """The bodies of a domain's values."""

    @property
    def opening(self) -> str:
        """What stands before sign and body."""

    @property
    def closing(self) -> str:
        """What stands behind the body."""

    def body(self, magnitude: int) -> str:
        """The body of the values with this code, signs apart."""

    def magnitude(self, body: str) -> int | None:
        """The inverse of ``body``; None where the body is not complete."""

    def pieces(self, body: str, group: int) -> Sequence[Piece]:
        """What may stand behind the beginning of a body; runs of digits come in groups of ``group``."""

    def spans(self, body: str, missing: int = 0, *, exact: bool = False) -> Sequence[Span]:
        """Intervals of the codes, signs apart, whose bodies begin so; shorter bodies first.

        missing: so many more digits follow at least; ``exact``: so many and no more in this run of digits.
        """

    def block(self, body: str, missing: int) -> Span | None:
        """The interval that is ``body`` with any ``missing`` digits behind it; None if it is no interval."""


@dataclass(frozen=True, slots=True)
class DecimalForm:
    """Decimals of ``places`` places and at most ``longest`` digits before the point."""

    places: int
    longest: int
    opening: str
    closing: str

    def body(self, magnitude: int) -> str:
        return decimal_text(magnitude, self.places)

    def magnitude(self, body: str) -> int | None:
        whole, _, rest = body.partition(".")
        complete = whole.isdecimal() and len(rest) == self.places and ("." in body) == bool(self.places)
        return int(whole + rest) if complete and (not rest or rest.isdecimal()) else None

    def pieces(self, body: str, group: int) -> Sequence[Piece]:
        if "." in body:
            left = self.places - len(body.partition(".")[2])
            return (Piece(length=min(group, left)),) if left else ()
        point = Piece(".") if self.places else None
        found = [point] if body and point is not None else []
        if len(body) % group == 0 and body != "0":
            found += [Piece(length=n, exact=n < group) for n in range(1, group + 1)]
        return found

    def spans(self, body: str, missing: int = 0, *, exact: bool = False) -> Sequence[Span]:
        whole, point, rest = body.partition(".")
        if len(rest) > self.places or not (whole + rest).isdecimal() or not (whole + rest).isascii():
            return () if body else ((0, 10 ** (self.longest + self.places) - 1),)
        unit = 10 ** (self.places - len(rest))
        if not whole or (whole[0] == "0" and (len(whole) > 1 or (missing and not point))):
            return ()
        if point or whole == "0":
            low = int(whole + rest) * unit
            return ((low, low + unit - 1),)
        low, high = int(whole) * 10**missing, (int(whole) + 1) * 10**missing
        found = []
        for _ in range(1 if exact else self.longest - len(whole) - missing + 1):
            found.append((low * unit, high * unit - 1))
            low, high = low * 10, high * 10
        return found

    def block(self, body: str, missing: int) -> Span | None:
        whole, point, _ = body.partition(".")
        if not whole or (whole[0] == "0" and not point):
            return None
        if point:
            return self.spans(body)[0]
        low, unit = int(whole) * 10**missing, 10**self.places
        return low * unit, (low + 10**missing) * unit - 1


@dataclass(frozen=True, slots=True)
class MomentForm:
    """Texts of one width, rising with their codes; ``codes`` bounds them."""

    codes: IntRange
    spell: Callable[[int], str]
    opening: str = '"'
    closing: str = '"'
    _known: dict[str, Span] = field(default_factory=dict, compare=False)

    def body(self, magnitude: int) -> str:
        return self.spell(magnitude)

    def magnitude(self, body: str) -> int | None:
        if len(body) < len(self.spell(self.codes.lo)):
            return None
        low, high = self._span(body)
        return low if low <= high else None

    def pieces(self, body: str, group: int) -> Sequence[Piece]:
        rest = self.spell(self.codes.lo)[len(body) :]
        if not rest:
            return ()
        digits = len(rest) - len(rest.lstrip("0123456789"))
        if digits:
            return (Piece(length=min(group, digits)),)
        return (Piece(rest[: next((at for at, c in enumerate(rest) if c.isdigit()), len(rest))]),)

    def spans(self, body: str, missing: int = 0, *, exact: bool = False) -> Sequence[Span]:
        low, high = self._span(body)
        return ((low, high),) if low <= high else ()

    def block(self, body: str, missing: int) -> Span | None:
        return None

    def _span(self, body: str) -> Span:
        """Codes whose texts begin so. O(log codes), within the interval of the text one character shorter."""
        if not body:
            return self.codes.lo, self.codes.hi
        found = self._known.get(body)
        if found is None:
            outer = self._span(body[:-1])
            first = self._first(lambda text: text[: len(body)] >= body, outer)
            last = self._first(lambda text: text[: len(body)] > body, outer) - 1
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            found = self._known[body] = first, last
        return found

    def _first(self, reached: Callable[[str], bool], within: Span) -> int:
        """The first code of an interval whose text is that far, or the one behind the interval."""
        low, high = within[0], within[1] + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(self.spell(middle)) else (middle + 1, high)
        return low


_MAX_KNOWN = 1 << 14


def form_of(domain: Domain) -> Form | None:
    """The form of a domain that is a stride of decimals, dates or times; None for others."""
    if isinstance(domain, StepDomain):
        kind, zone = domain.type, domain.zone
        return MomentForm(domain.codes, lambda code: code_to_iso(kind, code, zone))
    if not isinstance(domain, DecimalDomain):
        return None
    most = max(abs(domain.codes.lo), abs(domain.codes.hi))
    longest = len(decimal_text(most, domain.places).partition(".")[0])
    quote = '"' if domain.quoted else ""
    return DecimalForm(domain.places, longest, quote, quote)

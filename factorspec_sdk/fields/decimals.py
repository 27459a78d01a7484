"""Fixed-point decimals: numbers with a fixed count of decimal places, computed with as scaled integers.

A value with p places is the integer ``value · 10^p`` (its code) and is written with exactly p digits after
the point: ``-0.05`` with two places is the code -5. ``CodeType`` carries the places (``decimal2``).
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Literal, cast, get_args

DecimalType = Literal[
    "decimal0", "decimal1", "decimal2", "decimal3", "decimal4", "decimal5", "decimal6", "decimal7",
    "decimal8", "decimal9", "decimal10", "decimal11", "decimal12", "decimal13", "decimal14", "decimal15",
    "decimal16", "decimal17", "decimal18",
]  # fmt: skip
DECIMALS: tuple[DecimalType, ...] = get_args(DecimalType)
#: most decimal places of a field, and of what is calculated from fields
MAX_PLACES = len(DECIMALS) - 1

_PLACES: dict[str | None, int] = {"int": 0, **{name: places for places, name in enumerate(DECIMALS)}}
_DECIMAL = re.compile(r"(-?)([0-9]{1,40})(?:\.([0-9]{1,40}))?", re.ASCII)


def is_decimal(code_type: str | None) -> bool:
    """True for decimals of any number of places."""
    return code_type is not None and code_type.startswith("decimal")


def places_of(code_type: str | None) -> int | None:
    """Decimal places of a number's type, 0 for integers; None for what is no number."""
    return _PLACES.get(code_type)


def decimal_type(places: int) -> DecimalType:
    """The type of decimals with so many places, at most ``MAX_PLACES``."""
    return DECIMALS[places]


def read_decimal(text: str) -> tuple[int, int] | None:
    """(digits as an integer, places) of a text such as ``-12.30``; None if it is none."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return None
    sign, whole, rest = found[1], found[2], found[3] or ""
    return int(f"{sign}{whole}{rest}"), len(rest)


def decimal_code(text: str, places: int) -> int | None:
    """The code of a decimal text at so many places; None if it is no decimal or has more places."""
    found = read_decimal(text)
    if found is None:
        return None
    digits, own = found
    if own <= places:
        return cast(int, digits * 10 ** (places - own))
    whole, rest = divmod(digits, 10 ** (own - places))
    return None if rest else whole


def decimal_text(code: int, places: int) -> str:
    """The canonical text of a code; the inverse of ``decimal_code``."""
    if not places:
        return str(code)
    digits = f"{abs(code):0{places + 1}d}"
    return f"{'-' if code < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def exact_text(number: int | Fraction, places: int) -> str:
    """The text of a number that has a finite decimal form, with at least so many places."""
    while (scaled := Fraction(number) * 10**places).denominator > 1:
        places += 1
    return decimal_text(scaled.numerator, places)


def exact(number: Decimal | Fraction | int) -> int | Fraction:
    """The same number as an integer where it is whole, else as a fraction in lowest terms."""
    fraction = Fraction(number)
    return fraction.numerator if fraction.denominator == 1 else fraction


def exact_decimal(text: str) -> int | Fraction | None:
    """The number that a decimal text spells."""
    found = read_decimal(text)
    return None if found is None else exact(Fraction(found[0], 10 ** found[1]))

"""Values that a domain does not have, and the one of the domain that they come closest to.

Records written by hand or by a model say ``"4"`` for 4, ``" oslo"`` for Oslo, 31 where 30 is the most.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from difflib import get_close_matches

from factorspec_sdk.fields.codes import iso_to_code, moment_of
from factorspec_sdk.fields.decimals import places_of
from factorspec_sdk.fields.domains import Domain, IntRange

#: values of an enum that are compared letter by letter; more are compared as a whole
_MOST_COMPARED = 500
#: and of how many letters; also most digits of a number
_LONGEST = 400


def closest_index(domain: Domain, value: object) -> int | None:
    """Index of the value meant, or of the nearest number; None where none is near. O(size of an enum)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        text = str(value).strip()
    except ValueError:  # an integer of thousands of digits
        return None
    codes = domain.stride
    if codes is None:
        return _closest_text(domain, text)
    wanted = _code(domain, text)
    return None if wanted is None else _clamped(codes, wanted)


def _code(domain: Domain, text: str) -> Decimal | None:
    """What the value would be among the domain's codes; None where it is of another type."""
    kind = moment_of(domain.code_type)
    if kind is not None:
        code = iso_to_code(kind, text)
        return None if code is None else Decimal(code)
    number, places = _number(text), places_of(domain.code_type)
    return None if number is None or places is None else number.scaleb(places)


def _number(text: str) -> Decimal | None:
    """A finite number of a size that may be meant."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < _LONGEST else None


def _clamped(codes: IntRange, wanted: Decimal) -> int:
    if not codes.lo < wanted < codes.hi:
        return 0 if wanted <= codes.lo else len(codes) - 1
    return int(((wanted - codes.lo) / codes.step).to_integral_value())


def _closest_text(domain: Domain, value: str) -> int | None:
    wanted = _folded(value)
    known: dict[str, int] = {}
    for index in range(len(domain)):
        known.setdefault(_folded(str(domain.value(index))), index)
    if wanted in known:
        return known[wanted]
    if len(domain) > _MOST_COMPARED or len(wanted) > _LONGEST:
        return None
    close = get_close_matches(wanted, list(known), n=1, cutoff=0.8)
    return known[close[0]] if close else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())

"""Fixed-point decimals: a domain with decimal places, on strings (the default), numbers, and listed texts.

::

    {"type": "string", "x-factorspec": {"domain": {"places": 2, "min": "0.00", "max": "9.5", "step": "0.05"}}}
    {"type": "number", "x-factorspec": {"domain": {"places": 2, "min": "0.00", "max": "9.95"}}}
    {"type": "string", "enum": ["7.00", "19.00"], "x-factorspec": {"domain": {"places": 2}}}

Values are written with exactly so many places, as a string or a number. Bounds and step are texts, never
floats.
"""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.decimals import MAX_PLACES, decimal_code, decimal_text, decimal_type
from factorspec_sdk.fields.domains import CodeType, DecimalDomain, IntRange, Scalar
from factorspec_sdk.wire.keywords import VENDOR, Schema
from factorspec_sdk.wire.limits import MAX_INTEGER, MIN_INTEGER
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import FiniteNode, SchemaNode
from factorspec_sdk.wire.vendor import vendor_of

_RANGE_KEYS = frozenset({"places", "min", "max", "step"})
_LIST_KEYS = frozenset({"places"})
#: a number of so many digits is the same number after it went through a 64-bit float
_FLOAT_DIGITS = 15


def read_decimals(
    schema: Schema, domain: JsonValue, place: str, problems: Problems, *, quoted: bool
) -> SchemaNode | None:
    """Read a string or number schema whose domain has decimal places."""
    below = pointer(place, VENDOR, "domain")
    for key in sorted(schema.keys() & _BESIDE):
        problems.refuse(pointer(place, key), f"{key} beside a domain is not enforced", schema[key])
        return None
    places = _places(domain, _RANGE_KEYS, below, problems)
    if places is None:
        return None
    assert isinstance(domain, dict)
    lo, hi = (_code(domain, key, places, below, problems) for key in ("min", "max"))
    step = _code({"step": decimal_text(1, places), **domain}, "step", places, below, problems)
    if lo is None or hi is None or step is None:
        return None
    if step < 1:
        problems.add(pointer(below, "step"), "a step is positive", domain.get("step"))
        return None
    if lo > hi:
        problems.empty(below, f"min {domain['min']} is above max {domain['max']}")
        return None
    if not quoted and max(len(str(abs(lo))), len(str(abs(hi)))) > _FLOAT_DIGITS:
        hint = "write it as a string: type string"
        problems.refuse(below, f"a number of more than {_FLOAT_DIGITS} digits loses some of them", hint=hint)
        return None
    return FiniteNode(place, DecimalDomain(places, IntRange(lo, hi - (hi - lo) % step, step), quoted))


def listed_type(schema: Schema, values: Sequence[Scalar], place: str, problems: Problems) -> CodeType | None:
    """The type of listed texts whose domain says their places; None where there is none, or a bad one."""
    vendor = vendor_of(schema, place, frozenset({"domain"}), problems)
    if "domain" not in vendor:
        return None
    places = _places(vendor["domain"], _LIST_KEYS, pointer(place, VENDOR, "domain"), problems)
    if places is None:
        return None
    for value in values:
        code = decimal_code(value, places) if isinstance(value, str) else None
        if value is not None and (code is None or decimal_text(code, places) != value):
            key = "enum" if "enum" in schema else "const"
            hint = f"write it like {decimal_text(5, places)}"
            problems.add(pointer(place, key), f"a listed value is no decimal of {places} places", value, hint)
            return None
    return decimal_type(places)


_BESIDE = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"}
)


def _places(domain: JsonValue, keys: frozenset[str], place: str, problems: Problems) -> int | None:
    if not isinstance(domain, dict):
        problems.add(place, 'a domain is an object {"places": n, "min": …, "max": …}', domain)
        return None
    for key in domain.keys() - keys:
        hint = problems.did_you_mean(key, keys)
        problems.refuse(pointer(place, key), f"unknown keyword {key!r}", domain[key], hint)
        return None
    places = domain.get("places")
    if isinstance(places, bool) or not isinstance(places, int) or not 0 <= places <= MAX_PLACES:
        message = f"places is a whole number from 0 to {MAX_PLACES}"
        hint = "a domain without a format is one of decimals" if places is None else None
        problems.add(pointer(place, "places"), message, places, hint)
        return None
    return places


def _code(domain: Schema, key: str, places: int, place: str, problems: Problems) -> int | None:
    value, below = domain.get(key), pointer(place, key)
    code = decimal_code(value, places) if isinstance(value, str) else None
    if code is None:
        message = f"{key} is a decimal text of at most {places} places"
        problems.add(below, message, value, f'write it like "{decimal_text(5, places)}"')
    elif not MIN_INTEGER <= code <= MAX_INTEGER:
        problems.refuse(below, f"{key} has too many digits", value, "choose narrower bounds or fewer places")
        return None
    return code

"""Strings: plain ones, patterns, formats, and dates and times with a domain.

Formats are taken only where every text that the grammar library lets through is valid. XGrammar's own
``date`` lets 30 February through and its ``email`` refuses ``a@b.c``, so dates and times are delegated as
patterns of our own, and the other formats are refused.
"""

from __future__ import annotations

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import (
    EnumDomain,
    IntRange,
    MomentType,
    StepDomain,
    canonical_code,
    moment_kind,
    zone_of,
)
from factorspec_sdk.wire.decimals import read_decimals
from factorspec_sdk.wire.finite import moment_name
from factorspec_sdk.wire.keywords import VENDOR, Schema, refuse_others
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.patterns import PatternProblem, enforced_pattern
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import FiniteNode, SchemaNode, TextNode
from factorspec_sdk.wire.vendor import vendor_of

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DAY = (
    f"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)"
)
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#: format -> the part of a string's schema that the grammar library gets
FORMATS: dict[str, Schema] = {
    "date": {"pattern": f"^{_DAY}$"},
    "time": {"pattern": f"^{_CLOCK}$"},
    "date-time": {"pattern": f"^{_DAY}T{_CLOCK}{_ZONE}$"},
    "uuid": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    "ipv4": {
        "pattern": "^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}"
        "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$"
    },
}
_LENGTHS = frozenset({"minLength", "maxLength"})
_DOMAIN_KEYS = frozenset({"min", "max", "step"})


def read_string(schema: Schema, place: str, limits: Limits, problems: Problems) -> SchemaNode | None:
    """Read a schema of type string without ``enum``."""
    refuse_others(schema, {"type", "format", "pattern", VENDOR, *_LENGTHS}, "strings", place, problems)
    vendor = vendor_of(schema, place, frozenset({"domain"}), problems)
    narrowing = [key for key in ("format", "pattern") if key in schema]
    bounds = [key for key in ("minLength", "maxLength") if key in schema]
    if len(narrowing) > 1 or (narrowing and bounds):
        for key in (narrowing + bounds)[1:]:
            hint = "write the bounds into the pattern" if "pattern" in schema else "leave it out"
            problems.refuse(
                pointer(place, key), f"{key} beside {narrowing[0]} is not enforced", schema[key], hint
            )
        return None
    if "domain" in vendor and "format" not in schema:
        return read_decimals(schema, vendor["domain"], place, problems, quoted=True)
    if "domain" in vendor:
        return _moments(schema, vendor["domain"], place, limits, problems)
    if narrowing:
        return _narrowed(schema, narrowing[0], place, limits, problems)
    return _plain(schema, place, limits, problems)


def _plain(schema: Schema, place: str, limits: Limits, problems: Problems) -> SchemaNode | None:
    least = length(schema, "minLength", place, limits.text_chars, problems)
    most = length(schema, "maxLength", place, limits.text_chars, problems)
    if most is not None and (least or 0) > most:
        problems.empty(place, f"minLength {least} is above maxLength {most}")
        return None
    if most == 0:
        return FiniteNode(place, EnumDomain(("",)))
    return TextNode(place, least or 0, most, None)


def length(schema: Schema, key: str, place: str, most: int, problems: Problems) -> int | None:
    """A count (``minLength``, ``maxItems``, …), or None where it is absent or wrong (noted)."""
    if key not in schema:
        return None
    value = schema[key]
    place = pointer(place, key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        problems.add(place, f"{key} is a whole number from 0", value)
        return None
    if value > most:
        problems.refuse(place, f"{key} above {most} is not supported", value)
        return None
    return value


def _narrowed(schema: Schema, key: str, place: str, limits: Limits, problems: Problems) -> SchemaNode | None:
    value = schema[key]
    below = pointer(place, key)
    if not isinstance(value, str):
        problems.add(below, f"{key} is a text", value)
        return None
    if key == "format":
        if value not in FORMATS:
            hint = problems.did_you_mean(value, FORMATS) or ""
            problems.refuse(
                below,
                "this format cannot be enforced exactly",
                value,
                f"{hint}; or leave it out, or write a pattern",
            )
            return None
        return TextNode(place, 0, None, {"type": "string", **FORMATS[value]})
    try:
        pattern = enforced_pattern(value, limits.pattern_states)
    except PatternProblem as problem:
        problems.refuse(below, f"the pattern is not enforced: {problem.reason}", value, problem.hint)
        return None
    return TextNode(place, 0, None, {"type": "string", "pattern": pattern})


def _moments(
    schema: Schema, domain: JsonValue, place: str, limits: Limits, problems: Problems
) -> SchemaNode | None:
    kind = moment_name(schema.get("format"))
    below = pointer(place, VENDOR, "domain")
    if kind is None:
        problems.refuse(below, "beside a domain, format is date, time or date-time", domain)
        return None
    if not isinstance(domain, dict):
        problems.add(below, 'a domain is an object {"min": …, "max": …, "step": n}', domain)
        return None
    for key in domain.keys() - _DOMAIN_KEYS:
        problems.refuse(
            pointer(below, key),
            f"unknown keyword {key!r}",
            domain[key],
            problems.did_you_mean(key, _DOMAIN_KEYS),
        )
    lo = _moment(domain, "min", kind, below, problems)
    hi = _moment(domain, "max", kind, below, problems)
    step = domain.get("step", 1)
    if not isinstance(step, int) or isinstance(step, bool) or step < 1:
        problems.add(pointer(below, "step"), f"step is a whole number of {_unit(kind)} from 1", step)
        return None
    if lo is None or hi is None:
        return None
    if lo > hi:
        problems.empty(below, f"min {domain['min']} is after max {domain['max']}")
        return None
    zones = {zone_of(str(domain[key])) for key in ("min", "max")}
    if len(zones) > 1:
        problems.add(below, "min and max name different time zones", hint="write both with the same one")
        return None
    codes = IntRange(lo, hi - (hi - lo) % step, step)
    return FiniteNode(place, StepDomain(moment_kind(kind, domain["min"]), codes, zones.pop()))


def _unit(kind: str) -> str:
    return "days" if kind == "date" else "seconds"


def _moment(domain: Schema, key: str, kind: MomentType, place: str, problems: Problems) -> int | None:
    value = domain.get(key)
    place = pointer(place, key)
    if value is None:
        problems.add(place, f"{key} is missing", hint=f"write the bound as an ISO {kind}")
        return None
    code = canonical_code(moment_kind(kind, value), value)
    if code is None:
        problems.add(place, f"{key} is an ISO {kind}", value, f"write it like {_EXAMPLES[kind]}")
    return code


_EXAMPLES = {"date": "2026-05-01", "time": "09:30:00", "datetime": "2026-05-01T09:30:00"}

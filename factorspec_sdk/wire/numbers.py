"""Integers and numbers: a stride of integers where both bounds are known, else free numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import IntRange
from factorspec_sdk.wire.decimals import read_decimals
from factorspec_sdk.wire.keywords import VENDOR, Schema, refuse_others
from factorspec_sdk.wire.limits import MAX_INTEGER, MIN_INTEGER
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import FiniteNode, FreeNode, SchemaNode
from factorspec_sdk.wire.vendor import vendor_of

_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
#: XGrammar 0.2.9 enforces a free multipleOf up to here
_MAX_FREE_STEP = 1024
#: numbers with bounds are written without an exponent and with at most so many decimals
_DECIMALS = 6
_MAX_DECIMAL = 10**15
_MAX_VALUES = 2**62


def read_integer(schema: Schema, place: str, problems: Problems) -> SchemaNode | None:
    """Read a schema of type integer without ``enum``."""
    refuse_others(schema, {"type", "multipleOf", *_BOUNDS}, "integers", place, problems)
    given, wrong = _bounds(schema, place, problems)
    step = _step(schema, place, problems)
    if wrong or step is None:
        return None
    lo = _least(given)
    hi = _most(given)
    if lo is None or hi is None:
        return _free_integer(lo, hi, step, schema, place, problems)
    lo, hi = -(-lo // step) * step, hi // step * step
    if lo > hi:
        problems.empty(place, "no integer lies between the bounds")
        return None
    if (hi - lo) // step >= _MAX_VALUES:
        problems.refuse(place, "the range is wider than 2^62 values", hint="choose narrower bounds")
        return None
    return FiniteNode(place, IntRange(lo, hi, step))


def _free_integer(
    lo: int | None, hi: int | None, step: int, schema: Schema, place: str, problems: Problems
) -> SchemaNode | None:
    free: Schema = {"type": "integer"}
    if step > 1:
        if lo is not None or hi is not None or step > _MAX_FREE_STEP:
            problems.refuse(
                pointer(place, "multipleOf"),
                f"multipleOf is enforced only with both bounds, or up to {_MAX_FREE_STEP} with none",
                schema["multipleOf"],
                "add the missing bound",
            )
            return None
        free["multipleOf"] = step
    if lo is not None:
        free["minimum"] = lo
    if hi is not None:
        free["maximum"] = hi
    if any(bound is not None and not MIN_INTEGER <= bound <= MAX_INTEGER for bound in (lo, hi)):
        problems.refuse(place, "a bound does not fit into 64 bits")
        return None
    return FreeNode(place, free)


def read_number(schema: Schema, place: str, problems: Problems) -> SchemaNode | None:
    """Read a schema of type number without ``enum``: free, or decimals where a domain says so."""
    refuse_others(schema, {"type", VENDOR, *_BOUNDS}, "numbers (integers have it)", place, problems)
    vendor = vendor_of(schema, place, frozenset({"domain"}), problems)
    if "domain" in vendor:
        return read_decimals(schema, vendor["domain"], place, problems, quoted=False)
    given, wrong = _bounds(schema, place, problems)
    if wrong:
        return None
    for key, bound in given.items():
        if abs(bound) >= _MAX_DECIMAL or bound * 10**_DECIMALS % 1 != 0:
            problems.refuse(
                pointer(place, key),
                f"bounds of numbers have at most {_DECIMALS} decimals and lie below 10^15",
                schema[key],
                "scale the number and declare an integer",
            )
            return None
    if not _some_decimal(given):
        problems.empty(place, f"no number of at most {_DECIMALS} decimals lies between the bounds")
        return None
    if {"minimum", "exclusiveMinimum"} <= given.keys():
        del given["minimum" if given["minimum"] <= given["exclusiveMinimum"] else "exclusiveMinimum"]
    if {"maximum", "exclusiveMaximum"} <= given.keys():
        del given["maximum" if given["maximum"] >= given["exclusiveMaximum"] else "exclusiveMaximum"]
    return FreeNode(place, {"type": "number", **{key: schema[key] for key in given}})


def _some_decimal(given: dict[str, Fraction]) -> bool:
    unit = Fraction(1, 10**_DECIMALS)
    lows = [given[k] + (unit if k[0] == "e" else 0) for k in ("minimum", "exclusiveMinimum") if k in given]
    highs = [given[k] - (unit if k[0] == "e" else 0) for k in ("maximum", "exclusiveMaximum") if k in given]
    return not lows or not highs or max(lows) <= min(highs)


def _bounds(schema: Schema, place: str, problems: Problems) -> tuple[dict[str, Fraction], bool]:
    given: dict[str, Fraction] = {}
    wrong = False
    for key in _BOUNDS:
        if key not in schema:
            continue
        value: JsonValue = schema[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            problems.add(pointer(place, key), f"{key} is a number", value)
            wrong = True
        else:
            given[key] = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return given, wrong


def _step(schema: Schema, place: str, problems: Problems) -> int | None:
    value = schema.get("multipleOf", 1)
    if isinstance(value, float) and value.is_integer() and value <= MAX_INTEGER:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        problems.add(pointer(place, "multipleOf"), "multipleOf of an integer is a whole number from 1", value)
        return None
    return value


def _least(given: dict[str, Fraction]) -> int | None:
    found = [math.ceil(given["minimum"])] if "minimum" in given else []
    if "exclusiveMinimum" in given:
        found.append(math.floor(given["exclusiveMinimum"]) + 1)
    return max(found, default=None)


def _most(given: dict[str, Fraction]) -> int | None:
    found = [math.floor(given["maximum"])] if "maximum" in given else []
    if "exclusiveMaximum" in given:
        found.append(math.ceil(given["exclusiveMaximum"]) - 1)
    return min(found, default=None)

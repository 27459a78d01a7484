"""Strings with a pattern or a format and bounds on their length."""

from __future__ import annotations

from factorspec_sdk.fields.domains import EnumDomain
from factorspec_sdk.wire.keywords import ANNOTATIONS, Schema
from factorspec_sdk.wire.languages.automaton import TooManyStates
from factorspec_sdk.wire.languages.bounded import BOUNDED_FORMATS, lengths_of_narrowed
from factorspec_sdk.wire.languages.lengths import Lengths, LengthsTooMany
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.patterns import PatternProblem
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.schema import FiniteNode, SchemaNode, TextNode
from factorspec_sdk.wire.strings import length

_LENGTHS = frozenset({"minLength", "maxLength"})
_NARROWING = frozenset({"pattern", "format"})


def is_bounded(schema: Schema) -> bool:
    """True if a schema of a string is read here."""
    keys = schema.keys() - ANNOTATIONS - {"type"}
    return bool(keys & _LENGTHS and keys & _NARROWING) and keys <= _LENGTHS | _NARROWING


def read_bounded(schema: Schema, place: str, limits: Limits, problems: Problems) -> SchemaNode | None:
    """The node of such a string; None if it has problems (noted)."""
    before = len(problems)
    least = length(schema, "minLength", place, limits.text_chars, problems) or 0
    most = length(schema, "maxLength", place, limits.text_chars, problems)
    lengths = _lengths(schema, place, most, problems)
    if lengths is None or len(problems) > before:
        return None
    if not lengths.some(least, most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        rules = " and ".join(sorted(_NARROWING & schema.keys()))
        problems.empty(place, f"no text of {bounds} characters satisfies {rules}")
        return None
    if most == 0:
        return FiniteNode(place, EnumDomain(("",)))
    kept = {key: schema[key] for key in sorted(_NARROWING & schema.keys())}
    return TextNode(place, least, most, {"type": "string", **kept})


def _lengths(schema: Schema, place: str, most: int | None, problems: Problems) -> Lengths | None:
    pattern, name = schema.get("pattern"), schema.get("format")
    for key, value in (("pattern", pattern), ("format", name)):
        if key in schema and not isinstance(value, str):
            problems.add(pointer(place, key), f"{key} is a text", value)
            return None
    if name is not None and name not in BOUNDED_FORMATS:
        hint = "leave it out, or write a pattern"
        problems.refuse(pointer(place, "format"), "this format cannot be enforced exactly", name, hint)
        return None
    assert isinstance(pattern, str | None) and isinstance(name, str | None)
    below = pointer(place, "format" if pattern is None else "pattern")
    try:
        return lengths_of_narrowed(pattern, name, most)
    except PatternProblem as problem:
        problems.refuse(below, f"the pattern is not enforced: {problem.reason}", pattern, problem.hint)
    except TooManyStates:
        problems.refuse(below, "this is too large to be enforced", schema.get("pattern", name))
    except LengthsTooMany:
        message = "which lengths these texts may have takes too long to find out"
        problems.refuse(below, message, schema.get("pattern", name), "leave minLength and maxLength out")
    return None

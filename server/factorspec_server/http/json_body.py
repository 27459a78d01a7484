"""A request body read strictly: what a lenient parser would drop or change is refused."""

from __future__ import annotations

import json
import re

from factorspec_sdk.errors import DocumentError, JsonValue, Problem, shown

MAX_DEPTH = 200
"""Deepest nesting of arrays and objects; beyond it recursive readers would fail without a good message."""

_OPENING_OR_STRING = re.compile(rb'[\[{]|[\]}]|"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class _NotJson(Exception):
    """Something that JSON does not have, or that would be lost."""


def read_json_object(body: bytes) -> dict[str, JsonValue]:
    """The JSON object that a body holds.

    Raises:
        DocumentError: the body is not UTF-8, not JSON (``NaN`` and repeated keys included), nested too
            deeply, holds half a surrogate pair, or is no object.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"not UTF-8 at byte {error.start}"
        raise _refused(where, shown(body[error.start : error.start + 4])) from error
    _check_depth(body)
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise _refused(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except (_NotJson, ValueError) as error:  # ValueError: an integer with thousands of digits
        raise _refused(f"not JSON: {error}") from error
    if rb"\u" in body.lower() and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        hint = "escape characters beyond U+FFFF as two \\u escapes"
        raise _refused("a text holds half a surrogate pair", hint=hint)
    if not isinstance(value, dict):
        raise _refused("the body must be a JSON object", shown(value))
    return value


def _check_depth(body: bytes) -> None:
    depth = 0
    for match in _OPENING_OR_STRING.finditer(body):
        mark = match.group()
        if mark in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise _refused(f"nested more than {MAX_DEPTH} levels deep at byte {match.start()}")
        elif mark in (b"]", b"}"):
            depth -= 1


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _NotJson(f"the key {shown(key)} stands twice in one object")
            seen.add(key)
    return found


def _constant(name: str) -> JsonValue:
    raise _NotJson(f"{name} is no JSON number")


def _refused(message: str, value: str | None = None, hint: str | None = None) -> DocumentError:
    return DocumentError("the request body cannot be read", [Problem("", message, value, hint)])

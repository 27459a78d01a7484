"""What an answer may mean, however loosely it is written: for ``repair``, which completes what it finds.

Single quotes, comments, missing or superfluous commas and braces, and answers that were cut off are read by
``json-repair`` (extra ``client``). A record may stand in another object, or be a bare list of its items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate, islice
from math import isfinite
from typing import cast

from factorspec_sdk.client.transport import INSTALL, JsonObject
from factorspec_sdk.errors import JsonValue, MissingExtra
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.schema import ArrayNode

_MOST_CHARS = 1 << 17
_MOST_OBJECTS = 64
_DEEPEST = 3
_MOST_NESTED = 200
_BRACKETS = re.compile(r"[\[\]{}]")


def loose_objects(answer: str, spec: Spec) -> list[JsonObject]:
    """Objects that may be meant as the record, at most ``_MOST_OBJECTS``; outer ones before what they hold.

    Raises:
        MissingExtra: ``json-repair`` is not installed.
    """
    lists = [one.name for one in spec.root.properties if isinstance(one.node, ArrayNode)]
    return list(islice(_meant(_loaded(answer), lists, _DEEPEST), _MOST_OBJECTS))


def _loaded(answer: str) -> JsonValue:
    try:
        from json_repair import loads
    except ModuleNotFoundError as error:
        raise MissingExtra(f"repairing an answer needs 'json-repair'; run: {INSTALL}") from error
    begin = min((at for at in map(answer.find, "{[") if at >= 0), default=None)
    if begin is None:
        return None
    text = answer[begin : begin + _MOST_CHARS]
    if _nesting(text) > _MOST_NESTED:
        return None
    try:
        return cast("JsonValue", loads(text))
    except (ValueError, RecursionError):  # as it is in what counts as text there
        return None


def _nesting(text: str) -> int:
    """How deep brackets nest, those in texts too; ``json-repair`` takes seconds where that has no end."""
    steps = (1 if found.group() in "{[" else -1 for found in _BRACKETS.finditer(text))
    return max(accumulate(steps), default=0)


def _meant(value: JsonValue, lists: list[str], depth: int) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield {name: _finite(inner) for name, inner in value.items()}
    elif isinstance(value, list) and value:
        yield from ({name: _finite(value)} for name in lists)
    if depth and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _meant(inner, lists, depth - 1)


def _finite(value: JsonValue) -> JsonValue:
    """A value without numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value

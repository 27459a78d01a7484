"""The smallest document found that still fails: parts are left out or made smaller as long as it does."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]


def shrunk(document: Json, fails: Callable[[Json], bool], most_tries: int = 2_000) -> Json:
    """A document that fails and none of whose smaller neighbours does (or the best after ``most_tries``).

    Args:
        document: one that fails.
        fails: whether a document fails in the same way; what cannot be read does not.
        most_tries: calls of ``fails``.
    """
    tries = 0
    found = True
    while found:
        found = False
        for smaller in neighbours(document):
            tries += 1
            if tries > most_tries:
                return document
            if fails(smaller):
                document, found = smaller, True
                break
    return document


def neighbours(document: Json) -> Iterator[Json]:
    """Documents that are smaller by one step: without one part, or with one domain cut."""
    yield from _without_parts(document, ("x-factorspec", "relations"))
    yield from _without_parts(document, ("x-factorspec", "objective"))
    for path in _objects(document):
        for name in _at(document, path)["properties"]:
            smaller = copy.deepcopy(document)
            held = _at(smaller, path)
            del held["properties"][name]
            held["required"] = [n for n in held.get("required", ()) if n != name]
            yield smaller
    for path, schema in _schemas(document):
        for change in _cuts(schema):
            smaller = copy.deepcopy(document)
            _at(smaller, path).update(change)
            yield smaller


def _without_parts(document: Json, path: tuple[str, ...]) -> Iterator[Json]:
    held = document
    for name in path:
        held = held.get(name, {})
    for at in range(len(held)):
        smaller = copy.deepcopy(document)
        del _at(smaller, path)[at]
        yield smaller


def _cuts(schema: Json) -> Iterator[Json]:
    if len(schema.get("enum", ())) > 1:
        yield {"enum": schema["enum"][:-1]}
        yield {"enum": schema["enum"][1:]}
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int) and isinstance(high, int) and low < high:
        yield {"maximum": high - schema.get("multipleOf", 1)}
        yield {"minimum": low + schema.get("multipleOf", 1)}
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if isinstance(most, int) and most > least:
        yield {"maxItems": most - 1}
        yield {"minItems": least + 1}


def _at(document: Json, path: tuple[str | int, ...]) -> Any:
    held: Any = document
    for name in path:
        held = held[name]
    return held


def _objects(document: Json) -> Iterator[tuple[str | int, ...]]:
    return (path for path, schema in _schemas(document) if "properties" in schema)


def _schemas(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """All JSON objects of a schema, the vendor key's apart."""
    if isinstance(value, dict):
        yield path, value
        for name, inner in value.items():
            if name != "x-factorspec":
                yield from _schemas(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _schemas(inner, (*path, at))

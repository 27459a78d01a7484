"""Salts of requests: those that have the same one may know of each other, by how fast they are answered.

A salt is whatever text a client or its gateway sends as ``cache_salt``, with SGLang as ``extra_key`` too.
What is kept by it is kept by its hash, which has one size and does not tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256

from factorspec_sdk.errors import JsonValue, Problem, shown

MOST_CHARS = 1024


def salt_of(given: str | None) -> str | None:
    """What is kept by a request's salt; None: it gives none."""
    return sha256(given.encode("utf-8", "surrogatepass")).hexdigest() if given else None


def salt_problems(request: Mapping[str, JsonValue], *names: str) -> Iterator[Problem]:
    """What is wrong with fields that are salts; null means absent."""
    for name in names:
        given = request.get(name)
        if given is not None and not (isinstance(given, str) and 0 < len(given) <= MOST_CHARS):
            message = f"must be a string of 1 to {MOST_CHARS} characters"
            yield Problem(f"/{name}", message, shown(given), "leave it out or send one")

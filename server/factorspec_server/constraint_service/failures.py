"""Errors on their way from a worker to the engine: as JSON, told by their codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from factorspec_sdk.errors import FactorspecError, JsonValue, Problem

#: characters of a message, and problems, where there is little room
_FEW_CHARS, _FEW_PROBLEMS = 500, 4


class WorkerLost(Exception):
    """A worker died, or did not answer, while something was asked of it. Stays inside the service."""


def failure_json(error: FactorspecError) -> dict[str, JsonValue]:
    """The error as JSON: its code and those of its bases, nearest first, and its attributes."""
    attributes = {name: value for name, value in vars(error).items() if name not in ("message", "problems")}
    bases = [kind for kind in type(error).__mro__ if issubclass(kind, FactorspecError)]
    codes: list[JsonValue] = [kind.code for kind in bases]
    written: dict[str, Any] = {
        "codes": codes,
        "message": error.message,
        "problems": [asdict(problem) for problem in error.problems],
        "attributes": attributes,
    }
    return written


def failure_bytes(error: FactorspecError, most: int) -> bytes:
    """The same as bytes, at most so many: of an error that has more to say the beginning."""
    data = json.dumps(failure_json(error)).encode()
    if len(data) <= most:
        return data
    problems = [Problem(p.place, p.message[:_FEW_CHARS]) for p in error.problems[:_FEW_PROBLEMS]]
    return json.dumps(failure_json(FactorspecError(error.message[:_FEW_CHARS], problems))).encode()


def failure_from(written: Any) -> FactorspecError:
    """The error of which ``failure_json`` tells; of a kind that is not known here, the nearest base."""
    kinds: dict[str, type[FactorspecError]] = {kind.code: kind for kind in _kinds(FactorspecError)}
    kind = next((kinds[code] for code in written["codes"] if code in kinds), FactorspecError)
    error: FactorspecError = kind.__new__(kind)
    FactorspecError.__init__(error, written["message"], [Problem(**each) for each in written["problems"]])
    for name, value in written["attributes"].items():
        setattr(error, name, tuple(value) if isinstance(value, list) else value)
    return error


def _kinds(base: type[FactorspecError]) -> Iterator[type[FactorspecError]]:
    for kind in base.__subclasses__():
        if "code" in vars(kind):
            yield kind
        yield from _kinds(kind)

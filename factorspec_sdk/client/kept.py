"""Results kept in a JSON-lines file, so that a run that was ended goes on where it was.

Each line is one result: ``{"key": ..., "index": ..., "result": {...}}``. The key is a hash of everything that
was asked. A line is appended by one write once its record is valid, so that only the last line can be torn; a
torn line counts as none and is cut off.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from io import FileIO
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from factorspec_sdk.client.exchange import Exchange
from factorspec_sdk.client.result import Report, Result, Route
from factorspec_sdk.errors import Attempt, DocumentError, Problem, Usage

T = TypeVar("T", bound=BaseModel)


def key_of(exchange: Exchange[T]) -> str:
    """SHA-256 (hex) of all that is asked: conversation, spec, model and options."""
    options = exchange.options
    # a function that makes the prompt is in the conversation already
    told = {one.name: getattr(options, one.name) for one in fields(options) if one.name != "prompting"}
    asked = {"spec": exchange.spec.hash, "turns": exchange.turns, "options": told}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Stored:
    """A result without its value, which the model makes of the text again."""

    text: str
    report: Report
    usage: Usage
    spec_hash: str
    time_s: float
    raw: dict[str, Any]
    route: Route
    attempts: tuple[Attempt, ...]
    changes: tuple[tuple[str, str | None, str | None], ...]


_STORED: TypeAdapter[_Stored] = TypeAdapter(_Stored)


class KeptResults:
    """The file of one run: what it held, and where results are added. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file; its directory has to exist.

        Raises:
            DocumentError: a line that is not the last is none of ours.
        """
        self._file: FileIO = path.open("a+b", buffering=0)
        self._lock = threading.Lock()
        try:
            self._known = self._read(path)
        except BaseException:
            self._file.close()
            raise

    def find(self, key: str, index: int, exchange: Exchange[T]) -> Result[T] | None:
        """The result that was kept for a request, validated again; None where there is none."""
        stored = self._known.get((key, index))
        return None if stored is None else _restored(stored, exchange)

    def add(self, key: str, index: int, result: Result[T]) -> None:
        """Append one result."""
        values = (result.text, result.report, result.usage, result.spec_hash, result.time_s, result.raw)
        changes = tuple((change.path, change.before, change.after) for change in result.changes)
        stored = _Stored(*values, result.route, result.attempts, changes)
        line = {"key": key, "index": index, "result": to_jsonable_python(stored)}
        rest = (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
        with self._lock:
            while rest:
                rest = rest[self._file.write(rest) :]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, path: Path) -> Mapping[tuple[str, int], _Stored]:
        self._file.seek(0)
        whole = self._file.read()
        end = whole.rfind(b"\n") + 1
        known: dict[tuple[str, int], _Stored] = {}
        for number, line in enumerate(whole[:end].split(b"\n")[:-1], 1):
            try:
                key, index, stored = _parsed(line)
            except (ValueError, KeyError, TypeError) as error:
                hint = "give another file to resume from, or remove the line"
                problem = Problem(f"line {number}", "is no result of generate_many", hint=hint)
                raise DocumentError(f"{path} cannot be resumed from", [problem]) from error
            known.setdefault((key, index), stored)
        if end < len(whole):
            self._file.truncate(end)
        return known


def _parsed(line: bytes) -> tuple[str, int, _Stored]:
    """One line. Raises ValueError, KeyError or TypeError where it is none of ours."""
    found: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    return str(found["key"]), int(found["index"]), _STORED.validate_python(found["result"])


def _restored(stored: _Stored, exchange: Exchange[T]) -> Result[T] | None:
    """The result; None where the model's own validators do not take it any more."""
    try:
        value = exchange.record.model_validate_json(stored.text)
    except ValidationError:
        return None
    result = Result(
        value,
        stored.report,
        stored.text,
        stored.usage,
        stored.spec_hash,
        stored.time_s,
        stored.raw,
        stored.route,
        stored.attempts,
    )
    if not stored.changes:
        return result
    # this brings the constraint core, which a client does without otherwise
    from factorspec_sdk.explaining import Change

    return replace(result, changes=tuple(Change(*change) for change in stored.changes))

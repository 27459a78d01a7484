"""Results kept in a JSON-lines file, so that a run that was ended goes on where it was.

Each line is one result::

    {"index": 3, "asked": {"spec": hash, "prompt": hash, "options": {...}}, "result": {...}}

``asked`` says what the record was asked for with: a run that asks something else at that place is refused,
never mixed in. A line is appended by one write once its record is valid, and what was written of a line that
failed is cut off, so that only a killed process can leave a torn line, the last one; it counts as none.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from factorspec_sdk.client.exchange import Exchange, Options
from factorspec_sdk.client.file_lock import try_lock
from factorspec_sdk.client.result import Report, Result, Route
from factorspec_sdk.errors import Attempt, DocumentError, EngineError, Problem, Usage, shown

T = TypeVar("T", bound=BaseModel)

_MOST_TOLD = 5
# A record that came within limits is as good under others. What ``prompting`` does is in the prompt.
_LIMITS = ("max_tokens", "max_answers", "prompting")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a record was asked for with.

    Attributes:
        spec: its hash.
        prompt: SHA-256 (hex) of the conversation.
        options: those that are not left as they are by default, but for limits.
    """

    spec: str
    prompt: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, exchange: Exchange[T]) -> Asked:
        """What an exchange asks for."""
        options, usual = exchange.options, Options(model="")
        told = {
            one.name: getattr(options, one.name)
            for one in fields(options)
            if one.name not in _LIMITS and getattr(options, one.name) != getattr(usual, one.name)
        }
        turns = json.dumps(exchange.turns, sort_keys=True, ensure_ascii=False)
        prompt = hashlib.sha256(turns.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(exchange.spec.hash, prompt, told)

    def differences(self, other: Asked) -> Iterator[str]:
        """What this one has that the other has not, in words."""
        if self.spec != other.spec:
            yield f"is a record of another spec ({self.spec[:12]}…, not {other.spec[:12]}…)"
        if self.prompt != other.prompt:
            yield "answers another prompt"
        for name in dict.fromkeys([*self.options, *other.options]):
            was, now = (
                shown(one.options.get(name, getattr(Options(model=""), name, None))) for one in (self, other)
            )
            if was != now:
                yield f"was asked for with {name}={was}, not {now}"


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


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the file."""

    index: int
    asked: Asked
    result: _Stored


_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


class KeptResults:
    """The file of one run: what it held, and where results are added. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file; its directory has to exist.

        Raises:
            DocumentError: it cannot be opened, another run has it open, or a line that is not the last is
                none of ours.
        """
        self._path = path
        self._file = _opened(path)
        self._lock = threading.Lock()
        try:
            if not try_lock(self._file):
                hint = "wait for it, or give each run a file of its own"
                raise DocumentError(
                    f"{path} cannot be resumed from", [Problem("", "another run is using it", hint=hint)]
                )
            self._lines, self._end = self._read()
        except BaseException:
            self._file.close()
            raise

    def found(self, exchanges: Sequence[Exchange[T]]) -> list[Result[T] | None]:
        """The results that were kept for requests, validated again; None where there is none.

        Raises:
            DocumentError: the file holds records that were asked for otherwise.
        """
        problems = [*islice(self._differences(exchanges), _MOST_TOLD + 1)]
        if problems:
            told = problems[:_MOST_TOLD]
            if len(problems) > len(told):
                told.append(Problem("", "and more"))
            raise DocumentError(f"{self._path} keeps the records of another run; give another file", told)
        lines = (self._lines.get(at) for at in range(len(exchanges)))
        return [
            None if line is None else _restored(line[1].result, exchange)
            for line, exchange in zip(lines, exchanges, strict=True)
        ]

    def _differences(self, exchanges: Sequence[Exchange[T]]) -> Iterator[Problem]:
        for at, exchange in enumerate(exchanges):
            if at in self._lines:
                number, line = self._lines[at]
                for difference in line.asked.differences(Asked.of(exchange)):
                    yield Problem(f"line {number}", f"(for prompts[{at}]) {difference}")

    def add(self, index: int, exchange: Exchange[T], result: Result[T]) -> None:
        """Append one result.

        Raises:
            EngineError: it cannot be written, as on a full disk; the file stays as it was.
        """
        values = (result.text, result.report, result.usage, result.spec_hash, result.time_s, result.raw)
        changes = tuple((change.path, change.before, change.after) for change in result.changes)
        stored = _Stored(*values, result.route, result.attempts, changes)
        line = to_jsonable_python(_Line(index, Asked.of(exchange), stored))
        with self._lock:
            self._append((json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))

    def _append(self, line: bytes) -> None:
        try:
            # what an earlier failure left behind would tear the file in the middle
            self._file.truncate(self._end)
            rest = line
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            hint = "run again once that is mended: what the file holds is not asked for again"
            problem = Problem(str(self._path), error.strerror or str(error), hint=hint)
            raise EngineError("a result cannot be kept", [problem]) from error
        self._end += len(line)

    def close(self) -> None:
        """Close the file, without what a failed write may have left of a line."""
        with self._lock, closing(self._file):
            if self._file.seek(0, 2) > self._end:
                self._file.truncate(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> tuple[Mapping[int, tuple[int, _Line]], int]:
        """The lines by index, each with its number, and where the last whole one ends."""
        self._file.seek(0)
        whole = self._file.read()
        end = whole.rfind(b"\n") + 1
        lines: dict[int, tuple[int, _Line]] = {}
        for number, text in enumerate(whole[:end].split(b"\n")[:-1], 1):
            try:
                line = _LINE.validate_python(json.loads(text.decode("utf-8", "surrogatepass")))
            except (ValueError, RecursionError) as error:  # nesting without end
                hint = "give another file to resume from, or remove the line"
                problem = Problem(f"line {number}", "is no result of generate_many", hint=hint)
                raise DocumentError(f"{self._path} cannot be resumed from", [problem]) from error
            lines[line.index] = number, line
        return lines, end


def _opened(path: Path) -> FileIO:
    try:
        return path.open("a+b", buffering=0)
    except OSError as error:
        problem = Problem(str(path), error.strerror or str(error), hint="its folder has to exist")
        raise DocumentError("there is no file to keep results in", [problem]) from error


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

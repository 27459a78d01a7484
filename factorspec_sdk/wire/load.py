"""From bytes, text or a mapping to plain JSON within the budgets: nothing is read before this pass.

After it: objects are ``dict`` with string keys, lists are ``list``, integers fit into 64 bits, floats are
finite, texts can be written as UTF-8, no object named a key twice, and the nesting is bounded.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

from factorspec_sdk.errors import DocumentError, JsonValue, Problem, RequestTooLarge, shown
from factorspec_sdk.wire.limits import MAX_INTEGER, MIN_INTEGER, Limits
from factorspec_sdk.wire.problems import Problems, pointer

_INFINITY = float("inf")
_SURROGATE = re.compile("[\ud800-\udfff]")


def load_document(source: Mapping[str, object] | str | bytes, limits: Limits) -> dict[str, JsonValue]:
    """A plain copy of the document.

    Raises:
        RequestTooLarge: a budget is exceeded.
        DocumentError: this is no JSON object, or JSON that we do not take.
    """
    value: object = source
    if isinstance(source, str | bytes | bytearray):
        value = _decode(source, limits)
    problems = Problems(limits)
    if not isinstance(value, Mapping):
        problems.add("", "a document is a JSON object", value)
        problems.raise_if_any()
    plain = _plain(value, limits)
    if plain is None:
        plain = _Admission(limits, problems).admit(value, "", 0)
    problems.raise_if_any()
    assert isinstance(plain, dict)
    return plain


def too_large(place: str, message: str, hint: str | None = None) -> NoReturn:
    """Raise ``RequestTooLarge`` for one budget."""
    raise RequestTooLarge("the document is too large", [Problem(place, message, None, hint)])


class _Repeated(dict[str, object]):
    """A JSON object that names keys twice."""

    keys_twice: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _Repeated(found)
    counted = Counter(name for name, _ in pairs)
    repeated.keys_twice = tuple(name for name, times in counted.items() if times > 1)
    return repeated


def _constant(name: str) -> NoReturn:
    raise DocumentError("not JSON", [Problem("", f"{name} is no JSON number", name)])


def _decode(source: str | bytes | bytearray, limits: Limits) -> object:
    if len(source) > limits.document_bytes:
        too_large("", f"more than {limits.document_bytes} bytes")
    if not isinstance(source, str):
        try:
            source = bytes(source).decode("utf-8")
        except UnicodeDecodeError as error:
            where = f"byte {error.start} is not UTF-8"
            raise DocumentError(
                "not JSON", [Problem("", where, shown(source[error.start : error.end]))]
            ) from error
    try:
        return json.loads(source, object_pairs_hook=_pairs, parse_constant=_constant)
    except RecursionError:
        too_large("", f"nested deeper than {limits.depth}")
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise DocumentError("not JSON", [Problem("", where)]) from error
    except ValueError as error:  # an integer of thousands of digits
        raise DocumentError("not JSON", [Problem("", "an integer does not fit into 64 bits")]) from error


class _Odd(Exception):
    """Something that has to be looked at closely: most likely it is refused."""


def _plain(value: object, limits: Limits) -> JsonValue:
    """A copy of a document in which nothing is odd, or None.

    Nothing is located here, which makes it several times faster. What it takes ``_Admission`` takes too; rows
    of tables count as nodes here.
    """
    copier = _Copier(limits)
    try:
        return copier.copy(value, 0)
    except _Odd:
        return None


class _Copier:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nodes = limits.nodes
        self._bytes = limits.document_bytes

    def copy(self, value: object, depth: int) -> JsonValue:
        kind = type(value)
        if kind is str:
            return self._text(value, self._limits.text_chars)  # type: ignore[arg-type]
        if kind is dict or kind is list:
            self._nodes -= 1
            if self._nodes < 0 or depth >= self._limits.depth:
                raise _Odd
            depth += 1
            if kind is list:
                return [self.copy(item, depth) for item in value]  # type: ignore[attr-defined]
            most = self._limits.key_chars
            return {self._text(key, most): self.copy(item, depth) for key, item in value.items()}  # type: ignore[attr-defined]
        self._count(2)
        if kind is int:
            if not MIN_INTEGER <= value <= MAX_INTEGER:  # type: ignore[operator]
                raise _Odd
        elif kind is float:
            if value != value or value in (_INFINITY, -_INFINITY):
                raise _Odd
        elif kind is not bool and value is not None:
            raise _Odd
        return value  # type: ignore[return-value]

    def _text(self, value: str, most: int) -> str:
        if type(value) is not str or len(value) > most or (not value.isascii() and _SURROGATE.search(value)):
            raise _Odd
        self._count(len(value) + 3)
        return value

    def _count(self, num_bytes: int) -> None:
        self._bytes -= num_bytes
        if self._bytes < 0:
            raise _Odd


class _Admission:
    """One walk over the document, the slow reference. Recursion is bounded by ``limits.depth``."""

    def __init__(self, limits: Limits, problems: Problems) -> None:
        self._limits = limits
        self._problems = problems
        self._nodes = 0
        self._rows = 0
        self._bytes = 0

    def admit(self, value: object, place: str, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, place)
        if value is None or isinstance(value, bool | int | float):
            return self._scalar(value, place)
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            too_large(place, f"more than {self._limits.nodes} objects and lists")
        if depth >= self._limits.depth:
            too_large(place, f"nested deeper than {self._limits.depth}")
        if isinstance(value, Mapping):
            return self._object(value, place, depth)
        if isinstance(value, list | tuple):
            return [self.admit(item, f"{place}/{i}", depth + 1) for i, item in enumerate(value)]
        self._problems.add(place, "not a JSON value", value)
        return None

    def _object(self, value: Mapping[object, object], place: str, depth: int) -> JsonValue:
        self._twice(value, place)
        found: dict[str, JsonValue] = {}
        in_vendor = place.endswith("/x-factorspec")
        for key, item in value.items():
            name = self._key(key, place)
            if name is None:
                continue
            below = pointer(place, name)
            if in_vendor and name == "tables":
                found[name] = self._tables(item, below, depth)
            else:
                found[name] = self.admit(item, below, depth + 1)
        return found

    def _twice(self, value: Mapping[object, object], place: str) -> None:
        if isinstance(value, _Repeated):
            for name in value.keys_twice:
                self._problems.add(pointer(place, name), "this key stands twice in one object")

    def _tables(self, tables: object, place: str, depth: int) -> JsonValue:
        """Like ``admit``, but rows count as rows, not as nodes."""
        if not isinstance(tables, Mapping):
            return self.admit(tables, place, depth + 1)
        self._twice(tables, place)
        found: dict[str, JsonValue] = {}
        for name, rows in tables.items():
            plain_name = self._key(name, place)
            if plain_name is None:
                continue
            below = pointer(place, plain_name)
            if not isinstance(rows, list | tuple):
                found[plain_name] = self.admit(rows, below, depth + 2)
                continue
            self._rows += len(rows)
            if self._rows > self._limits.table_rows:
                too_large(below, f"more than {self._limits.table_rows} rows of tables")
            found[plain_name] = [self._row(row, below, i, depth) for i, row in enumerate(rows)]
        return found

    def _key(self, key: object, place: str) -> str | None:
        if not isinstance(key, str):
            self._problems.add(place, "keys of a JSON object are texts", key)
            return None
        if len(key) > self._limits.key_chars:
            too_large(place, f"a key of more than {self._limits.key_chars} characters")
        return self._text(key, place)

    def _row(self, row: object, place: str, at: int, depth: int) -> JsonValue:
        if not isinstance(row, list | tuple):
            return self.admit(row, f"{place}/{at}", depth + 3)
        cells: list[JsonValue] = []
        for column, cell in enumerate(row):
            if type(cell) is str and cell.isascii() and len(cell) <= 100:
                self._count_bytes(len(cell) + 2, place)
                cells.append(cell)
            else:
                cells.append(self.admit(cell, f"{place}/{at}/{column}", depth + 4))
        return cells

    def _count_bytes(self, least: int, place: str) -> None:
        """Every value and the comma after it take at least so many bytes of the document."""
        self._bytes += least + 1
        if self._bytes > self._limits.document_bytes:
            too_large(place, f"more than {self._limits.document_bytes} bytes")

    def _text(self, value: str, place: str) -> str:
        value = str(value) if type(value) is not str else value
        if len(value) > self._limits.text_chars:
            too_large(place, f"a string of more than {self._limits.text_chars} characters")
        self._count_bytes(len(value) + 2, place)
        if not value.isascii() and _SURROGATE.search(value):
            self._problems.add(place, "a lone surrogate is no Unicode character", value)
        return value

    def _scalar(self, value: bool | int | float | None, place: str) -> JsonValue:
        self._count_bytes(1, place)
        if isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                self._problems.add(place, "a JSON number is finite", value)
                return None
            return float(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if not MIN_INTEGER <= value <= MAX_INTEGER:
                self._problems.add(place, "an integer does not fit into 64 bits", hint="use a text")
                return 0
            return int(value)
        return value

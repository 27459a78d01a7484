"""What differs between two JSON records, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue, shown
from factorspec_sdk.fields.paths import below


@dataclass(frozen=True, slots=True)
class Change:
    """One field. before, after: JSON texts; None where it is not there."""

    path: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path}: added as {self.after}"
        if self.after is None:
            return f"{self.path}: {self.before} removed"
        return f"{self.path}: {self.before} becomes {self.after}"


_GONE = object()


def changes_between(before: JsonValue, after: JsonValue) -> Iterator[Change]:
    """Changed, added and removed fields; whole subtrees field by field."""
    yield from _changes("", before, after)


def num_equal(before: JsonValue, after: JsonValue) -> int:
    """Fields that are there in both, with equal values."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return sum(num_equal(before[name], after[name]) for name in before if name in after)
    if isinstance(before, list) and isinstance(after, list):
        return sum(map(num_equal, before, after))
    return int(_same(before, after))


def _changes(path: str, before: object, after: object) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            here = below(path, name)
            yield from _changes(here, before.get(name, _GONE), after.get(name, _GONE))
    elif isinstance(before, list) and isinstance(after, list):
        for at in range(max(len(before), len(after))):
            one = before[at] if at < len(before) else _GONE
            other = after[at] if at < len(after) else _GONE
            yield from _changes(f"{path}[{at}]", one, other)
    elif _is_whole(before) and (after is _GONE or after is None):
        yield from _changes(path, before, _empty(before))
    elif _is_whole(after) and not _is_whole(before):
        if before is not _GONE and before is not None:
            yield Change(path, _text(before), None)
        yield from _changes(path, _empty(after), after)
    elif not _same(before, after):
        yield Change(path, _text(before), _text(after))


def _is_whole(value: object) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _empty(value: object) -> object:
    return {} if isinstance(value, dict) else []


def _same(before: object, after: object) -> bool:
    """JSON equality: 1 and 1.0 are one number, true is none."""
    return before == after and isinstance(before, bool) == isinstance(after, bool)


def _text(value: object) -> str | None:
    return None if value is _GONE else shown(value)

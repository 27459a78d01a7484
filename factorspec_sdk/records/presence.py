"""Functions for ``@relation`` methods about a field itself: is it there, is it null, how long is it."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.records.parameters import Template
from factorspec_sdk.records.symbols import (
    SymbolicList,
    SymbolicObject,
    SymbolicText,
    SymbolicValue,
    recorded,
    term_of,
)
from factorspec_sdk.records.terms import Term, compare, constant
from factorspec_sdk.records.tracing import trace_of


def is_null(value: object) -> bool:
    """The value is null (in place of ``is None``); unknown where the field is not there at all."""
    trace = trace_of(value)
    if trace is None:
        return value is None
    named = _named(value)
    return cast(bool, recorded(trace, lambda: compare("eq", named or term_of(value, trace), constant(None))))


def is_present(value: object) -> bool:
    """The field is there and not null; never unknown, even below an object that is null."""
    trace = trace_of(value)
    if trace is None:
        return value is not None
    named = _named(value, texts=True)
    if named is None:
        trace.fail(f"{value!r} is no field", "fs.is_present asks for a field of the record")
    template: Template = {"op": "present", "of": _path(named)}
    found = Term(template, "bool", f"{named.text} is present", binders=named.binders)
    return cast(bool, SymbolicValue(trace, found))


def length(items: Collection[object]) -> int:
    """The number of items of a list of the record, or of characters (code points) of a text.

    A free text needs a ``max_length``, of at most 4,096 characters, and no pattern.
    """
    trace = trace_of(items)
    if trace is None:
        return len(items)
    named = _named(items, texts=True)
    is_list = issubclass(type(items), SymbolicList)
    if named is None or issubclass(type(items), SymbolicObject) or named.code not in ("text", None):
        trace.fail(f"{items!r} has no length", "fs.length takes a list of the record, or one of its texts")
    text = f"the number of {named.text}" if is_list else f"the length of {named.text}"
    template: Template = {"op": "len", "of": _path(named)}
    return cast(int, SymbolicValue(trace, Term(template, "int", text, binders=named.binders)))


def _named(value: object, *, texts: bool = False) -> Term | None:
    """The field that a symbolic value stands for; None where it is calculated. ``texts``: free ones too."""
    if texts and issubclass(type(value), SymbolicText):
        return cast(SymbolicText, value)._fs_field  # noqa: SLF001
    if issubclass(type(value), SymbolicObject | SymbolicList):
        part = cast("SymbolicObject | SymbolicList", value)
        path: FieldPath = part._fs_path  # noqa: SLF001
        binders = frozenset() if path.root == "$" else frozenset({path.root})
        return Term({"ref": str(path)}, None, part._fs_text, binders=binders)  # noqa: SLF001
    if not issubclass(type(value), SymbolicValue):
        return None
    term = cast(SymbolicValue, value)._fs_term  # noqa: SLF001
    return term if isinstance(term.template, dict) and "ref" in term.template else None


def _path(term: Term) -> Template:
    assert isinstance(term.template, dict)
    return term.template["ref"]

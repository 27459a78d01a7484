"""Symbolic parameters: what a ``@relation`` method sees as ``given`` while it is recorded.

A parameter that is a scalar becomes a constant, a mapping a table to look up in, a list a table of rows or a
set of values, a model its fields.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import get_args, get_origin

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem, UnknownField, shown
from factorspec_sdk.fields.domains import CodeType
from factorspec_sdk.records import loops
from factorspec_sdk.records.conditions import inline_rows
from factorspec_sdk.records.field_paths import closest
from factorspec_sdk.records.moments import DURATION_HINT
from factorspec_sdk.records.parameters import (
    InlineTable,
    LoopItem,
    Param,
    ParamConst,
    ParamConsts,
    ParamTable,
    Template,
)
from factorspec_sdk.records.shape_problems import described
from factorspec_sdk.records.shapes import ListShape, ObjectShape, ScalarShape, shape_of
from factorspec_sdk.records.symbols import SymbolicValue, recorded, refuse_helpers, term_of
from factorspec_sdk.records.terms import Term, TermError, compare, constant
from factorspec_sdk.records.tracing import Symbolic, Trace, is_symbolic, trace_of

_MAPPINGS = (dict, Mapping, MutableMapping)
_COLLECTIONS = (list, tuple, set, frozenset, Sequence)


class SymbolicGiven(Symbolic):
    """A model of parameters."""

    __slots__ = ("_fs_model", "_fs_prefix")
    _fs_model: type[BaseModel]
    _fs_prefix: str

    def __init__(self, trace: Trace, model: type[BaseModel], prefix: str, text: str) -> None:
        super().__init__(trace, text)
        object.__setattr__(self, "_fs_model", model)
        object.__setattr__(self, "_fs_prefix", prefix)

    def __getattr__(self, name: str) -> object:
        info = self._fs_model.model_fields.get(name)
        if info is None:
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            message = f"{self._fs_model.__name__} has no parameter {name!r}"
            hint = closest(name, self._fs_model.model_fields)
            self._fs_trace.raise_problem(
                UnknownField, Problem(f"{self._fs_text}.{name}", message, None, hint)
            )
        return given_value(
            self._fs_trace, Param(self._fs_prefix + name), info.annotation, f"{self._fs_text}.{name}"
        )


class SymbolicRow(Symbolic):
    """The value of a mapping of models at a key."""

    __slots__ = ("_fs_key", "_fs_model", "_fs_param")
    _fs_param: Param
    _fs_key: tuple[Term, ...]
    _fs_model: type[BaseModel]

    def __init__(
        self, trace: Trace, param: Param, key: tuple[Term, ...], model: type[BaseModel], text: str
    ) -> None:
        super().__init__(trace, text)
        object.__setattr__(self, "_fs_param", param)
        object.__setattr__(self, "_fs_key", key)
        object.__setattr__(self, "_fs_model", model)

    def __getattr__(self, name: str) -> object:
        info = self._fs_model.model_fields.get(name)
        if info is None:
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            message = f"{self._fs_model.__name__} has no field {name!r}"
            hint = closest(name, self._fs_model.model_fields)
            self._fs_trace.raise_problem(
                UnknownField, Problem(f"{self._fs_text}.{name}", message, None, hint)
            )
        text = f"{self._fs_text}.{name}"
        return _lookup(self._fs_trace, self._fs_param, self._fs_key, info.annotation, text, attribute=name)


class SymbolicTable(Symbolic):
    """A mapping or a list among the parameters. A loop over it, inside an aggregate, binds one item or key.

    ``keys``: code types of the columns; ``value``: annotation of a mapping's values, None for lists;
    ``item``: annotation of an item or a key.
    """

    __slots__ = ("_fs_item", "_fs_keys", "_fs_param", "_fs_value")
    _fs_item: object
    _fs_param: Param
    _fs_keys: tuple[CodeType | None, ...]
    _fs_value: object

    def __init__(
        self,
        trace: Trace,
        param: Param,
        keys: tuple[CodeType | None, ...],
        value: object,
        text: str,
        *,
        item: object,
    ) -> None:
        super().__init__(trace, text)
        object.__setattr__(self, "_fs_param", param)
        object.__setattr__(self, "_fs_keys", keys)
        object.__setattr__(self, "_fs_value", value)
        object.__setattr__(self, "_fs_item", item)

    def __iter__(self) -> Iterator[object]:  # type: ignore[override]
        refuse_helpers(self._fs_trace, self._fs_text, sys._getframe(1))  # noqa: SLF001
        return loops.BoundItem(self._fs_trace, self._fs_param, self._fs_text, self._fs_bound)

    def _fs_bound(self, name: str) -> object:
        """One item: a value, a tuple of columns, or a model's fields."""
        trace, item = self._fs_trace, shape_of(self._fs_item)
        if isinstance(item, ObjectShape):
            return SymbolicItem(trace, item.model, name)
        if get_origin(self._fs_item) is tuple:
            return tuple(_item_value(trace, name, at, code) for at, code in enumerate(self._fs_keys))
        return _item_value(trace, name, None, self._fs_keys[0])

    def __getitem__(self, key: object) -> object:
        trace = self._fs_trace
        if self._fs_value is None:
            trace.fail(
                f"{self._fs_text} is a list of parameters, its items are not known",
                "use fs.is_row or fs.is_in",
            )
        parts = key if type(key) is tuple else (key,)
        terms = key_terms(trace, parts, self._fs_keys, self._fs_text)
        text = f"{self._fs_text}[{', '.join(term.text for term in terms)}]"
        return _lookup(trace, self._fs_param, terms, self._fs_value, text)


class SymbolicItem(Symbolic):
    """A model that is an item of a list among the parameters."""

    __slots__ = ("_fs_model",)
    _fs_model: type[BaseModel]

    def __init__(self, trace: Trace, model: type[BaseModel], name: str) -> None:
        super().__init__(trace, name)
        object.__setattr__(self, "_fs_model", model)

    def __getattr__(self, name: str) -> object:
        info = self._fs_model.model_fields.get(name)
        if info is None:
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            hint = closest(name, self._fs_model.model_fields)
            message = f"{self._fs_model.__name__} has no field {name!r}"
            self._fs_trace.raise_problem(
                UnknownField, Problem(f"{self._fs_text}.{name}", message, None, hint)
            )
        shape = shape_of(info.annotation)
        code = shape.code if isinstance(shape, ScalarShape) else None
        return _item_value(self._fs_trace, self._fs_text, name, code)


def _item_value(trace: Trace, loop: str, part: int | str | None, code: CodeType | None) -> SymbolicValue:
    """The value of a loop's item, or of one part of it."""
    text = loop if part is None else f"{loop}[{part}]" if isinstance(part, int) else f"{loop}.{part}"
    return SymbolicValue(trace, Term(LoopItem(loop, part, code), code, text, binders=frozenset({loop})))


def given_value(trace: Trace, param: Param, annotation: object, text: str) -> object:
    """The symbolic value of a parameter of some type."""
    shape = shape_of(annotation)
    if isinstance(shape, ObjectShape):
        return SymbolicGiven(trace, shape.model, f"{param.name}.", text)
    if isinstance(shape, ScalarShape):
        term = Term(ParamConst(param, shape.code), shape.code, text)
        return SymbolicValue(trace, term)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in _MAPPINGS and len(args) == 2:
        return SymbolicTable(trace, param, _columns(trace, args[0], text), args[1], text, item=args[0])
    if origin in _COLLECTIONS and args:
        return SymbolicTable(trace, param, _columns(trace, args[0], text), None, text, item=args[0])
    return trace.fail(
        f"{text} is {described(shape)}, which no relation can use",
        "parameters are numbers, texts, booleans, dates, times, enums; models, lists and dicts of them",
    )


def _columns(trace: Trace, annotation: object, text: str) -> tuple[CodeType | None, ...]:
    shape = shape_of(annotation)
    parts: Sequence[object] = (annotation,)
    if get_origin(annotation) is tuple and not isinstance(shape, ListShape):
        parts = get_args(annotation)
    elif isinstance(shape, ObjectShape):
        parts = [info.annotation for info in shape.model.model_fields.values()]
    codes: list[CodeType | None] = []
    for part in parts:
        column = shape_of(part)
        if not isinstance(column, ScalarShape):
            trace.fail(f"{text} has a column that is {described(column)}", "columns are single values")
        codes.append(column.code)
    return tuple(codes)


def _lookup(
    trace: Trace,
    param: Param,
    key: tuple[Term, ...],
    annotation: object,
    text: str,
    attribute: str | None = None,
) -> object:
    shape = shape_of(annotation)
    if isinstance(shape, ObjectShape) and attribute is None:
        return SymbolicRow(trace, param, key, shape.model, text)
    if not isinstance(shape, ScalarShape):
        trace.fail(
            f"{text} is {described(shape)}, which no relation can use",
            DURATION_HINT if annotation is datetime.timedelta else "use keys of several parts: table[a, b]",
        )
    table = ParamTable(param, len(key) + 1, attribute)
    template: Template = {"op": "lookup", "table": table, "key": [term.template for term in key]}
    binders = frozenset[str]().union(*(term.binders for term in key))
    return SymbolicValue(trace, Term(template, shape.code, text, binders=binders))


def looked_up(param: Param, key: object) -> object:
    """The value of a mapping of integers whose other types are known with the call only.

    Raises:
        DeclarationError: the key holds no field of a record that is being recorded.
    """
    parts = key if type(key) is tuple else (key,)
    trace = trace_of(*parts)
    if trace is None:
        problem = Problem(param.name, "a parameter is indexed by fields of the record", shown(key))
        raise DeclarationError("this cannot be recorded", [problem])
    try:
        terms = tuple(term_of(part, trace) for part in parts)
    except TermError as error:
        trace.fail(error.message, error.hint)
    text = f"{param.name}[{', '.join(term.text for term in terms)}]"
    template: Template = {
        "op": "lookup",
        "table": ParamTable(param, len(terms) + 1),
        "key": [term.template for term in terms],
    }
    binders = frozenset[str]().union(*(term.binders for term in terms))
    return SymbolicValue(trace, Term(template, "int", text, binders=binders))


def key_terms(
    trace: Trace, parts: Sequence[object], codes: Sequence[CodeType | None], text: str
) -> tuple[Term, ...]:
    """The parts of a key as terms, each of the type of its column."""
    if len(parts) != len(codes):
        trace.fail(f"{text} has {len(codes)} key columns, {len(parts)} are given")
    terms = []
    for part, code in zip(parts, codes, strict=True):
        try:
            term = term_of(part, trace)
            compare("eq", term, Term(None, code, f"the key of {text}"))
        except TermError as error:
            trace.fail(error.message, error.hint)
        terms.append(term)
    return tuple(terms)


def values_of(trace: Trace, value: object, table: SymbolicTable) -> object:
    """The condition that a value is among the parameter's items, or its keys."""
    param, keys, text = table._fs_param, table._fs_keys, table._fs_text  # noqa: SLF001
    if len(keys) != 1:
        trace.fail(f"{text} has rows of {len(keys)} columns", "use fs.is_row((x, y), table)")
    (term,) = key_terms(trace, (value,), keys, text)
    template: Template = {"op": "in", "arg": term.template, "values": ParamConsts(param, term.code)}
    return SymbolicValue(trace, Term(template, "bool", f"{term.text} in {text}", binders=term.binders))


def member(trace: Trace, key: Sequence[object], table: object) -> object:
    """The condition that a key is a row of a table."""
    if not issubclass(type(table), SymbolicTable):
        if is_symbolic(table):
            trace.fail(f"{table!r} is no table", "tables are parameters or constants")
        return recorded(trace, lambda: _inline_member(trace, key, table))
    assert isinstance(table, SymbolicTable)
    codes, text = table._fs_keys, table._fs_text  # noqa: SLF001
    if table._fs_value is not None:  # noqa: SLF001
        shape = shape_of(table._fs_value)  # noqa: SLF001
        codes = (*codes, shape.code if isinstance(shape, ScalarShape) else None)
    terms = key_terms(trace, key, codes, text)
    leaf = ParamTable(table._fs_param, len(terms))  # noqa: SLF001
    return SymbolicValue(trace, _member_term(terms, leaf, text))


def _inline_member(trace: Trace, key: Sequence[object], table: object) -> Term:
    terms = tuple(term_of(part, trace) for part in key)
    rows = inline_rows(table, len(terms))
    for row in rows:
        for term, cell in zip(terms, row, strict=True):
            compare("eq", term, replace(constant(cell), code=None))
    return _member_term(terms, InlineTable(rows), "the table")


def _member_term(terms: Sequence[Term], table: ParamTable | InlineTable, text: str) -> Term:
    template: Template = {"op": "member", "table": table, "key": [term.template for term in terms]}
    binders = frozenset[str]().union(*(term.binders for term in terms))
    return Term(template, "bool", f"({', '.join(term.text for term in terms)}) in {text}", binders=binders)

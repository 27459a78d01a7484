"""Functions for ``@relation`` methods: folds over lists and logic, in place of the builtins.

Given symbolic values they record; given ordinary ones they compute, so that helper methods work on
instances too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeVar, cast, overload

from factorspec_sdk.errors import DeclarationError, Problem
from factorspec_sdk.records.conditions import Logic
from factorspec_sdk.records.declarations import Condition
from factorspec_sdk.records.folds import fold, only_if
from factorspec_sdk.records.given import SymbolicTable, member, values_of
from factorspec_sdk.records.symbols import recorded, term_of
from factorspec_sdk.records.terms import (
    LogicName,
    TermError,
    absolute,
    combination,
    constant,
    contained,
    extreme,
)
from factorspec_sdk.records.tracing import is_symbolic, trace_of

T = TypeVar("T")
N = TypeVar("N", int, Decimal)


def every(conditions: Iterable[bool]) -> bool:
    """True where all conditions hold: ``every(s.arrive <= s.leave for s in self.stops)``."""
    return cast(bool, fold("every", conditions, lambda values: all(values)))


def some(conditions: Iterable[bool]) -> bool:
    """True where at least one condition holds."""
    return cast(bool, fold("some", conditions, lambda values: any(values)))


def total(values: Iterable[N]) -> N:
    """The sum of numbers; null counts as 0. Filter by ``only(value, where=condition)``."""
    return cast(N, fold("sum", values, lambda found: sum(cast(list[int], found))))


def number(conditions: Iterable[bool]) -> int:
    """How many of the conditions hold."""
    return cast(int, fold("count", conditions, lambda found: sum(map(bool, found))))


@overload
def least(values: Iterable[T], /) -> T: ...
@overload
def least(first: T, second: T, /, *others: T) -> T: ...
def least(first: Any, /, *others: Any) -> Any:
    """The smallest of some values, given one by one or by a generator; null ones are left out.

    Unknown where there are none.
    """
    if others:
        return _extreme("least", (first, *others), min)
    return fold("min", first, lambda found: min(cast(list[int], found)))


@overload
def most(values: Iterable[T], /) -> T: ...
@overload
def most(first: T, second: T, /, *others: T) -> T: ...
def most(first: Any, /, *others: Any) -> Any:
    """The largest of some values, given one by one or by a generator; null ones are left out.

    Unknown where there are none.
    """
    if others:
        return _extreme("most", (first, *others), max)
    return fold("max", first, lambda found: max(cast(list[int], found)))


def _extreme(op: Literal["least", "most"], values: Sequence[Any], compute: Callable[[list[Any]], Any]) -> Any:
    trace = trace_of(*values)
    if trace is None:
        return compute([value for value in values if value is not None])
    return recorded(trace, lambda: extreme(op, [term_of(value, trace) for value in values]))


def only(value: T, *, where: bool) -> T:
    """A value that an aggregate takes into account only where a condition holds."""
    return cast(T, only_if(value, where))


@overload
def implies(
    if_: Condition, then: Condition, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition: ...
@overload
def implies(if_: bool, then: bool) -> bool: ...
def implies(
    if_: Any, then: Any, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Any:
    """Where the first condition holds, the second must: for methods and as a class decorator."""
    return _logic("implies", (if_, then), name, why, enforce, lambda found: not found[0] or bool(found[1]))


@overload
def both(
    *conditions: Condition, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition: ...
@overload
def both(*conditions: bool) -> bool: ...
def both(*conditions: Any, name: str | None = None, why: str | None = None, enforce: bool = True) -> Any:
    """All of the conditions hold (two or more)."""
    return _logic("and", conditions, name, why, enforce, all)


@overload
def either(
    *conditions: Condition,
    exactly_one: bool = False,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Condition: ...
@overload
def either(*conditions: bool, exactly_one: bool = False) -> bool: ...
def either(
    *conditions: Any,
    exactly_one: bool = False,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Any:
    """At least one of the conditions holds, or ``exactly_one`` does."""
    if exactly_one:
        return _logic("one", conditions, name, why, enforce, lambda found: sum(map(bool, found)) == 1)
    return _logic("or", conditions, name, why, enforce, any)


@overload
def iff(
    *conditions: Condition, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition: ...
@overload
def iff(*conditions: bool) -> bool: ...
def iff(*conditions: Any, name: str | None = None, why: str | None = None, enforce: bool = True) -> Any:
    """The conditions (two or more) all hold, or none of them does."""
    return _logic("iff", conditions, name, why, enforce, lambda found: len(set(map(bool, found))) == 1)


@overload
def not_(
    condition: Condition, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition: ...
@overload
def not_(condition: bool) -> bool: ...
def not_(condition: Any, *, name: str | None = None, why: str | None = None, enforce: bool = True) -> Any:
    """The condition does not hold."""
    return _logic("not", (condition,), name, why, enforce, lambda found: not found[0])


def is_in(value: object, values: Iterable[object]) -> bool:
    """The value is one of some constants, or of a parameter's items (a mapping's keys)."""
    trace = trace_of(value, values)
    if trace is None:
        return value in list(values)
    if not is_symbolic(value):
        trace.fail(
            f"fs.is_in needs a field in front, this is {value!r}", "or fs.some(item == x for item in items)"
        )
    if issubclass(type(values), SymbolicTable):
        return cast(bool, values_of(trace, value, cast(SymbolicTable, values)))
    if is_symbolic(values):
        trace.fail(f"{values!r} is part of the record", "use fs.some(item == x for item in items)")
    listed = list(values)
    subject = term_of(value, trace)
    found = recorded(trace, lambda: contained(subject, [constant(v, subject) for v in listed]))
    return cast(bool, found)


def is_row(key: Sequence[object], table: Iterable[object] | Mapping[Any, Any]) -> bool:
    """The values form a row of a table: ``is_row((a.city, b.city), given.flights)``."""
    trace = trace_of(*key, table)
    if trace is None:
        rows = (
            [(*(k if isinstance(k, tuple) else (k,)), v) for k, v in table.items()]
            if isinstance(table, Mapping)
            else [tuple(cast(Iterable[object], row)) for row in table]
        )
        return tuple(key) in rows
    return cast(bool, member(trace, key, table))


def abs_(value: T) -> T:
    """The absolute value; ``abs`` does the same."""
    trace = trace_of(value)
    if trace is None:
        return cast(T, abs(cast(int, value)))
    return cast(T, recorded(trace, lambda: absolute(term_of(value, trace))))


def elapsed(start: T, end: T) -> int:
    """Seconds from one time of a day to another, or days from one date to another, as an integer.

    With a duration compare the difference itself: ``end - start >= minutes(30)``. Weekdays, Monday 0:
    ``elapsed(date(2026, 1, 5), day) % 7``.
    """
    trace = trace_of(start, end)
    if trace is None:
        from factorspec_sdk.records.moments import code_of

        return code_of(end) - code_of(start)
    from dataclasses import replace

    from factorspec_sdk.records.terms import arithmetic

    found = recorded(
        trace, lambda: replace(arithmetic("sub", term_of(end, trace), term_of(start, trace)), unit=None)
    )
    return cast(int, found)


def _logic(
    op: LogicName,
    parts: Sequence[Any],
    name: str | None,
    why: str | None,
    enforce: bool,
    compute: Callable[[Sequence[Any]], bool],
) -> Any:
    trace = trace_of(*parts)
    if trace is not None:
        return recorded(trace, lambda: combination(op, [term_of(part, trace) for part in parts]))
    if any(isinstance(part, Condition) for part in parts):
        from factorspec_sdk.records.conditions import as_condition

        try:
            conditions = [as_condition(part, op) for part in parts]
        except TermError as error:
            raise DeclarationError(f"{op} is wrong", [Problem("", error.message, None, error.hint)]) from None
        return Logic(op, conditions, name, why, enforce=enforce)
    return compute(parts)

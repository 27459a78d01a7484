"""Recording a function once: run it with symbolic arguments, check what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from factorspec_sdk.errors import DeclarationError, FactorspecError
from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.records.declarations import Scope
from factorspec_sdk.records.field_paths import Misfit
from factorspec_sdk.records.identity import refuse_identity
from factorspec_sdk.records.shapes import Shape
from factorspec_sdk.records.symbols import symbol, term_of
from factorspec_sdk.records.terms import Term
from factorspec_sdk.records.tracing import Trace, is_symbolic

#: what Python raises where a symbolic value is used in a way that it does not know
_MISUSE = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError)


def record(
    trace: Trace, function: Callable[..., object], arguments: Sequence[object], binders: frozenset[str]
) -> Term:
    """The condition that a function returns for symbolic arguments.

    ``binders``: names of items that are bound around the function.

    Raises:
        DeclarationError: where the function does what cannot be recorded.
    """
    term = _recorded(trace, function, arguments, "return a condition on fields of self")
    if term.code not in ("bool", None):
        trace.fail(
            f"the method returns {term.text}, which is {term.kind}",
            "return a comparison or another condition",
        )
    _refuse_leaks(trace, term, binders)
    return term


def record_number(
    trace: Trace, function: Callable[..., object], arguments: Sequence[object], goal: str
) -> Term:
    """The number, date or time that a function returns for symbolic arguments.

    Raises:
        DeclarationError: where the function does what cannot be recorded.
    """
    term = _recorded(trace, function, arguments, f"return what to {goal}")
    if term.code not in ("int", "date", "time", None):
        trace.fail(
            f"the function returns {term.text}, which is {term.kind}",
            f"return an integer, a date or a time to {goal}; count conditions with fs.number(...)",
        )
    _refuse_leaks(trace, term, frozenset())
    return term


def _recorded(trace: Trace, function: Callable[..., object], arguments: Sequence[object], hint: str) -> Term:
    refuse_identity(trace, function)
    try:
        result = function(*arguments)
    except FactorspecError:
        raise
    except _MISUSE as error:
        trace.fail(f"{type(error).__name__} while recording: {error}")
    if trace.errors:
        raise trace.errors[0]  # the function caught it
    if not is_symbolic(result):
        trace.fail(f"the method returns {result!r}, which says nothing about the fields", hint)
    return term_of(result, trace)


def _refuse_leaks(trace: Trace, term: Term, binders: frozenset[str]) -> None:
    if term.binders - binders:
        trace.fail(
            f"an item of a loop is used outside its aggregate: {term.text}",
            "use the loop's variable only inside fs.every(...), fs.some(...), fs.total(...)",
        )


def trace_items(function: Callable[..., object], scope: Scope, items: Mapping[str, Shape]) -> Term | None:
    """Record a function of bound items, such as ``lambda a, b: a.leave == b.arrive``."""
    trace = Trace(
        scope.model.__name__, getattr(function, "__name__", "lambda"), "lambda", finite=scope.finite
    )
    arguments = [
        symbol(trace, FieldPath(name, ()), shape, "record" if name == "$" else name)
        for name, shape in items.items()
    ]
    try:
        return record(trace, function, arguments, frozenset(items))
    except DeclarationError as error:
        scope.problems.extend(Misfit(type(error), problem) for problem in error.problems)
        return None

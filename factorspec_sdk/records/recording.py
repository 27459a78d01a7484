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
        trace.fail(
            f"the method returns {result!r}, which says nothing about the fields",
            "return a condition on fields of self",
        )
    term = term_of(result, trace)
    if term.code not in ("bool", None):
        trace.fail(
            f"the method returns {term.text}, which is {term.kind}",
            "return a comparison or another condition",
        )
    leaked = term.binders - binders
    if leaked:
        trace.fail(
            f"an item of a loop is used outside its aggregate: {term.text}",
            "use the loop's variable only inside fs.every(...), fs.some(...), fs.total(...)",
        )
    return term


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

"""FactorSpec: declare relations between the fields of a record once, on a Pydantic model.

Decoding, validation and explanation follow from the same declaration. ``import factorspec_sdk as fs``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from factorspec_sdk.core import is_compiled  # before all that may be compiled
from factorspec_sdk.errors import (
    BindingError,
    BudgetSpent,
    ConnectionLost,
    DeclarationError,
    DocumentError,
    EmptyDomain,
    EngineError,
    FactorspecError,
    Incomplete,
    InfeasibleError,
    MissingExtra,
    ModelNotFound,
    NotEnforced,
    Overloaded,
    Problem,
    RecordError,
    RequestTooLarge,
    TokenLimitTooSmall,
    TooLarge,
    TracingError,
    UnknownField,
    Unsatisfiable,
    UnsupportedField,
    UnsupportedKeyword,
)  # fmt: skip
from factorspec_sdk.records import (
    AsNumber,
    Between,
    Bundle,
    Condition,
    Declaration,
    In,
    Param,
    Verdict,
    abs_,
    all_different,
    all_equal,
    all_of,
    as_a,
    bind,
    both,
    cardinality,
    check,
    circuit,
    const,
    count,
    cumulative,
    days,
    document,
    either,
    elapsed,
    element,
    eq,
    every,
    follows,
    ge,
    gt,
    hours,
    iff,
    implies,
    intension,
    is_a,
    is_in,
    is_null,
    is_present,
    is_row,
    le,
    least,
    length,
    look_up,
    lt,
    max_depth,
    maximize,
    maximum,
    member_of,
    minimize,
    minimum,
    minutes,
    most,
    ne,
    no_overlap,
    not_,
    number,
    one_of,
    only,
    ordered,
    param,
    permutation_of,
    precedence,
    quotient,
    regular,
    relation,
    rounded,
    same_length,
    since,
    slide,
    some,
    spec,
    subset_of,
    substring_of,
    sum_of,
    table,
    task,
    total,
)  # fmt: skip

if TYPE_CHECKING:
    from factorspec_sdk.client import Client, Result
    from factorspec_sdk.explaining import (
        Explanation,
        Nearest,
        SpecReport,
        WhyNot,
        explain,
        nearest,
        report,
        why_not,
    )

__all__ = [
    # class decorators, one per kind
    "all_different", "all_equal", "cardinality", "count", "element", "follows", "iff", "implies", "intension",
    "maximum", "member_of", "minimum", "ordered", "permutation_of", "precedence", "regular", "same_length",
    "slide", "subset_of", "substring_of", "sum_of", "table",
    # kinds of one's own
    "all_of", "Bundle",
    # scheduling kinds, and what they are made of
    "circuit", "cumulative", "no_overlap", "task", "since", "look_up",
    # conditions on single fields
    "eq", "ne", "lt", "le", "gt", "ge", "one_of", "both", "either", "not_", "const",
    "Condition", "Declaration",
    # methods, and what they use in place of builtins
    "relation", "every", "some", "total", "number", "least", "most", "only", "length", "abs_", "elapsed",
    "quotient", "rounded", "is_in", "is_row", "is_null", "is_present", "is_a", "as_a", "max_depth",
    # objectives
    "maximize", "minimize",
    # domains and parameters
    "In", "Between", "AsNumber", "days", "hours", "minutes", "Param", "param",
    # what follows from a model
    "bind", "check", "document", "spec", "Verdict", "Client", "Result",
    # explanations
    "explain", "nearest", "why_not", "report", "Explanation", "Nearest", "WhyNot", "SpecReport",
    # errors
    "FactorspecError", "Problem", "DeclarationError", "UnknownField", "TracingError", "UnsupportedField",
    "BindingError", "DocumentError", "UnsupportedKeyword", "RequestTooLarge", "InfeasibleError",
    "EmptyDomain", "Unsatisfiable", "TokenLimitTooSmall", "TooLarge", "BudgetSpent", "RecordError",
    "EngineError", "NotEnforced", "MissingExtra", "ModelNotFound", "Overloaded", "Incomplete",
    "ConnectionLost",
    # what is installed
    "is_compiled",
]  # fmt: skip

_LAZY = {
    **dict.fromkeys(("Client", "Result"), "factorspec_sdk.client"),
    **dict.fromkeys(
        ("explain", "nearest", "why_not", "report", "Explanation", "Nearest", "WhyNot", "SpecReport"),
        "factorspec_sdk.explaining",
    ),
}


def __getattr__(name: str) -> object:
    """Load what brings more than declaring needs where it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)

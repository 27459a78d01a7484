"""What a user declares: decorators, ``@relation`` methods, domains, parameters; and what follows from it."""

from factorspec_sdk.records.aggregates import (
    abs_,
    both,
    either,
    elapsed,
    every,
    iff,
    implies,
    is_in,
    is_row,
    least,
    most,
    not_,
    number,
    only,
    some,
    total,
)  # fmt: skip
from factorspec_sdk.records.binding import bind
from factorspec_sdk.records.branches import as_a, is_a
from factorspec_sdk.records.bundle import Bundle, all_of
from factorspec_sdk.records.checking import check
from factorspec_sdk.records.decimal_fields import AsNumber
from factorspec_sdk.records.declarations import Condition, Declaration, const
from factorspec_sdk.records.decorators import (
    all_different,
    circuit,
    count,
    cumulative,
    element,
    eq,
    ge,
    gt,
    intension,
    le,
    lt,
    ne,
    no_overlap,
    one_of,
    ordered,
    slide,
    substring_of,
    sum_of,
    table,
)  # fmt: skip
from factorspec_sdk.records.depth import max_depth
from factorspec_sdk.records.divisions import quotient, rounded
from factorspec_sdk.records.document import document, spec
from factorspec_sdk.records.domains import Between, In
from factorspec_sdk.records.methods import relation
from factorspec_sdk.records.moments import days, hours, minutes
from factorspec_sdk.records.objectives import maximize, minimize
from factorspec_sdk.records.parameters import Param, param
from factorspec_sdk.records.presence import is_null, is_present, length
from factorspec_sdk.records.scheduling import look_up, since, task
from factorspec_sdk.records.value_decorators import (
    all_equal,
    cardinality,
    follows,
    maximum,
    member_of,
    minimum,
    permutation_of,
    precedence,
    regular,
    same_length,
    subset_of,
)
from factorspec_sdk.relations.checking import Verdict

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
    # what follows
    "bind", "check", "document", "spec", "Verdict",
]  # fmt: skip

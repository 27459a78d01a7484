"""Relation kinds. The closed union ``Relation`` is the only list of them."""

from typing import Annotated

from pydantic import Field

from factorspec_sdk.relations.all_different import AllDifferent
from factorspec_sdk.relations.all_equal import AllEqual
from factorspec_sdk.relations.cardinality import Cardinality
from factorspec_sdk.relations.circuit import Circuit
from factorspec_sdk.relations.count import Count
from factorspec_sdk.relations.cumulative import Cumulative
from factorspec_sdk.relations.either import Either
from factorspec_sdk.relations.element import Element
from factorspec_sdk.relations.expressions import Expr
from factorspec_sdk.relations.iff import Iff
from factorspec_sdk.relations.implies import Implies
from factorspec_sdk.relations.intension import Intension
from factorspec_sdk.relations.maximum import Maximum
from factorspec_sdk.relations.member_of import MemberOf
from factorspec_sdk.relations.minimum import Minimum
from factorspec_sdk.relations.no_overlap import NoOverlap
from factorspec_sdk.relations.ordered import Ordered
from factorspec_sdk.relations.permutation_of import PermutationOf
from factorspec_sdk.relations.precedence import Precedence
from factorspec_sdk.relations.regular import Regular
from factorspec_sdk.relations.same_length import SameLength
from factorspec_sdk.relations.slide import Slide
from factorspec_sdk.relations.subset_of import SubsetOf
from factorspec_sdk.relations.substring_of import SubstringOf
from factorspec_sdk.relations.sum import Sum
from factorspec_sdk.relations.table import Table

Relation = Annotated[
    AllDifferent
    | AllEqual
    | Cardinality
    | Circuit
    | Count
    | Cumulative
    | Either
    | Element
    | Iff
    | Implies
    | Intension
    | Maximum
    | MemberOf
    | Minimum
    | NoOverlap
    | Ordered
    | PermutationOf
    | Precedence
    | Regular
    | SameLength
    | Slide
    | SubstringOf
    | SubsetOf
    | Sum
    | Table,
    Field(discriminator="kind"),
]

__all__ = [
    "AllDifferent",
    "AllEqual",
    "Cardinality",
    "Circuit",
    "Count",
    "Cumulative",
    "Either",
    "Element",
    "Expr",
    "Iff",
    "Implies",
    "Intension",
    "Maximum",
    "MemberOf",
    "Minimum",
    "NoOverlap",
    "Ordered",
    "Relation",
    "PermutationOf",
    "Precedence",
    "Regular",
    "SameLength",
    "Slide",
    "SubstringOf",
    "SubsetOf",
    "Sum",
    "Table",
]

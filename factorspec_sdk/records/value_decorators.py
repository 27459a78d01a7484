"""Class decorators of the kinds over the values of several fields and lists. See ``decorators.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import EllipsisType

from factorspec_sdk.records.declarations import Condition, Declaration, Side
from factorspec_sdk.records.decorators import one_comparison
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import Param
from factorspec_sdk.records.value_kinds import AllEqual, Extremum, Occurring, PermutationOf, SameLength


def all_equal(
    *paths: str, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """The values of all named fields are the same; null and absent ones are left out.

    A condition where each path names one field: ``slide("shifts", all_equal("a.site", "b.site"))``.
    """
    return AllEqual(paths, name, why, enforce=enforce)


def same_length(
    *paths: str, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Declaration:
    """Lists have equally many items: ``same_length("names", "ages")``, ``same_length("rows[*].cells")``."""
    return SameLength(paths, name, why, enforce=enforce)


def minimum(
    *paths: str,
    eq: Side | EllipsisType = ...,
    ne: Side | EllipsisType = ...,
    lt: Side | EllipsisType = ...,
    le: Side | EllipsisType = ...,
    gt: Side | EllipsisType = ...,
    ge: Side | EllipsisType = ...,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Compare the least of some fields: ``minimum("offers[*].price", eq="best")``. Null does not count."""
    comparison = one_comparison(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge)
    return Extremum("minimum", paths, comparison, name, why, enforce=enforce)


def maximum(
    *paths: str,
    eq: Side | EllipsisType = ...,
    ne: Side | EllipsisType = ...,
    lt: Side | EllipsisType = ...,
    le: Side | EllipsisType = ...,
    gt: Side | EllipsisType = ...,
    ge: Side | EllipsisType = ...,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Compare the greatest of some fields: ``maximum("tasks[*].end", eq="done")``. Null does not count."""
    comparison = one_comparison(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge)
    return Extremum("maximum", paths, comparison, name, why, enforce=enforce)


def member_of(
    *paths: str,
    of: str | Sequence[str] | None = None,
    values: Iterable[Constant] | Param | None = None,
    column: int = 0,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Condition:
    """A foreign key: each field takes a value of other fields, or of given values; null ones are left out.

    ``member_of("edges[*].source", of="nodes[*].id")``. Of a parameter with rows, ``column`` counts. It is a
    condition where each path names one field.
    """
    return Occurring("member_of", paths, of, values, column, name, why, enforce=enforce)


def subset_of(
    *paths: str,
    of: str | Sequence[str] | None = None,
    values: Iterable[Constant] | Param | None = None,
    column: int = 0,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Condition:
    """All values of a list occur in another: ``subset_of("tags[*]", of="offered[*]")``; see ``member_of``."""
    return Occurring("subset_of", paths, of, values, column, name, why, enforce=enforce)


def permutation_of(
    *paths: str,
    values: Iterable[Constant] | Param | None = None,
    of: str | Sequence[str] | None = None,
    start: int = 0,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """The fields hold given values, each as often as given, in any order; null ones are left out.

    Given are ``values``, or the values of the fields ``of``, or else start, start + 1, .. without a gap:
    ``permutation_of("steps[*].number", start=1)``.
    """
    return PermutationOf(paths, values, of, start, name, why, enforce=enforce)

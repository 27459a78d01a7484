"""Class decorators of the kinds over the values of several fields and lists. See ``decorators.py``."""

from __future__ import annotations

from types import EllipsisType

from factorspec_sdk.records.declarations import Condition, Declaration, Side
from factorspec_sdk.records.decorators import one_comparison
from factorspec_sdk.records.value_kinds import AllEqual, Extremum, SameLength


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

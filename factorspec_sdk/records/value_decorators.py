"""Class decorators of the kinds over the values of several fields and lists. See ``decorators.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType

from factorspec_sdk.records.arguments import told_arguments
from factorspec_sdk.records.declarations import Condition, Declaration, Side
from factorspec_sdk.records.decorators import one_comparison
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import Param
from factorspec_sdk.records.sequence_kinds import (
    Cardinality,
    Precedence,
    Regular,
    State,
    Times,
    Transition,
    successions,
)
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


def cardinality(
    *paths: str,
    times: Mapping[Constant, Times],
    closed: bool = False,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """How often values occur: ``cardinality("days[*].shift", times={"night": 2, "off": (1, None)})``.

    A number is exact, a pair is (least, most), and None no bound. ``closed``: no other values. Null does not
    count.
    """
    return Cardinality(paths, times, name, why, closed=closed, enforce=enforce)


def precedence(
    *paths: str,
    values: Iterable[Constant] | Param,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Values are first used in this order: ``precedence("seats[*].table", values=[1, 2, 3])``."""
    return Precedence(paths, values, name, why, enforce=enforce)


def regular(
    *paths: str,
    transitions: Iterable[Transition] | Param,
    start: State,
    final: Iterable[State],
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """The values are a word of a finite automaton, given as (state, value, next state). Null is skipped.

    See ``follows`` where the state is the last value.
    """
    return Regular(paths, transitions, start, final, name, why, enforce=enforce)


def follows(
    *paths: str,
    after: Mapping[Constant, Iterable[Constant]],
    first: Iterable[Constant] | None = None,
    last: Iterable[Constant] | None = None,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """What may come after each value: ``follows("log[*].state", after={"new": ["open"], "open": ["done"]})``.

    ``first`` and ``last``: what the values may begin and end with, else any. Null ones are skipped.
    """
    with told_arguments("follows cannot be declared so"):
        transitions, final = successions(after, first, last)
    found = name if name is not None else f"{', '.join(paths)}: what may follow"
    return Regular(paths, transitions, "start", final, found, why, enforce=enforce)

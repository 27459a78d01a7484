"""The class decorators, one per relation kind. Each checks itself when the class is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import cast

from factorspec_sdk.records.conditions import Comparison, OneOf, RowOf
from factorspec_sdk.records.declarations import Condition, Declaration, Side
from factorspec_sdk.records.kinds import AllDifferent, Count, Element, Intension, Ordered, Slide, SumOf
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import Param
from factorspec_sdk.records.scheduling import Circuit, Cumulative, Keyed, NoOverlap, SetOut, Task, TaskSide
from factorspec_sdk.records.terms import ComparisonName
from factorspec_sdk.records.text_kinds import SubstringOf


def all_different(
    *paths: str, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Declaration:
    """The values of all named fields differ pairwise; null and absent ones are left out."""
    return AllDifferent(paths, name, why, enforce=enforce)


def ordered(
    *paths: str,
    strict: bool = False,
    descending: bool = False,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Each named field is at most the next one (``strict``: less; ``descending``: at least, more)."""
    if descending:
        return Ordered(paths, "gt" if strict else "ge", name, why, enforce=enforce)
    return Ordered(paths, "lt" if strict else "le", name, why, enforce=enforce)


def substring_of(
    *paths: str,
    of: str | Sequence[str] | Param,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Each text occurs verbatim in ``of`` (or in one of several): ``substring_of("q", of=param("page"))``.

    Null is left out. The path may name free text; it is then written along the source.
    """
    return SubstringOf(paths, of, name, why, enforce=enforce)


def sum_of(
    *paths: str,
    weights: Sequence[int] | None = None,
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
    """Compare a sum of integers: ``sum_of("lines[*].cents", eq="total")``. Null counts as 0."""
    comparison = one_comparison(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge)
    return SumOf(paths, weights, comparison, name, why, enforce=enforce)


def count(
    *paths: str,
    values: Iterable[Constant] | Param,
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
    """How many of the fields take one of ``values``: ``count("days[*].kind", values=["off"], ge=2)``."""
    comparison = one_comparison(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge)
    return Count(paths, values, comparison, name, why, enforce=enforce)


def element(
    *paths: str,
    index: Side,
    start: int = 0,
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
    """The field at position ``index``: ``element("plans[*].price", index="choice", eq="price")``."""
    comparison = one_comparison(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge)
    return Element(paths, index, start, comparison, name, why, enforce=enforce)


def table(
    paths: str | Sequence[str],
    rows: Iterable[Sequence[Constant] | Constant] | Param,
    *,
    allow: bool = True,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Condition:
    """The fields form a row of a table (``allow=False``: none of them); one field's rows may be values."""
    return RowOf(paths, rows, name, why, allow=allow, enforce=enforce)


def slide(
    path: str,
    condition: Condition | Callable[..., bool],
    *,
    as_: Sequence[str] | None = None,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """A condition on every run of consecutive items, which are called "a" and "b" unless ``as_`` names them.

    The condition may be a function of the items: ``slide("stops", lambda a, b: b.arrive >= a.leave + 1)``.
    """
    return Slide(path, condition, None if as_ is None else tuple(as_), name, why, enforce=enforce)


def no_overlap(
    *tasks: str | Task,
    start: TaskSide | None = None,
    end: TaskSide | None = None,
    duration: TaskSide | None = None,
    place: TaskSide | None = None,
    travel: Keyed | Iterable[Sequence[Constant]] | Param | None = None,
    since: SetOut | None = None,
    booked: Iterable[Sequence[Constant]] | Param | None = None,
    in_order: bool = False,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Items do not overlap: ``no_overlap("meetings", start="start", end="end")``.

    ``tasks`` are lists of items, with the paths ``start``, ``end`` .. of an item, or ``task(...)`` each.
    ``travel``: times from place to place, (from, to) -> time or rows of three; set-up times of a machine too.
    Where starts are times these are seconds, where they are dates days, as integers.
    ``since``: when and where the first item is set out for. ``booked``: rows (start, end) that no item
    overlaps. ``in_order``: items are written in the order of time; say so where it is true, for then only
    neighbours matter.
    """
    shared = Task(None, start, end, duration, place)
    return NoOverlap(tasks, shared, travel, since, booked, name, why, in_order=in_order, enforce=enforce)


def cumulative(
    *tasks: str | Task,
    capacity: Side,
    start: TaskSide | None = None,
    end: TaskSide | None = None,
    duration: TaskSide | None = None,
    demand: TaskSide | None = None,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """At no moment do the items that run take more than a capacity; each takes 1 unless ``demand`` is given.

    ``cumulative("shifts", start="begins", end="ends", demand="desks", capacity=4)``; tasks as in
    ``no_overlap``.
    """
    shared = Task(None, start, end, duration, demand=demand)
    return Cumulative(tasks, shared, capacity, name, why, enforce=enforce)


def circuit(
    *paths: str,
    start: int = 0,
    loops: bool = False,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Each field names the position that follows its own: together they visit every position and return.

    Positions count from ``start``; ``loops``: a position that names itself is not visited.
    """
    return Circuit(paths, start, name, why, loops=loops, enforce=enforce)


def one_of(
    path: str,
    values: Iterable[Constant] | Param,
    *,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Condition:
    """A field takes one of some values."""
    return OneOf(path, values, name, why, enforce=enforce)


def eq(
    left: Side, right: Side, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """Two sides are equal; texts are paths, text constants are written ``const("...")``."""
    return Comparison("eq", left, right, name, why, enforce=enforce)


def ne(
    left: Side, right: Side, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """Two sides differ."""
    return Comparison("ne", left, right, name, why, enforce=enforce)


def lt(
    left: Side, right: Side, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """The left side is less than the right one."""
    return Comparison("lt", left, right, name, why, enforce=enforce)


def le(
    left: Side, right: Side, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """The left side is at most the right one."""
    return Comparison("le", left, right, name, why, enforce=enforce)


def gt(
    left: Side, right: Side, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """The left side is more than the right one."""
    return Comparison("gt", left, right, name, why, enforce=enforce)


def ge(
    left: Side, right: Side, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Condition:
    """The left side is at least the right one."""
    return Comparison("ge", left, right, name, why, enforce=enforce)


def intension(
    condition: Condition | Callable[..., bool],
    *,
    name: str | None = None,
    why: str | None = None,
    enforce: bool = True,
) -> Declaration:
    """Any condition, or a function of the record: ``intension(lambda trip: trip.end - trip.start >= 3)``."""
    return Intension(condition, name, why, enforce=enforce)


def one_comparison(**sides: Side | EllipsisType) -> tuple[ComparisonName, Side] | None:
    """The comparison that is given; None where there is none, or several."""
    given = [
        (cast(ComparisonName, op), side) for op, side in sides.items() if not isinstance(side, EllipsisType)
    ]
    return given[0] if len(given) == 1 else None

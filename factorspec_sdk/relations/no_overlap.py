"""``no_overlap``: items with start and end do not overlap; there is time to travel from each to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.items import Item, item
from factorspec_sdk.automata.linear import compare, linear
from factorspec_sdk.automata.no_overlap import Agenda, Block
from factorspec_sdk.automata.no_overlap import no_overlap as apart
from factorspec_sdk.automata.nodes import Condition, ValueNode
from factorspec_sdk.automata.travel import Place, Travel, place_of, possible_places, travel_time
from factorspec_sdk.fields.domains import MOMENTS, CodeType, encode_scalar
from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.evaluate import Truth, value_of
from factorspec_sdk.relations.expressions import Expr, WireModel
from factorspec_sdk.relations.firm import firm_slots, is_firm
from factorspec_sdk.relations.tasks import MissingTime, Task, Timed, timed, times, unit_of
from factorspec_sdk.relations.view import Quantity, Special, View, exact_key
from factorspec_sdk.relations.wording import worded

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


class Visit(Task):
    """An item that may take place somewhere."""

    place: Expr | None = None


class Origin(WireModel):
    """When and where the first item is set out for."""

    time: Expr
    place: Expr | None = None


class NoOverlap(RelationBase):
    """XCSP3 ``noOverlap`` in one dimension, with travel times, an origin and booked blocks.

    Items are taken in the order of their start, then of their end, then of writing; ``in_order``: in writing
    order. Each item ends, plus the time to travel to the next one, before that starts (or just then), so an
    item without length may touch others and must not lie inside one. Nothing is said of items whose start or
    end is null or absent: they are left out. An item that ends before it starts breaks the relation.

    travel: a table (from, to, time). There is no way between different places without a row; between equal
    places it takes 0 without a row; a place that is null or absent takes no time to reach or leave.
    origin: every item starts after it, and the first one can be reached from there.
    booked: a table (start, end) of blocks that no item overlaps; they may overlap each other.
    """

    kind: Literal["no_overlap"] = "no_overlap"
    tasks: Annotated[tuple[Visit, ...], Field(min_length=1)]
    travel: str | None = None
    origin: Annotated[Origin | None, Field(alias="from")] = None
    booked: str | None = None
    in_order: bool = False

    # -- meaning ----------------------------------------------------------------------------------

    def holds(self, view: View) -> Truth:
        return next(self._faults(view), None) is None

    def explain(self, view: View) -> str:
        return next(self._faults(view), "no two items overlap")

    def _faults(self, view: View) -> Iterator[str]:
        try:
            items = timed(self.tasks, view)
        except MissingTime as error:
            yield str(error)
            return
        for one in items:
            if one.end < one.start:
                start = one.moment(one.start)
                yield f"{one.label} ends at {one.moment(one.end)}, before its start at {start}"
            yield from self._in_booked(one, view)
        if not self.in_order:
            items.sort(key=lambda one: (one.start, one.end, one.number))
        yield from self._early(items, view)
        for one, two in pairwise(items):
            yield from self._too_close(one, two)

    def _in_booked(self, one: Timed, view: View) -> Iterator[str]:
        for row in view.tables[self.booked] if self.booked is not None else ():
            start, end = (encode_scalar(cell, one.unit) for cell in row)
            if isinstance(start, int) and isinstance(end, int) and start < one.end and one.start < end:
                yield f"{one.text} overlaps the booked block {one.moment(start)} to {one.moment(end)}"

    def _early(self, items: Sequence[Timed], view: View) -> Iterator[str]:
        if self.origin is None:
            return
        code = value_of(self.origin.time, view).code
        if code is Special.MISSING:
            yield "the time to set out is missing from its table"
        if not isinstance(code, int) or isinstance(code, bool):
            return
        for at, one in enumerate(items):
            here = _place(self.origin.place, view)
            way = 0 if at else _way(self.travel, here, _place_of(one), one.view)
            if way is None:
                yield f"{one.label} cannot be reached: {_no_way(here, _place_of(one))}"
            elif code + way > one.start:
                travel = f" and takes {_span(way, one.unit)}" if way else ""
                yield f"{one.text} starts too early: the way begins at {one.moment(code)}{travel}"

    def _too_close(self, one: Timed, two: Timed) -> Iterator[str]:
        if one.end > two.start:
            verb = "stand in the wrong order" if self.in_order and two.end <= one.start else "overlap"
            yield f"{one.text} and {two.text} {verb}"
            return
        here, there = _place_of(one), _place_of(two)
        way = _way(self.travel, here, there, one.view)
        if way is None:
            yield f"{two.label} cannot follow {one.label}: {_no_way(here, there)}"
        elif one.end + way > two.start:
            yield (
                f"between {one.text} and {two.text} there is no time for the way from {worded(here)} to "
                f"{worded(there)}, which takes {_span(way, one.unit)}"
            )

    # -- feasibility ------------------------------------------------------------------------------

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        visits = [self._visit(task, inner) for task in self.tasks for inner in task.lowerings(lowering)]
        travel = self._travel(lowering, [place for _, _, place, _ in visits])
        items = [
            item(lowering.store, number, start, end, place, firm=firm)
            for number, (start, end, place, firm) in enumerate(visits)
        ]
        yield from (compare(lowering.store, "le", one.start, one.end) for one in items if one.may_be_reversed)
        yield from self._clear_of_booked(lowering, items)
        origin = self._origin(lowering)
        if origin is not None:
            yield from (_after(lowering, origin, one) for one in items)
            items = [origin, *items]
        if self.in_order and self._neighbours_are_fixed(lowering, items):
            yield from (_follows(lowering, travel, one, two) for one, two in pairwise(items))
        elif len(items) > 1:
            longer = all(one.least_length > 0 for one in items if one is not origin)
            pairs = travel is None or (travel.direct and longer)
            yield apart(lowering.store, Agenda(travel, self.in_order, pairs), items)

    def _visit(self, task: Visit, inner: Lowering) -> tuple[ValueNode, ValueNode, ValueNode, bool]:
        start, end = times(task, inner)
        firm = firm_slots(inner.binders[task.bound]) if task.bound is not None else frozenset()
        place = inner.value(task.place) if task.place is not None and self.travel is not None else None
        return start, end, place or inner.store.known(None), is_firm(start, firm) and is_firm(end, firm)

    def _neighbours_are_fixed(self, lowering: Lowering, items: Sequence[Item]) -> bool:
        """True if none of two items next to each other in writing order is ever left out alone."""
        open_ends = []
        for task in self.tasks:
            part = lowering.list_at(task.over) if task.over is not None else None
            open_ends.append(
                part is not None
                and (part.presence is not None or any(slot is not None for slot in part.more))
            )
        origin = self.origin is None or items[0].certain
        return origin and all(one.firm for one in items if one.number >= 0) and not any(open_ends[:-1])

    def _origin(self, lowering: Lowering) -> Item | None:
        if self.origin is None:
            return None
        store = lowering.store
        unit = unit_of(self.tasks, lowering)
        time = lowering.value(self.origin.time, unit if unit in ("date", "time") else None)
        place = lowering.value(self.origin.place) if self.origin.place is not None else store.known(None)
        return item(store, -1, time, time, place, firm=is_firm(time, frozenset()))

    def _travel(self, lowering: Lowering, places: list[ValueNode]) -> Travel | None:
        if self.travel is None:
            return None
        ways: dict[tuple[Place, Place], int] = {}
        for start, end, time in lowering.tables[self.travel]:
            if isinstance(time, int):
                ways.setdefault((place_of(start), place_of(end)), time)
        possible = [possible_places(place) for place in dict.fromkeys(places)]
        if self.origin is not None and self.origin.place is not None:
            home = possible_places(lowering.value(self.origin.place))
            possible.append(None if home is None else [place for place in home if place is not None])
        closed = None not in possible
        known = [place for listed in possible for place in listed or ()]
        return Travel(ways, known if closed else [place for pair in ways for place in pair], closed=closed)

    def _clear_of_booked(self, lowering: Lowering, items: Sequence[Item]) -> Iterator[Condition]:
        if self.booked is None:
            return
        unit = unit_of(self.tasks, lowering)
        agenda = Agenda(None, in_order=False, pairs=True)
        spans = [tuple(encode_scalar(cell, unit) for cell in row) for row in lowering.tables[self.booked]]
        blocks = _merged(
            (start, end) for start, end in spans if isinstance(start, int) and isinstance(end, int)
        )
        for one in items:
            alone = item(lowering.store, 0, one.start, one.end, lowering.store.known(None), firm=one.firm)
            yield apart(lowering.store, agenda, [alone], blocks)


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[Block, ...]:
    """Booked blocks, those that overlap as one."""
    out: list[Block] = []
    for start, end in sorted(spans):
        if out and start < out[-1].end:
            out[-1] = out[-1]._replace(end=max(end, out[-1].end))
        else:
            out.append(Block(start, end, 0, None, None))
    return tuple(out)


def _after(lowering: Lowering, origin: Item, one: Item) -> Condition:
    """The item starts after the origin; unknown where its end is (0 times it)."""
    store = lowering.store
    return compare(store, "le", linear(store, [(origin.start, 1), (one.end, 0)]), one.start)


def _follows(lowering: Lowering, travel: Travel | None, one: Item, two: Item) -> Condition:
    """The second item starts after the first and the way between them."""
    store = lowering.store
    if travel is None:
        return compare(store, "le", one.end, two.start)
    way = travel_time(store, travel, one.detail, two.detail)
    return compare(store, "le", linear(store, [(one.end, 1), (way, 1)]), two.start)


def _place(expr: Expr | None, view: View) -> Quantity:
    return Quantity(None) if expr is None else value_of(expr, view)


def _place_of(one: Timed) -> Quantity:
    assert isinstance(one.task, Visit)
    return _place(one.task.place, one.view)


def _way(table: str | None, start: Quantity, end: Quantity, view: View) -> int | None:
    """Time of the way between two places; None if there is none."""
    if table is None:
        return 0
    codes = [start.code, end.code]
    if any(code is None or (isinstance(code, Special) and code is not Special.MISSING) for code in codes):
        return 0
    if isinstance(start.code, Special) or isinstance(end.code, Special):
        return None
    places = (exact_key(start.code), exact_key(end.code))
    row = view.rows_by_key(table, (start.type, end.type)).get(places)
    time = row[-1] if row is not None else None
    if isinstance(time, int):
        return time
    return 0 if places[0] == places[1] else None


def _no_way(start: Quantity, end: Quantity) -> str:
    return f"there is no way from {worded(start)} to {worded(end)}"


def _span(length: int, unit: CodeType | None) -> str:
    return f"{length} {'days' if unit == 'date' else 'seconds'}" if unit in MOMENTS else str(length)

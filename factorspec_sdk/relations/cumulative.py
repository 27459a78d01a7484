"""``cumulative``: items that run at the same time share a capacity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.cumulative import cumulative as within
from factorspec_sdk.automata.items import item
from factorspec_sdk.automata.linear import compare, linear
from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.evaluate import Truth, value_of
from factorspec_sdk.relations.expressions import Const, Expr
from factorspec_sdk.relations.firm import firm_slots, is_firm
from factorspec_sdk.relations.tasks import MissingTime, Task, Timed, timed, times
from factorspec_sdk.relations.view import Special, View
from factorspec_sdk.relations.wording import expression_text

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


class Load(Task):
    """An item that takes something while it runs."""

    demand: Expr = Const(const=1)


class Cumulative(RelationBase):
    """XCSP3 ``cumulative``: at no moment do the items that run take more than ``capacity``.

    An item runs from its start until just before its end; without length it takes nothing. One whose start
    or end is null or absent is left out, one whose demand is null or absent takes nothing. An item that ends
    before it starts, or a negative demand, breaks the relation. A capacity that is null bounds nothing.
    """

    kind: Literal["cumulative"] = "cumulative"
    tasks: Annotated[tuple[Load, ...], Field(min_length=1)]
    capacity: Expr

    def holds(self, view: View) -> Truth:
        capacity = value_of(self.capacity, view).code
        broken = next(self._faults(view), None) is not None
        return False if broken else None if capacity is None or isinstance(capacity, Special) else True

    def explain(self, view: View) -> str:
        return next(self._faults(view), "the capacity is never exceeded")

    def _faults(self, view: View) -> Iterator[str]:
        yield from self._bad_demands(view)
        try:
            items = timed(self.tasks, view)
        except MissingTime as error:
            yield str(error)
            return
        for one in items:
            if one.end < one.start:
                start = one.moment(one.start)
                yield f"{one.label} ends at {one.moment(one.end)}, before its start at {start}"
        capacity = value_of(self.capacity, view).code
        if capacity is Special.MISSING:
            yield "the capacity is missing from its table"
        if isinstance(capacity, int) and not isinstance(capacity, bool):
            yield from self._overloads(items, capacity, view)

    def _bad_demands(self, view: View) -> Iterator[str]:
        for task in self.tasks:
            for label, inner in task.views(view):
                code = value_of(task.demand, inner).code
                if code is Special.MISSING:
                    yield f"the demand of {label} is missing from its table"
                elif isinstance(code, int) and code < 0:
                    yield f"the demand of {label} is negative: {code}"

    def _overloads(self, items: list[Timed], capacity: int, view: View) -> Iterator[str]:
        for moment in sorted({one.start for one in items}):
            running = [one for one in items if one.start <= moment < one.end and _demand(one)]
            taken = sum(map(_demand, running))
            if running and taken > capacity:
                named = ", ".join(f"{one.text} takes {_demand(one)}" for one in running[:6])
                more = f", … ({len(running)} items)" if len(running) > 6 else ""
                yield (
                    f"at {running[0].moment(moment)} the items take {taken}, but the capacity "
                    f"{expression_text(self.capacity, view)} is {capacity}: {named}{more}"
                )

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        capacity = lowering.value(self.capacity)
        yield compare(store, "le", linear(store, [(capacity, 0)]), store.known(0))
        items = []
        for task in self.tasks:
            for inner in task.lowerings(lowering):
                start, end = times(task, inner)
                demand = inner.value(task.demand)
                yield compare(store, "ge", demand, store.known(0))
                slots = firm_slots(inner.binders[task.bound]) if task.bound is not None else frozenset()
                firm = all(is_firm(value, slots) for value in (start, end, demand))
                items.append(item(store, 0, start, end, demand, firm=firm))
                if items[-1].may_be_reversed:
                    yield compare(store, "le", start, end)
        yield within(store, items, capacity)


def _demand(one: Timed) -> int:
    """What an item takes; nothing where that is null or absent."""
    assert isinstance(one.task, Load)
    code = value_of(one.task.demand, one.view).code
    return code if isinstance(code, int) and not isinstance(code, bool) else 0

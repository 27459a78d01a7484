"""Items to schedule, as the scheduling kinds share them: start, end or duration, and what else they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from factorspec_sdk.automata.nodes import ValueNode
from factorspec_sdk.fields.domains import CodeType
from factorspec_sdk.relations.base import PathText
from factorspec_sdk.relations.evaluate import value_of
from factorspec_sdk.relations.expressions import Expr, Op, WireModel
from factorspec_sdk.relations.view import Quantity, Special, View
from factorspec_sdk.relations.wording import expression_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


class Task(WireModel):
    """One item to schedule or, with ``in`` and ``as``, every item of a list, bound to the name ``as``.

    Exactly one of ``end`` (when it is over: the first moment after it) and ``duration`` is given.
    """

    over: Annotated[PathText | None, Field(alias="in")] = None
    bound: Annotated[str | None, Field(alias="as", pattern=r"^[A-Za-z_]\w*$")] = None
    start: Expr
    end: Expr | None = None
    duration: Expr | None = None

    @property
    def finish(self) -> Expr:
        """The expression of its end."""
        if self.end is not None:
            return self.end
        assert self.duration is not None
        return Op(op="add", args=(self.start, self.duration))

    def views(self, view: View) -> Iterator[tuple[str, View]]:
        """(name for messages, view) of every item."""
        if self.over is None or self.bound is None:
            yield expression_text(self.start, view), view
            return
        for path, item in view.items(self.over) or ():
            yield path, view.bind(self.bound, item, path)

    def lowerings(self, lowering: Lowering) -> Iterator[Lowering]:
        """A lowering for every item that can occur, in writing order."""
        if self.over is None or self.bound is None:
            yield lowering
            return
        part = lowering.list_at(self.over)
        for item in part.items if part is not None else ():
            yield lowering.bind(self.bound, item)


@dataclass(frozen=True, slots=True)
class Timed:
    """An item of a concrete record.

    start, end: codes. unit: what they are. number: position among all items, in writing order.
    """

    label: str
    start: int
    end: int
    unit: CodeType | None
    number: int
    view: View
    task: Task

    @property
    def text(self) -> str:
        """The item with its times, as people read them."""
        return f"{self.label} ({self.moment(self.start)} to {self.moment(self.end)})"

    def moment(self, code: int) -> str:
        """A code in the item's unit."""
        return worded(Quantity(code, self.unit))


class MissingTime(Exception):
    """The start or the end of an item has no value: a lookup without a row."""


def timed(tasks: tuple[Task, ...], view: View) -> list[Timed]:
    """The items whose start and end are there, in writing order; the others are left out.

    Raises:
        MissingTime: naming the item.
    """
    found: list[Timed] = []
    for task in tasks:
        for label, inner in task.views(view):
            start, end = value_of(task.start, inner), value_of(task.finish, inner)
            if Special.MISSING in (start.code, end.code):
                which = "start" if start.code is Special.MISSING else "end"
                raise MissingTime(f"the {which} of {label} is missing from its table")
            a, z = _number(start), _number(end)
            if a is not None and z is not None:
                found.append(Timed(label, a, z, start.type, len(found), inner, task))
    return found


def _number(value: Quantity) -> int | None:
    code = value.code
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def times(task: Task, lowering: Lowering) -> tuple[ValueNode, ValueNode]:
    """Start and end of one item as values."""
    unit = lowering.type_of(task.start)
    want = unit if unit in ("date", "time") else None
    return lowering.value(task.start, want), lowering.value(task.finish, want)


def unit_of(tasks: tuple[Task, ...], lowering: Lowering) -> CodeType | None:
    """What the times of all items are; the same for all of them."""
    for task in tasks:
        for inner in task.lowerings(lowering):
            return inner.type_of(task.start)
    return None

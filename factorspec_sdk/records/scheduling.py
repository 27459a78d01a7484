"""Declared relations of the scheduling kinds: items with start and end or duration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index as index_of
from typing import Protocol, cast

from factorspec_sdk.records.conditions import inline_rows, side_text
from factorspec_sdk.records.declarations import Declaration, Scope, Side
from factorspec_sdk.records.kinds import OverPaths
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import InlineTable, Param, ParamTable, Template
from factorspec_sdk.records.terms import Term

_ITEM = "item"


class Keyed(Protocol):
    """A mapping, whatever its keys are; a tuple is a key of several columns."""

    def items(self) -> Iterable[tuple[object, Constant]]:
        """Keys and values."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """The value of a table at a key: durations by activity, places by name."""

    table: Keyed | Param
    key: tuple[Side, ...]


def look_up(table: Keyed | Param, *key: Side) -> LookUp:
    """The value of a parameter's mapping, or of one that is given here, at the fields of ``key``."""
    return LookUp(table, key)


TaskSide = Side | LookUp


@dataclass(frozen=True, slots=True)
class Task:
    """One item to schedule, or every item of the list ``items``; see ``task``."""

    items: str | None
    start: TaskSide | None
    end: TaskSide | None
    duration: TaskSide | None
    place: TaskSide | None = None
    demand: TaskSide | None = None

    @property
    def text(self) -> str:
        """The task as people read it."""
        return self.items if self.items is not None else _text(self.start)


def task(
    items: str | None = None,
    *,
    start: TaskSide,
    end: TaskSide | None = None,
    duration: TaskSide | None = None,
    place: TaskSide | None = None,
    demand: TaskSide | None = None,
) -> Task:
    """An item to schedule: ``task(start="gym_at", duration=60, place=const("Gym"))``.

    With ``items``, every item of that list is one to schedule; paths then begin at the item, ``"@"`` is the
    item itself and ``"$.field"`` a field of the record. ``end`` is the first moment after it; ``duration`` is
    given instead. ``place``: where it takes place. ``demand``: what it takes of a capacity.
    """
    return Task(items, start, end, duration, place, demand)


@dataclass(frozen=True, slots=True)
class SetOut:
    """When and where the first item is set out for; see ``since``."""

    time: Side
    place: Side | None


def since(time: Side, place: Side | None = None) -> SetOut:
    """When and where the first item of ``no_overlap`` is set out for."""
    return SetOut(time, place)


class Scheduled(Declaration):
    """A declaration over items to schedule."""

    def __init__(
        self, tasks: Sequence[str | Task], shared: Task, name: str | None, why: str | None, *, enforce: bool
    ) -> None:
        super().__init__(name, why, enforce=enforce)
        self.tasks = tuple(
            task
            if isinstance(task, Task)
            else Task(task, shared.start, shared.end, shared.duration, shared.place, shared.demand)
            for task in tasks
        )

    @property
    def listed(self) -> str:
        """The items as people read them."""
        return ", ".join(task.text for task in self.tasks)

    def built(self, scope: Scope, *, places: bool, demands: bool) -> list[Template]:
        """The tasks in their wire form; problems go to ``scope``."""
        if not self.tasks:
            scope.fail("", "at least one list of items, or one task, is needed")
        return [_task(task, scope, places=places, demands=demands) for task in self.tasks]


class NoOverlap(Scheduled):
    """Items do not overlap."""

    def __init__(
        self,
        tasks: Sequence[str | Task],
        shared: Task,
        travel: Keyed | Iterable[Sequence[Constant]] | Param | None,
        set_out: SetOut | None,
        booked: Iterable[Sequence[Constant]] | Param | None,
        name: str | None,
        why: str | None,
        *,
        in_order: bool,
        enforce: bool,
    ) -> None:
        super().__init__(tasks, shared, name, why, enforce=enforce)
        self.travel = travel if isinstance(travel, Param) or travel is None else _rows(travel)
        self.set_out = set_out
        self.booked = booked if isinstance(booked, Param) or booked is None else tuple(booked)
        self.in_order = in_order

    @property
    def default_name(self) -> str:
        return f"no overlap: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        built: dict[str, Template] = {
            "kind": "no_overlap",
            "tasks": self.built(scope, places=self.travel is not None, demands=False),
        }
        if any(task.demand is not None for task in self.tasks):
            scope.fail("demand", "no_overlap knows no demands", "use cumulative")
        if self.travel is None and any(task.place is not None for task in self.tasks):
            scope.fail("place", "places are named, but no travel times", "give travel=")
        if self.travel is not None:
            built["travel"] = _table(scope, "travel", self.travel, 3)
        if self.set_out is not None:
            built["from"] = self._from(scope, self.set_out)
        if self.booked is not None:
            built["booked"] = _table(scope, "booked", self.booked, 2)
        if self.in_order:
            built["in_order"] = True
        return built

    def _from(self, scope: Scope, set_out: SetOut) -> Template:
        time = scope.side(set_out.time)
        made: dict[str, Template] = {"time": time.template if time is not None else None}
        if set_out.place is not None:
            place = scope.side(set_out.place)
            made["place"] = place.template if place is not None else None
        return made


class Cumulative(Scheduled):
    """Items that run at the same time share a capacity."""

    def __init__(
        self,
        tasks: Sequence[str | Task],
        shared: Task,
        capacity: Side,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(tasks, shared, name, why, enforce=enforce)
        self.capacity = capacity

    @property
    def default_name(self) -> str:
        return f"within capacity {side_text(self.capacity)}: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        if any(task.place is not None for task in self.tasks):
            scope.fail("place", "cumulative knows no places", "use no_overlap")
        tasks = self.built(scope, places=False, demands=True)
        capacity = scope.side(self.capacity, Term(None, "int", "the capacity"))
        _require(scope, capacity, ("int",), "a capacity is an integer")
        return {
            "kind": "cumulative",
            "tasks": tasks,
            "capacity": capacity.template if capacity is not None else None,
        }


class Circuit(OverPaths):
    """Successors form one round trip."""

    def __init__(
        self,
        paths: Sequence[str],
        start: int,
        name: str | None,
        why: str | None,
        *,
        loops: bool,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.start, self.loops = int(index_of(start)), loops

    @property
    def default_name(self) -> str:
        return f"circuit: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        for text, shape in shapes:
            if shape is not None and (shape.code not in ("int", None) or shape.nullable):
                scope.fail(text, "a successor is an integer, never null")
        built: dict[str, Template] = {"kind": "circuit", "over": paths}
        if self.start:
            built["start"] = self.start
        return {**built, "loops": True} if self.loops else built


def _task(task: Task, scope: Scope, *, places: bool, demands: bool) -> Template:
    built: dict[str, Template] = {}
    inner = scope
    if task.items is not None:
        found = scope.list_of(task.items)
        if found is None:
            return None
        built |= {"in": str(found[0].path), "as": _ITEM}
        inner = scope.bound({_ITEM: found[1].item})
    if task.start is None:
        scope.fail(task.text, "a start is needed", 'give start=, such as start="start"')
        return None
    if (task.end is None) == (task.duration is None):
        scope.fail(task.text, "exactly one of end and duration is needed", "give end= or duration=")
        return None
    start = _side(inner, task.start, task.items is not None)
    _require(scope, start, ("int", "date", "time", "datetime"), "a start is an integer, a date or a time")
    built["start"] = start.template if start is not None else None
    parts = {"end": task.end, "duration": task.duration, "place": task.place, "demand": task.demand}
    for key, side in parts.items():
        if side is None:
            continue
        if (key == "place" and not places) or (key == "demand" and not demands):
            continue
        like = {"end": start, "duration": _length_of(start)}.get(key)
        term = _side(inner, side, task.items is not None, like)
        if key in ("duration", "demand"):
            _require(scope, term, ("int",), f"a {key} is an integer")
        elif key == "end" and term is not None and start is not None and start.code is not None:
            _require(scope, term, (start.code,), f"an end is {start.kind}, as the start is")
        built[key] = term.template if term is not None else None
    return built


def _length_of(start: Term | None) -> Term | None:
    """A term in whose unit durations are read: days for dates, seconds for times."""
    if start is None or start.code not in ("date", "time", "datetime"):
        return None
    return Term(None, "int", "a duration", unit=start.code)


def _require(scope: Scope, term: Term | None, codes: tuple[str, ...], message: str) -> None:
    if term is not None and term.code is not None and term.code not in codes:
        scope.fail(term.text, f"{message}, this is {term.kind}")


def _side(scope: Scope, side: TaskSide, inside: bool, like: Term | None = None) -> Term | None:
    if isinstance(side, LookUp):
        return _look_up(scope, side, inside)
    if isinstance(side, str):
        side = _inside(side) if inside else side
    return scope.side(side, like)


def _inside(path: str) -> str:
    """A path that begins at an item."""
    if path.startswith("$"):
        return path
    return _ITEM + path.removeprefix("@") if path.startswith("@") else f"{_ITEM}.{path}"


def _look_up(scope: Scope, side: LookUp, inside: bool) -> Term | None:
    keys = [_side(scope, part, inside) for part in side.key]
    known = [part for part in keys if part is not None]
    if not keys:
        scope.fail("look_up", "a key of at least one field is needed")
    if len(known) < len(keys) or not keys:
        return None
    table: ParamTable | InlineTable | None
    if isinstance(side.table, Param):
        table = ParamTable(side.table, len(known) + 1)
    else:
        table = _table(scope, "look_up", _rows(side.table), len(known) + 1)
    if table is None:
        return None
    name = side.table.name if isinstance(side.table, Param) else "its table"
    text = f"{name}[{', '.join(part.text for part in known)}]"
    binders = frozenset[str]().union(*(part.binders for part in known))
    template: Template = {"op": "lookup", "table": table, "key": [part.template for part in known]}
    return Term(template, None, text, binders=binders)


def _rows(table: Keyed | Iterable[Sequence[Constant]]) -> tuple[tuple[object, ...], ...]:
    """The rows of a table given as rows or as a mapping."""
    if not isinstance(table, Mapping):
        return tuple(tuple(row) for row in cast("Iterable[Sequence[Constant]]", table))
    return tuple((*(key if isinstance(key, tuple) else (key,)), value) for key, value in table.items())


def _table(scope: Scope, place: str, rows: object, width: int) -> ParamTable | InlineTable | None:
    if isinstance(rows, Param):
        return ParamTable(rows, width)
    return scope.attempt(place, lambda: InlineTable(inline_rows(rows, width)))


def _text(side: TaskSide | None) -> str:
    return "a look-up" if isinstance(side, LookUp) else side_text(side)

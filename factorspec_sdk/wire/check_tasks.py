"""Checks of the scheduling kinds: items with start and end or duration, tables of times, circuits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from factorspec_sdk.fields.domains import Scalar, encode_scalar
from factorspec_sdk.fields.paths import PathSyntaxError, parse_path
from factorspec_sdk.relations.circuit import Circuit
from factorspec_sdk.relations.cumulative import Cumulative
from factorspec_sdk.relations.no_overlap import NoOverlap
from factorspec_sdk.relations.tasks import Task
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.schema import ArrayNode, ObjectNode, SchemaNode
from factorspec_sdk.wire.type_sets import INT, MOMENT, TEXT, TIMELINE
from factorspec_sdk.wire.types import (
    Type,
    check_key,
    expect,
    fields_type,
    key_twice,
    table_rows,
    type_of,
)

#: items of one relation that may stand in any order
MAX_ITEMS = 400
_PLACES: Type = INT | TEXT


def check_no_overlap(relation: NoOverlap, scope: Scope, place: str) -> None:
    """Items, travel, origin and booked blocks."""
    times: Type = frozenset()
    places: Type = frozenset()
    for at, task in enumerate(relation.tasks):
        for inner, below in task_scope(task, scope, pointer(place, "tasks", at)):
            times |= check_times(task, inner, below)
            if task.place is not None:
                places |= _place(type_of(task.place, inner, pointer(below, "place")), inner, below)
    if relation.origin is not None:
        below = pointer(place, "from")
        times |= type_of(relation.origin.time, scope, pointer(below, "time"))
        if relation.origin.place is not None:
            places |= _place(type_of(relation.origin.place, scope, pointer(below, "place")), scope, below)
    check_unit(times, scope, place)
    if not relation.in_order:
        _check_number(relation.tasks, scope, place, "in the order of time, with in_order, there may be more")
    _travel(relation, places, scope, place)
    _booked(relation, times, scope, place)


def check_cumulative(relation: Cumulative, scope: Scope, place: str) -> None:
    """Items with their demands, and the capacity."""
    times: Type = frozenset()
    for at, task in enumerate(relation.tasks):
        for inner, below in task_scope(task, scope, pointer(place, "tasks", at)):
            times |= check_times(task, inner, below)
            demand = type_of(task.demand, inner, pointer(below, "demand"))
            expect(demand, INT, "a demand is an integer", inner, pointer(below, "demand"))
    check_unit(times, scope, place)
    _check_number(relation.tasks, scope, place, "lower maxItems")
    below = pointer(place, "capacity")
    expect(type_of(relation.capacity, scope, below), INT, "a capacity is an integer", scope, below)


def _check_number(tasks: Sequence[Task], scope: Scope, place: str, hint: str) -> None:
    """Refuse more items in any order than can be compared with each other within the budgets."""
    total = 0
    for at, task in enumerate(tasks):
        below = pointer(place, "tasks", at, "in")
        items = scope.items(task.over, below) if task.over is not None else None
        total += 1 if items is None else items.max_items
    if total > MAX_ITEMS:
        message = f"at most {MAX_ITEMS} items may stand in any order"
        scope.problems.refuse(pointer(place, "tasks"), message, total, hint)


def check_circuit(relation: Circuit, scope: Scope, place: str) -> None:
    """Successors are integers, never null; of several paths all fields are always there."""
    over = pointer(place, "over")
    expect(fields_type(relation.over, scope, over), INT, "a successor is an integer", scope, over)
    for at, path in enumerate(relation.over):
        if any(domain.index(None) is not None for domain in scope.fields(path, f"{over}/{at}")):
            scope.problems.refuse(f"{over}/{at}", "a successor must not be null", path)
        if len(relation.over) > 1 and not _is_always_there(path, scope):
            hint = "name one path, or fields that are required and lists of one length"
            scope.problems.refuse(f"{over}/{at}", "these fields may be absent", path, hint)


def _is_always_there(path: str, scope: Scope) -> bool:
    """True if every field that the path names is in every record."""
    node: SchemaNode = scope.holder
    try:
        segments = parse_path(path).segments
    except PathSyntaxError:
        return True  # noted already
    for segment in segments:
        if isinstance(node, ObjectNode) and isinstance(segment, str):
            found = next((known for known in node.properties if known.name == segment), None)
            if found is None or not found.required:
                return found is None
            node = found.node
        elif isinstance(node, ArrayNode):
            count = segment + 1 if isinstance(segment, int) else node.max_items
            if node.min_items < count:
                return False
            node = node.item
        else:
            return False
    return True


def task_scope(task: Task, scope: Scope, place: str) -> Iterator[tuple[Scope, str]]:
    """The scope of a task's expressions; none where the task itself is wrong."""
    if (task.end is None) == (task.duration is None):
        scope.problems.add(place, "exactly one of 'end' and 'duration' is needed")
        return
    if (task.over is None) != (task.bound is None):
        scope.problems.add(place, "'in' and 'as' go together", hint="leave both out for a single item")
        return
    if task.over is None or task.bound is None:
        yield scope, place
        return
    items = scope.items(task.over, pointer(place, "in"))
    if items is not None:
        yield scope.bind({task.bound: pointer(place, "as")}, items.item), place


def check_times(task: Task, scope: Scope, place: str) -> Type:
    """Start, and end or duration; returns their type."""
    start = type_of(task.start, scope, pointer(place, "start"))
    expect(start, TIMELINE, "a start is an integer, a date or a time", scope, pointer(place, "start"))
    if task.duration is not None:
        below = pointer(place, "duration")
        found = type_of(task.duration, scope, below)
        expect(found, INT, "a duration is an integer (days for dates, seconds for times)", scope, below)
        return start
    assert task.end is not None
    end = type_of(task.end, scope, pointer(place, "end"))
    expect(end, TIMELINE, "an end is an integer, a date or a time", scope, pointer(place, "end"))
    return start | end


def check_unit(times: Type, scope: Scope, place: str) -> None:
    """Note times of different types."""
    if len(times & TIMELINE) > 1:
        scope.problems.add(pointer(place, "tasks"), "all times of one relation have one type")


def _place(found: Type, scope: Scope, place: str) -> Type:
    expect(found, _PLACES, "a place is a text or an integer", scope, pointer(place, "place"))
    return found & _PLACES


def _travel(relation: NoOverlap, places: Type, scope: Scope, place: str) -> None:
    below = pointer(place, "travel")
    if relation.travel is None:
        if places:
            scope.problems.add(place, "places are named, but no table of travel times", hint="give 'travel'")
        return
    if all(task.place is None for task in relation.tasks):
        scope.problems.add(below, "travel times need the places of items", hint="give tasks a 'place'")
    rows = table_rows(relation.travel, 3, scope, place, "travel")
    check_key([places, places], rows, scope, below)
    for row in rows:
        if row[2] is not None and (not isinstance(row[2], int) or isinstance(row[2], bool) or row[2] < 0):
            scope.problems.add(below, "a travel time is an integer of 0 or more", row[2])
            return
    twice = key_twice(rows, scope)
    if twice is not None:
        scope.problems.add(below, f"{relation.travel!r} has two times for one way", twice)


def _booked(relation: NoOverlap, times: Type, scope: Scope, place: str) -> None:
    if relation.booked is None:
        return
    below = pointer(place, "booked")
    rows = table_rows(relation.booked, 2, scope, place, "booked")
    check_key([times, times], rows, scope, below)
    unit = next(iter(times & MOMENT), None)
    for row in rows:
        start, end = (encode_scalar(cell, unit) for cell in row)  # type: ignore[arg-type]
        if not (_is_number(start) and _is_number(end)):
            scope.problems.add(below, "a booked block has a start and an end of the items' type", list(row))
            return
        if start > end:  # type: ignore[operator]
            scope.problems.add(below, "a booked block ends before it starts", list(row))
            return


def _is_number(cell: Scalar) -> bool:
    return isinstance(cell, int) and not isinstance(cell, bool)

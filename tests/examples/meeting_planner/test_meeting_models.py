"""The declared schedules mean what the independent checker says, and decoding reaches those alone."""

import random
from itertools import permutations
from typing import Any

import pytest
from pydantic import ValidationError

import factorspec_sdk as fs
from examples.meeting_planner.appointment import appointment
from examples.meeting_planner.models import schedule
from examples.meeting_planner.problem import Calendars, Day, load, minute_of, own_problems
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.program import Branch, End, Value
from tests.benchmarks.natural_plan_check import Record, calendar_violations, meeting_violations

LISBON = load(own_problems()["lisbon"])
assert isinstance(LISBON, Day)
TEAM = load(own_problems()["team"])
assert isinstance(TEAM, Calendars)


def raw_problem(day: Day) -> Record:
    """A day in the checker's form."""
    people = [
        {
            "name": friend.name,
            "location": friend.place,
            "from_min": minute_of(friend.there_from),
            "to_min": minute_of(friend.there_until),
            "minutes": friend.minutes,
        }
        for friend in day.friends
    ]
    start = {"location": day.arrive_at, "time_min": minute_of(day.arrive_time)}
    return {"start": start, "people": people, "travel": day.travel}


def accepts(model: type[Any], record: Record) -> bool:
    try:
        model.model_validate(record)
    except ValidationError:
        return False
    return True


def test_a_schedule_is_valid_where_the_checker_says_so() -> None:
    assert isinstance(LISBON, Day)
    model, problem, rng = schedule(LISBON, most=False), raw_problem(LISBON), random.Random(1)
    seen = {True: 0, False: 0}
    for order in permutations(LISBON.friends, 3):
        for _ in range(20):
            meetings, now, here = [], minute_of(LISBON.arrive_time), LISBON.arrive_at
            for friend in order:
                ready = now + LISBON.minutes_between(here, friend.place) + rng.choice([-1, 0, 0, 0, 0, 20])
                start = max(ready, minute_of(friend.there_from))
                now, here = start + friend.minutes - (rng.random() < 0.05), friend.place
                meetings.append({"friend": friend.name, "place": here, "start": start, "end": now})
            right = not meeting_violations(problem, {"meetings": meetings})
            assert accepts(model, {"meetings": meetings}) == right
            seen[right] += 1
    assert min(seen.values()) > 30


def walked(compiled: CompiledSpec, rng: random.Random) -> dict[str, Any]:
    """Decisions of a random record, by the paths of its fields."""
    program, state, pc, found = compiled.program, compiled.feasibility.start(), compiled.program.start, {}
    while not isinstance(node := program.nodes[pc], End):
        if isinstance(node, Value | Branch):
            values = compiled.feasibility.values(state, node.slot)
            assert values
            index = rng.choice(list(values))
            found[program.slots[node.slot].path] = program.slots[node.slot].domain.value(index)
            state = compiled.feasibility.assign(state, node.slot, index)
            pc = node.targets[index] if isinstance(node, Branch) else node.next
        else:
            pc = node.next
    return found


@pytest.mark.parametrize("most", [False, True])
def test_random_walks_end_in_right_schedules(most: bool) -> None:
    assert isinstance(LISBON, Day)
    compiled = compile_spec(fs.spec(schedule(LISBON, most=most)))
    assert [certificate.best for certificate in compiled.certificates] == ([5] if most else [])
    problem, rng = raw_problem(LISBON), random.Random(2)
    for _ in range(40):
        found = walked(compiled, rng)
        length = sum(path.endswith(".friend") for path in found)
        meetings = [
            {key: found[f"meetings[{at}].{key}"] for key in ("friend", "place", "start", "end")}
            for at in range(length)
        ]
        assert meeting_violations(problem, {"meetings": meetings}) == []
        assert not most or length == 5


def test_an_appointment_suits_everyone_and_is_the_earliest() -> None:
    assert isinstance(TEAM, Calendars)
    compiled = compile_spec(fs.spec(appointment(TEAM, earliest=True)))
    assert walked(compiled, random.Random(3)) == {"day": "Tuesday", "start": "11:30:00", "end": "12:30:00"}
    problem: Record = {
        "days": list(TEAM.days),
        "duration_min": TEAM.minutes,
        "work_from": "9:00",
        "work_to": "17:00",
        "busy": {
            person: [(b.day, b.start.isoformat(), b.end.isoformat()) for b in blocks]
            for person, blocks in TEAM.busy.items()
        },
        "avoid": [{"name": "Chidi", "day": "Monday", "when": "after", "time": "16:00"}],
    }
    free = compile_spec(fs.spec(appointment(TEAM, earliest=False)))
    slots = {tuple(walked(free, random.Random(seed)).values()) for seed in range(60)}
    assert len(slots) > 3
    for day, start, end in slots:
        assert calendar_violations(problem, {"day": day, "start": start, "end": end}) == []


def test_people_whose_calendars_clash_are_named() -> None:
    clash = load(own_problems()["clash"])
    assert isinstance(clash, Calendars)
    with pytest.raises(fs.Unsatisfiable) as caught:
        compile_spec(fs.spec(appointment(clash, earliest=True)))
    assert {"Ada is busy", "Björn is busy"} <= set(caught.value.conflict)
    assert caught.value.minimal

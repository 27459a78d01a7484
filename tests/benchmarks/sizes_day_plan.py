"""A day of 50 activities, all of them mandatory, with windows, places and travel times.

``python -m tests.benchmarks.sizes_day_plan [--slack 30 60 90] [--seed N]`` prints what it costs by the width
of the windows. Two ways of writing the same day: each start as a field of its own, in any order; and a
list in the order of time, in which the model chooses what comes next.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

import factorspec_sdk as fs
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.program import End, Literal, Value
from tests.benchmarks.size_case import SizeCase

NUM_ACTIVITIES = 50
NUM_PLACES = 12
SLACK_MINUTES = 60


@dataclass(frozen=True)
class Activity:
    """What must be done: between two starts, for so long, somewhere."""

    name: str
    first: int
    last: int
    minutes: int
    place: str


@dataclass(frozen=True)
class Day:
    """Activities in the order of their names, and the minutes from place to place."""

    activities: tuple[Activity, ...]
    travel: Mapping[tuple[str, str], int]


def day(seed: int = 1, slack: int = SLACK_MINUTES, count: int = NUM_ACTIVITIES) -> Day:
    """A day that can be done: windows of ``slack`` minutes are laid around a hidden plan."""
    rng = random.Random(seed)
    spots = {f"place {chr(65 + at)}": (rng.randint(0, 6), rng.randint(0, 6)) for at in range(NUM_PLACES)}
    travel = {
        (a, b): abs(spots[a][0] - spots[b][0]) + abs(spots[a][1] - spots[b][1]) for a in spots for b in spots
    }
    names = [f"task {at:02d}" for at in range(count)]
    rng.shuffle(names)
    now, here, found = 300, rng.choice(list(spots)), []
    for name in names:
        place, minutes = rng.choice(list(spots)), rng.choice([5, 10, 10, 15, 20])
        start = now + travel[here, place] + rng.choice([0, 0, 2, 5])
        early = rng.randint(0, slack)
        found.append(Activity(name, max(0, start - early), start + slack - early, minutes, place))
        now, here = start + minutes, place
    return Day(tuple(sorted(found, key=lambda one: one.name)), travel)


def starts_model(plan: Day) -> type[BaseModel]:
    """One field per activity: its start, in minutes of the day; written in the order of names."""
    fields: dict[str, Any] = {
        _field(one.name): (Annotated[int, Field(ge=one.first, le=one.last)], ...) for one in plan.activities
    }
    model = create_model("Starts", **fields)
    tasks = [
        fs.task(start=_field(one.name), duration=one.minutes, place=fs.const(one.place))
        for one in plan.activities
    ]
    return fs.no_overlap(*tasks, travel=plan.travel, name="one at a time")(model)


def _field(name: str) -> str:
    return name.replace(" ", "_")


class Stop(BaseModel):
    """What is done next, and when it starts, in minutes of the day."""

    activity: Annotated[str, fs.In("names")]
    start: Annotated[int, Field(ge=0, le=1439)]


class Given(BaseModel):
    """What a day consists of: by activity where, how long and between which starts; and the ways."""

    names: list[str]
    place: dict[str, str]
    minutes: dict[str, int]
    first: dict[str, int]
    last: dict[str, int]
    travel: dict[tuple[str, str], int]


@fs.all_different("stops[*].activity", name="each once")
@fs.no_overlap(
    "stops",
    start="start",
    duration=fs.look_up(fs.param("minutes"), "activity"),
    place=fs.look_up(fs.param("place"), "activity"),
    travel=fs.param("travel"),
    in_order=True,
    name="one at a time",
)
class Order(BaseModel):
    """A day in the order of time."""

    stops: Annotated[list[Stop], Field(min_length=NUM_ACTIVITIES, max_length=NUM_ACTIVITIES)]

    @fs.relation("windows")
    def windows(self, given: Given) -> bool:
        """Every activity starts within its window."""
        return fs.every(
            (given.first[stop.activity] <= stop.start) & (stop.start <= given.last[stop.activity])
            for stop in self.stops
        )


def order_model(plan: Day) -> type[BaseModel]:
    """A list in the order of time: what comes next and when."""
    by_name = {one.name: one for one in plan.activities}
    return fs.bind(
        Order,
        Given(
            names=list(by_name),
            place={name: one.place for name, one in by_name.items()},
            minutes={name: one.minutes for name, one in by_name.items()},
            first={name: one.first for name, one in by_name.items()},
            last={name: one.last for name, one in by_name.items()},
            travel=dict(plan.travel),
        ),
    )


def check_order(plan: Day, record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a record of ``order_model``."""
    by_name = {one.name: one for one in plan.activities}
    stops = [(by_name[stop["activity"]], stop["start"]) for stop in record["stops"]]
    problems = [] if stops == sorted(stops, key=lambda pair: pair[1]) else ["not in the order of time"]
    return problems + check(plan, stops)


def check_starts(plan: Day, record: Mapping[str, int]) -> list[str]:
    """What is wrong with a record of ``starts_model``."""
    return check(plan, [(one, record[_field(one.name)]) for one in plan.activities])


def check(plan: Day, starts: list[tuple[Activity, int]]) -> list[str]:
    """What is wrong with a day, activity by activity in the order of time."""
    problems = [f"{one.name} at {at}" for one, at in starts if not one.first <= at <= one.last]
    if sorted(one.name for one, _ in starts) != [one.name for one in plan.activities]:
        problems.append("not every activity once")
    ordered = sorted(starts, key=lambda pair: pair[1])
    for (one, at), (two, then) in pairwise(ordered):
        if at + one.minutes + plan.travel[one.place, two.place] > then:
            problems.append(f"{two.name} at {then} is too soon after {one.name} at {at}")
    return problems


def case() -> SizeCase:
    """The starts of 50 activities, written in the order of their names; there is no bar."""
    plan = day()
    return SizeCase("day_plan", starts_model(plan), lambda record: check_starts(plan, record))


def _decode(compiled: CompiledSpec, seed: int) -> tuple[Any, list[float]]:
    """A record drawn at random from what is feasible, and the milliseconds that each opening took."""
    rng, graph, program = random.Random(seed), compiled.feasibility, compiled.program
    state, text, took, at = graph.start(), "", [], program.start
    while not isinstance(node := program.nodes[at], End):
        if isinstance(node, Literal):
            text, at = text + node.text, node.next
            continue
        assert isinstance(node, Value)
        before = time.process_time()
        values = list(graph.values(state, node.slot))
        took.append((time.process_time() - before) * 1000)
        index = rng.choice(values)
        text += program.slots[node.slot].domain.text(index)
        state, at = graph.assign(state, node.slot, index), node.next
    return json.loads(text), took


def _measured(model: type[BaseModel], check_record: Callable[[Any], list[str]], seed: int) -> str:
    spec = fs.spec(model)
    before = time.process_time()
    compiled = compile_spec(spec)
    compile_ms = (time.process_time() - before) * 1000
    record, took = _decode(compiled, seed)
    tiers = ", ".join(sorted({component.tier for component in compiled.feasibility.components}))
    ordered = sorted(took)
    return (
        f"{tiers}, exact {compiled.feasibility.exact}, compile {compile_ms:.0f} ms, "
        f"open p50 {ordered[len(took) // 2]:.2f} ms, max {ordered[-1]:.1f} ms, wrong: {check_record(record)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sizes_day_plan", description=__doc__)
    parser.add_argument("--slack", type=int, nargs="+", default=[30, 60, 90, 120], help="minutes of a window")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for slack in options.slack:
        plan = day(options.seed, slack)
        print(f"slack {slack} min, starts in any order:", end=" ", flush=True)
        print(_measured(starts_model(plan), partial(check_starts, plan), options.seed))
        print(f"slack {slack} min, in order of time:", end=" ", flush=True)
        print(_measured(order_model(plan), partial(check_order, plan), options.seed), flush=True)


if __name__ == "__main__":
    main()

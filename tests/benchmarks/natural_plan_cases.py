"""The problems of a benchmark run: what is asked, and how an answer is judged."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

import factorspec_sdk as fs
from examples.meeting_planner import appointment, models
from examples.meeting_planner.natural_plan import read_record as read_meeting
from examples.meeting_planner.problem import Calendars, Day
from examples.trip_planner.models import Variant, itinerary, messages
from examples.trip_planner.natural_plan import read_record as read_trip
from factorspec_sdk.errors import JsonValue
from tests.benchmarks.natural_plan_check import (
    Record,
    calendar_slot,
    calendar_violations,
    first_slot,
    meeting_plan,
    meeting_violations,
    official_check,
    official_meeting_problem,
    violations,
)

# Random notes take a token for nearly every character; SmolLM2 would ramble on without a limit.
RANDOM_TOKEN_LIMIT = 1536


@dataclass(frozen=True)
class Judgement:
    """What is wrong with an answer; whether it is the gold one, and whether it reaches the optimum."""

    problems: tuple[str, ...]
    matches_gold: bool = False
    optimal: bool = False


@dataclass(frozen=True)
class Case:
    """One problem.

    record: the bound model. document: as it reaches a server. judge: of an answer's text.
    unique: there is one right answer. token_limit: for a real model.
    """

    identifier: str
    record: type[BaseModel]
    document: dict[str, JsonValue]
    messages: list[dict[str, str]]
    judge: Callable[[Record], Judgement]
    unique: bool
    token_limit: int

    def judged(self, text: str) -> Judgement:
        """The judgement of an answer, which may be no JSON at all."""
        try:
            return self.judge(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            return Judgement((f"{self.identifier}: not of the right shape: {text[:60]!r}",))


Reader = Callable[[Record, str, Path], Case]


def read_cases(task: str, variant: str, folder: Path, limit: int | None) -> list[Case]:
    """The problems in ``folder``; with a limit, that many at equal distances, so that all sizes take part."""
    lines = (folder / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    count = len(lines) if limit is None else min(limit, len(lines))
    read = TASKS[task].read
    return [read(json.loads(lines[i * len(lines) // count]), variant, folder) for i in range(count)]


@dataclass(frozen=True)
class Task:
    """One of the benchmark's tasks: its variants, and how its lines are read."""

    variants: tuple[str, ...]
    read: Reader


def _trip(raw: Record, variant: str, folder: Path) -> Case:
    kind: Variant = next(known for known in get_args(Variant) if known == variant)
    problem = read_trip(raw["id"], raw)
    record = itinerary(problem, kind)
    return Case(
        identifier=raw["id"],
        record=record,
        document=fs.document(record),
        messages=messages(problem, kind),
        judge=partial(_judge_trip, raw, kind, official_check(folder) if kind == "strict" else None),
        unique=raw["num_valid"] == 1,
        token_limit=640 if kind == "open" else 384,
    )


def _judge_trip(raw: Record, variant: Variant, official: Any, record: Record) -> Judgement:
    found = violations(raw["problem"], record, variant)
    if official is not None and not found:
        plan = [(stop["city"], stop["leave"] - stop["arrive"] + 1) for stop in record["stops"]]
        found = official(raw["problem"], plan)
    cities = [stop["city"] for stop in record["stops"]]
    return Judgement(_placed(raw, found), cities == raw["cities"])


def _meeting(raw: Record, variant: str, folder: Path) -> Case:
    day = read_meeting(raw["id"], raw)
    assert isinstance(day, Day)
    record = models.schedule(day, most=variant == "optimal")
    return Case(
        identifier=raw["id"],
        record=record,
        document=fs.document(record),
        messages=models.messages(day),
        judge=partial(_judge_meeting, raw, official_check(folder, "meeting")),
        unique=False,
        token_limit=768,
    )


def _judge_meeting(raw: Record, official: Any, record: Record) -> Judgement:
    problem, plan = official_meeting_problem(raw), meeting_plan(record)
    found = meeting_violations(problem, record)
    if official is not None and not found:
        found = official(problem, plan)
    gold = [tuple(one) for one in raw["gold_meetings"]]
    return Judgement(_placed(raw, found), plan == gold, len(plan) == raw["max_met"])


def _calendar(raw: Record, variant: str, folder: Path) -> Case:
    calendars = read_meeting(raw["id"], raw)
    assert isinstance(calendars, Calendars)
    record = appointment.appointment(calendars, earliest=variant == "optimal" or calendars.earliest)
    return Case(
        identifier=raw["id"],
        record=record,
        document=fs.document(record),
        messages=appointment.messages(calendars),
        judge=partial(_judge_calendar, raw, official_check(folder, "calendar")),
        unique=raw["num_valid"] == 1,
        token_limit=96,
    )


def _judge_calendar(raw: Record, official: Any, record: Record) -> Judgement:
    problem, slot = raw["problem"], calendar_slot(record)
    found = calendar_violations(problem, record)
    if not found:
        if problem["earliest"] and slot != first_slot(problem):
            found = ["an earlier slot exists"]
        elif official is not None:
            found = official(problem, slot)
    return Judgement(_placed(raw, found), slot == tuple(raw["gold_slot"]), slot == first_slot(problem))


def _placed(raw: Record, found: list[str]) -> tuple[str, ...]:
    return tuple(f"{raw['id']}: {violation}" for violation in found)


TASKS: Mapping[str, Task] = {
    "trip": Task(get_args(Variant), _trip),
    "meeting": Task(("plain", "optimal"), _meeting),
    "calendar": Task(("plain", "optimal"), _calendar),
}

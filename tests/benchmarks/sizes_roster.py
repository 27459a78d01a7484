"""A roster of 30 people over 14 days: coverage of each day, rest after nights, days off."""

from collections import Counter
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from tests.benchmarks.size_case import SizeCase

NUM_PEOPLE = 30
NUM_DAYS = 14
#: least people at work, for each shift of each day
NEEDED = {"early": 6, "late": 6, "night": 4}
#: most days that one person works, and most of them in a row
MOST_SHIFTS = 10
MOST_IN_A_ROW = 5

Shift = Literal["early", "late", "night", "off"]


@fs.slide("days", lambda a, b: (a != "night") | (b == "night") | (b == "off"), name="rest after a night")
@fs.slide(
    "days",
    lambda a, b, c, d, e, f: fs.some(day == "off" for day in (a, b, c, d, e, f)),
    name="at most five days in a row",
)
@fs.count("days[*]", values=("off",), ge=NUM_DAYS - MOST_SHIFTS, name="at most ten shifts")
class Person(BaseModel):
    """The shifts of one person, day by day."""

    days: Annotated[list[Shift], Field(min_length=NUM_DAYS, max_length=NUM_DAYS)]


def covered(model: type[BaseModel]) -> type[BaseModel]:
    """The model with the coverage of every day as relations."""
    for day in range(NUM_DAYS):
        for shift, least in NEEDED.items():
            name = f"{shift} shift of day {day + 1}"
            model = fs.count(f"people[*].days[{day}]", values=(shift,), ge=least, name=name)(model)
    return model


@covered
class Roster(BaseModel):
    """Everybody's shifts."""

    people: Annotated[list[Person], Field(min_length=NUM_PEOPLE, max_length=NUM_PEOPLE)]


def check(record: Any) -> list[str]:
    """What is wrong with a roster."""
    rows = [person["days"] for person in record["people"]]
    if len(rows) != NUM_PEOPLE or any(len(row) != NUM_DAYS for row in rows):
        return [f"{len(rows)} people, days {sorted({len(row) for row in rows})}"]
    problems = [f"person {number}: {problem}" for number, row in enumerate(rows) for problem in _wrong(row)]
    for day in range(NUM_DAYS):
        at_work = Counter(row[day] for row in rows)
        problems += [
            f"day {day}: {at_work[shift]} people in the {shift} shift"
            for shift, least in NEEDED.items()
            if at_work[shift] < least
        ]
    return problems


def _wrong(row: list[str]) -> list[str]:
    problems = [f"unknown shift {shift!r}" for shift in row if shift not in (*NEEDED, "off")]
    if any(a == "night" and b in ("early", "late") for a, b in pairwise(row)):
        problems.append("no rest after a night")
    if NUM_DAYS - row.count("off") > MOST_SHIFTS:
        problems.append("too many shifts")
    if any("off" not in row[at : at + MOST_IN_A_ROW + 1] for at in range(NUM_DAYS - MOST_IN_A_ROW)):
        problems.append("too many days in a row")
    return problems


def case() -> SizeCase:
    """The case; the bar is 100 ms."""
    return SizeCase("roster", Roster, check, 100_000, num_records=2)

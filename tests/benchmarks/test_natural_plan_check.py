"""The benchmark's own checker, against hand-made itineraries and against the shared gold plans."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.natural_plan_check import (
    Record,
    Variant,
    calendar_violations,
    first_slot,
    meeting_violations,
    num_stops,
    official_check,
    official_meeting_problem,
    violations,
)
from tests.benchmarks.natural_plan_summary import percentile

PROBLEM: Record = {
    "total_days": 7,
    "stays": {"Metz": 3, "Ghent": 2, "Turin": 4},
    "windows": [{"city": "Ghent", "kind": "fair", "from_day": 3, "to_day": 5}],
    "flights": [["Metz", "Ghent"], ["Ghent", "Turin"]],
}


def trip(*stops: tuple[str, int, int], **more: str) -> Record:
    return {
        "stops": [{"city": city, "arrive": arrive, "leave": leave, **more} for city, arrive, leave in stops]
    }


RIGHT = trip(("Metz", 1, 3), ("Ghent", 3, 4), ("Turin", 4, 7))


def test_a_right_itinerary_has_no_violations() -> None:
    assert violations(PROBLEM, RIGHT, "loose") == []
    assert violations(PROBLEM, trip(("Metz", 1, 3), ("Ghent", 3, 4), ("Turin", 4, 7), note="x"), "open") == []


@pytest.mark.parametrize(
    ("record", "variant", "said"),
    [
        (RIGHT, "strict", "fair in Ghent"),
        (RIGHT, "open", "fields"),
        (trip(("Metz", 1, 3), ("Ghent", 3, 4)), "loose", "2 stops"),
        (trip(("Metz", 1, 3), ("Ghent", 3, 5), ("Turin", 5, 8)), "loose", "days in Ghent"),
        (trip(("Metz", 1, 3), ("Turin", 3, 6), ("Ghent", 6, 7)), "loose", "no flight Metz - Turin"),
        (trip(("Metz", 1, 3), ("Metz", 3, 5), ("Metz", 5, 7)), "loose", "a city twice"),
        (trip(("Metz", 1, 3), ("Ghent", 3, 4), ("Oslo", 4, 7)), "loose", "unknown cities"),
        (trip(("Metz", 2, 4), ("Ghent", 4, 5), ("Turin", 5, 8)), "loose", "ends on day 8"),
        (trip(("Metz", 1, 3), ("Ghent", 3, 4), ("Turin", 4, 7), note="x" * 81), "open", "note of stop"),
    ],
)
def test_each_violation_is_named(record: Record, variant: Variant, said: str) -> None:
    assert any(said in violation for violation in violations(PROBLEM, record, variant))


@pytest.mark.parametrize(("cities", "expected"), [(3, 3), (4, 4), (5, 3), (10, 8)])
def test_open_trips_leave_two_cities_out(cities: int, expected: int) -> None:
    assert num_stops({"stays": dict.fromkeys(map(str, range(cities)), 2)}, "open") == expected
    assert num_stops({"stays": dict.fromkeys(map(str, range(cities)), 2)}, "strict") == cities


def test_gold_plans_are_right_and_shifted_ones_are_not(shared_dir: Path) -> None:
    folder = shared_dir / "data" / "natural_plan"
    official: Callable[[Record, list[tuple[str, int]]], list[str]] | None = official_check(folder)
    assert official is not None
    for line in (folder / "trip.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        day, stops = 1, []
        for city, days in zip(record["cities"], record["durations"], strict=True):
            stops.append((city, day, day + days - 1))
            day += days - 1
        assert violations(record["problem"], trip(*stops), "strict") == []
        assert violations(record["problem"], trip(*stops), "loose") == []
        turned = [(city, leave - arrive + 1) for city, arrive, leave in reversed(stops)]
        day, stops = 1, []
        for city, days in turned:
            stops.append((city, day, day + days - 1))
            day += days - 1
        assert bool(violations(record["problem"], trip(*stops), "strict")) == bool(
            official(record["problem"], turned)
        )


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([], 50) is None
    assert percentile([3.0], 99) == 3.0
    assert percentile([float(n) for n in range(1, 101)], 99) == 99.0
    assert percentile([2.0, 1.0, 3.0], 50) == 2.0


SHIFTS = (-1, 1, -30, 30)


def test_gold_meetings_are_right_and_shifted_ones_are_judged_alike(shared_dir: Path) -> None:
    folder = shared_dir / "data" / "natural_plan"
    official = official_check(folder, "meeting")
    assert official is not None
    seen = {True: 0, False: 0}
    for line in (folder / "meeting.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        problem = official_meeting_problem(raw)
        assert meeting_violations(problem, scheduled(problem, raw["gold_meetings"])) == []
        for shift in SHIFTS:
            *before, (name, start, end) = raw["gold_meetings"]
            moved = [*before, (name, start, end + shift)]
            wrong = bool(meeting_violations(problem, scheduled(problem, moved)))
            assert wrong == bool(official(problem, moved))
            seen[wrong] += 1
    assert min(seen.values()) > 50


def scheduled(problem: Record, plan: list[Any]) -> Record:
    places = {person["name"]: person["location"] for person in problem["people"]}
    return {
        "meetings": [
            {"friend": name, "place": places[name], "start": start, "end": end} for name, start, end in plan
        ]
    }


def clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}:00"


def test_calendars_are_judged_as_by_the_check_beside_the_data(shared_dir: Path) -> None:
    folder = shared_dir / "data" / "natural_plan"
    official = official_check(folder, "calendar")
    assert official is not None
    for line in (folder / "calendar.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        problem, (day, start, end) = raw["problem"], raw["gold_slot"]
        if problem["earliest"]:
            assert first_slot(problem) == (day, start, end)
        problem = {**problem, "earliest": False}
        for shift in (0, *SHIFTS):
            record = {"day": day, "start": clock(start + shift), "end": clock(end + shift)}
            found = calendar_violations(problem, record)
            assert bool(found) == bool(official(problem, (day, start + shift, end + shift)))
            assert not found or shift

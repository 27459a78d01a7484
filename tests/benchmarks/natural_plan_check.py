"""Is an itinerary right? Plain Python that shares no code with the project.

A record is ``{"stops": [{"city", "arrive", "leave", ...}]}``; a problem is as in ``trip.jsonl``.
``strict``: each window lies inside the stay. ``loose``: at least one day of it does. ``open``: as loose, for
any n - 2 of the n cities (all, below five), ending by the last day, with a note of at most 80 characters at
each stop.
"""

import importlib.util
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

Variant = Literal["strict", "loose", "open"]
Record = dict[str, Any]


def violations(problem: Record, record: Record, variant: Variant) -> list[str]:
    """Everything that is wrong, in words; empty if the itinerary is right."""
    stops = record["stops"]
    return [
        *_shape(stops, variant),
        *_cities(problem, stops, variant),
        *_days(problem, stops, variant),
        *_flights(problem, stops),
        *_windows(problem, stops, variant),
    ]


def num_stops(problem: Record, variant: Variant) -> int:
    """How many cities the itinerary must visit."""
    cities = len(problem["stays"])
    return cities - 2 if variant == "open" and cities >= 5 else cities


def official_check(folder: Path) -> Callable[[Record, list[tuple[str, int]]], list[str]] | None:
    """``trip_violations`` of the ``check.py`` that lies beside the data, or None if none does."""
    path = folder / "check.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("natural_plan_official_check", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check: Callable[[Record, list[tuple[str, int]]], list[str]] = module.trip_violations
    return check


def _shape(stops: list[Record], variant: Variant) -> Iterator[str]:
    keys = {"city", "arrive", "leave"} | ({"note"} if variant == "open" else set())
    for stop in stops:
        if set(stop) != keys:
            yield f"fields {sorted(stop)}"
        if variant == "open" and not (isinstance(stop.get("note"), str) and len(stop["note"]) <= 80):
            yield f"note of stop {stop.get('city')!r}"


def _cities(problem: Record, stops: list[Record], variant: Variant) -> Iterator[str]:
    cities = [stop["city"] for stop in stops]
    if len(cities) != num_stops(problem, variant):
        yield f"{len(cities)} stops"
    if len(set(cities)) != len(cities):
        yield "a city twice"
    if unknown := set(cities) - set(problem["stays"]):
        yield f"unknown cities {sorted(unknown)}"


def _days(problem: Record, stops: list[Record], variant: Variant) -> Iterator[str]:
    day = 1
    for stop in stops:
        length = problem["stays"].get(stop["city"], 0)
        if stop["arrive"] != day or stop["leave"] != day + length - 1:
            yield f"days in {stop['city']}: {stop['arrive']}-{stop['leave']}"
        day = stop["leave"]
    if day > problem["total_days"] or (variant != "open" and day != problem["total_days"]):
        yield f"ends on day {day}"


def _flights(problem: Record, stops: list[Record]) -> Iterator[str]:
    flights = {tuple(flight) for flight in problem["flights"]}
    for before, after in pairwise(stops):
        if (before["city"], after["city"]) not in flights:
            yield f"no flight {before['city']} - {after['city']}"


def _windows(problem: Record, stops: list[Record], variant: Variant) -> Iterator[str]:
    for window in problem["windows"]:
        for stop in stops:
            if stop["city"] != window["city"]:
                continue
            inside = stop["arrive"] <= window["from_day"] and window["to_day"] <= stop["leave"]
            touched = stop["arrive"] <= window["to_day"] and window["from_day"] <= stop["leave"]
            if not (inside if variant == "strict" else touched):
                yield f"{window['kind']} in {window['city']}"

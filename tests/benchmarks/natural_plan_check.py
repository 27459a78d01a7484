"""Is an itinerary, a schedule, an appointment right? Plain Python that shares no code with the project.

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


def official_check(folder: Path, task: str = "trip") -> Callable[[Record, Any], list[str]] | None:
    """The task's check in the ``check.py`` that lies beside the data, or None if none does."""
    path = folder / "check.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("natural_plan_official_check", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check: Callable[[Record, Any], list[str]] = getattr(module, f"{task}_violations")
    return check


Plan = list[tuple[str, int, int]]


def official_meeting_problem(raw: Record) -> Record:
    """A line of ``meeting.jsonl`` as ``check.py`` reads it."""
    (place, arrival), *others = raw["constraints"]
    people = [
        {"name": name, "location": where, "from_min": _minute(a), "to_min": _minute(b), "minutes": minutes}
        for name, where, (a, b), minutes in ((n, w, hours.split(" to "), m) for n, w, hours, m in others)
    ]
    start = {"location": place, "time_min": _minute(arrival)}
    return {"start": start, "people": people, "travel": raw["dist_matrix"]}


def meeting_violations(problem: Record, record: Record) -> list[str]:
    """What is wrong with a schedule; ``problem`` as ``official_meeting_problem`` gives it."""
    people = {person["name"]: person for person in problem["people"]}
    here, now = problem["start"]["location"], problem["start"]["time_min"]
    wrong, met = [], set()
    for meeting in record["meetings"]:
        name, start, end = meeting["friend"], meeting["start"], meeting["end"]
        person = people.get(name)
        if person is None or name in met:
            wrong.append(f"{name}: unknown or met twice")
            continue
        met.add(name)
        way = 0 if here == person["location"] else problem["travel"][here][person["location"]]
        facts = {
            "place": meeting["place"] == person["location"],
            "way": start >= now + way,
            "hours": person["from_min"] <= start and end <= person["to_min"],
            "length": end - start >= person["minutes"],
        }
        wrong += [f"{name}: {fact}" for fact, right in facts.items() if not right]
        here, now = person["location"], end
    return wrong


def meeting_plan(record: Record) -> Plan:
    """A schedule as (name, start, end) in minutes of the day."""
    return [(m["friend"], m["start"], m["end"]) for m in record["meetings"]]


def calendar_violations(problem: Record, record: Record) -> list[str]:
    """What is wrong with an appointment, the wish for the earliest one apart."""
    start, end = _minute(record["start"]), _minute(record["end"])
    wrong = [] if record["day"] in problem["days"] else ["day"]
    if end - start != problem["duration_min"]:
        wrong.append("length")
    if start < _minute(problem["work_from"]) or end > _minute(problem["work_to"]):
        wrong.append("work hours")
    for person, blocks in problem["busy"].items():
        for day, a, b in blocks:
            if day == record["day"] and start < _minute(b) and _minute(a) < end:
                wrong.append(f"{person} is busy {a}-{b}")
    for one in problem["avoid"]:
        limits = {
            "all": True,
            "before": one["time"] is not None and start < _minute(one["time"]),
            "after": one["time"] is not None and end > _minute(one["time"]),
        }
        if one["day"] == record["day"] and limits[one["when"]]:
            wrong.append(f"{one['name']} avoids {one['day']} {one['when']} {one['time']}")
    return wrong


def calendar_slot(record: Record) -> tuple[str, int, int]:
    """An appointment as (day, start, end) in minutes of the day."""
    return record["day"], _minute(record["start"]), _minute(record["end"])


def first_slot(problem: Record) -> tuple[str, int, int]:
    """The earliest slot on the half-hour grid that suits everyone."""
    first, last = _minute(problem["work_from"]), _minute(problem["work_to"])
    for day in problem["days"]:
        for start in range(first, last - problem["duration_min"] + 1, 30):
            end = start + problem["duration_min"]
            times = {"start": f"{start // 60}:{start % 60:02}", "end": f"{end // 60}:{end % 60:02}"}
            if not calendar_violations(problem, {"day": day, **times}):
                return day, start, end
    raise ValueError("no slot suits everyone")


def _minute(text: str) -> int:
    """Minute of the day of ``9:00AM``, ``17:00`` or ``17:00:00``."""
    half = text[-2:] if text[-1] == "M" else ""
    hour, minute = map(int, text.removesuffix(half).split(":")[:2])
    return (hour % 12 + 12 * (half == "PM") if half else hour) * 60 + minute


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

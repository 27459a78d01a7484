"""Problems of the NATURAL PLAN benchmark (meeting planning, calendar scheduling), read from their fields.

Two forms of files are understood, for meetings both, for calendars the second::

    official   one JSON object: id -> {"constraints", "dist_matrix", "prompt_0shot"}
    lines      one JSON object a line: {"id", "prompt", "constraints" and "dist_matrix", or "problem"}
"""

import json
import re
from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import Any

from examples.meeting_planner.problem import Block, Calendars, Day, Friend, Problem

CLOCK = re.compile(r"(\d{1,2}):(\d\d)([AP]M)?")


class NotAMeetingProblem(ValueError):
    """The record or file does not have the form of the benchmark."""


def find_problem(path: Path, identifier: str) -> Problem:
    """The problem with that id. Raises NotAMeetingProblem if the file has none."""
    known = []
    for name, record in _records(path):
        if name == identifier:
            return read_record(name, record)
        known.append(name)
    raise NotAMeetingProblem(
        f"{path.name} has no problem {identifier!r}; it has {len(known)}, {known[:3]} among them"
    )


def read_record(name: str, record: dict[str, Any]) -> Problem:
    """One record of either form."""
    try:
        if "constraints" in record:
            return _day(name, record)
        if "problem" in record:
            return _calendars(name, record)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAMeetingProblem(f"{name!r} is not of the benchmark's form: {error!r}") from error
    raise NotAMeetingProblem(f"{name!r} has neither 'constraints' nor 'problem'")


def read_clock(text: str) -> time:
    """``9:00AM``, ``5:15PM`` or ``17:00``."""
    found = CLOCK.fullmatch(text.strip())
    if found is None:
        raise NotAMeetingProblem(f"not a time of day: {text!r}")
    hour, half = int(found[1]), found[3]
    if half is not None:
        hour = hour % 12 + (12 if half == "PM" else 0)
    return time(hour, int(found[2]))


def _day(name: str, record: dict[str, Any]) -> Day:
    (place, arrival), *others = record["constraints"]
    friends = []
    for friend, where, window, minutes in others:
        start, end = window.split(" to ")
        friends.append(
            Friend(
                name=friend,
                place=where,
                there_from=read_clock(start),
                there_until=read_clock(end),
                minutes=minutes,
            )
        )
    return Day(
        title=name,
        text=record.get("prompt", record.get("prompt_0shot")),
        arrive_at=place,
        arrive_time=read_clock(arrival),
        friends=tuple(friends),
        travel=record["dist_matrix"],
    )


def _calendars(name: str, record: dict[str, Any]) -> Calendars:
    given = record["problem"]
    work_from, work_until = read_clock(given["work_from"]), read_clock(given["work_to"])
    unwanted: dict[str, list[Block]] = {}
    for one in given["avoid"]:
        moment = None if one["time"] is None else read_clock(one["time"])
        start = work_from if one["when"] != "after" or moment is None else moment
        end = work_until if one["when"] != "before" or moment is None else moment
        unwanted.setdefault(one["name"], []).append(Block(day=one["day"], start=start, end=end))
    return Calendars(
        title=name,
        text=record.get("prompt"),
        days=tuple(given["days"]),
        work_from=work_from,
        work_until=work_until,
        minutes=given["duration_min"],
        busy={
            person: tuple(Block(day=d, start=read_clock(a), end=read_clock(b)) for d, a, b in blocks)
            for person, blocks in given["busy"].items()
        },
        unwanted={person: tuple(blocks) for person, blocks in unwanted.items()},
        earliest=given["earliest"],
    )


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = path.read_text(encoding="utf-8")
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            record = json.loads(line)
            yield record["id"], record
        return
    if "id" in whole:
        yield whole["id"], whole
    else:
        yield from whole.items()

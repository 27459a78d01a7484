"""Reading meetings and calendars of the benchmark, in both forms of files."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.meeting_planner.natural_plan import NotAMeetingProblem, find_problem, read_clock, read_record
from examples.meeting_planner.problem import Block, Calendars, Day, minute_of

MEETING: dict[str, Any] = {
    "constraints": [["Pier", "9:00AM"], ["Ann", "Park", "12:15PM to 5:45PM", 90]],
    "dist_matrix": {"Pier": {"Park": 22}, "Park": {"Pier": 21}},
}
CALENDAR: dict[str, Any] = {
    "problem": {
        "people": ["Ann"], "duration_min": 30, "work_from": "9:00", "work_to": "17:00", "days": ["Monday"],
        "busy": {"Ann": [["Monday", "9:00", "9:30"]]}, "earliest": False,
        "avoid": [{"name": "Ann", "day": "Monday", "when": "after", "time": "16:00"}],
    }
}  # fmt: skip


def test_a_meeting_is_read_whole() -> None:
    day = read_record("x", MEETING)
    assert isinstance(day, Day)
    assert (day.arrive_at, minute_of(day.arrive_time)) == ("Pier", 540)
    friend = day.friends[0]
    assert (friend.name, friend.place, friend.minutes) == ("Ann", "Park", 90)
    assert (minute_of(friend.there_from), minute_of(friend.there_until)) == (735, 1065)
    assert day.minutes_between("Pier", "Park") == 22 and day.minutes_between("Park", "Park") == 0


def test_a_calendar_is_read_whole() -> None:
    calendars = read_record("x", CALENDAR)
    assert isinstance(calendars, Calendars)
    assert calendars.busy == {"Ann": (Block(day="Monday", start="09:00", end="09:30"),)}
    assert calendars.unwanted == {"Ann": (Block(day="Monday", start="16:00", end="17:00"),)}


@pytest.mark.parametrize("text", ["", "9", "9:00XM", "25:00", "12:61PM"])
def test_an_odd_time_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a time|must be in"):
        read_clock(text)


@pytest.mark.parametrize("record", [{}, {"constraints": 3}, {"problem": {}}, {"constraints": [["Pier", 9]]}])
def test_a_record_of_another_form_is_an_error(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_record("x", record)


def test_official_and_line_forms_give_the_same_problem(tmp_path: Path) -> None:
    official, lines = tmp_path / "meeting.json", tmp_path / "meeting.jsonl"
    official.write_text(json.dumps({"a": MEETING, "b": MEETING}))
    lines.write_text("\n".join(json.dumps({"id": name, **MEETING}) for name in ("a", "b")))
    assert find_problem(official, "b") == find_problem(lines, "b") == read_record("b", MEETING)
    with pytest.raises(NotAMeetingProblem, match="'c'"):
        find_problem(official, "c")


def test_every_shared_problem_is_read(shared_dir: Path) -> None:
    for task, kind in (("meeting", Day), ("calendar", Calendars)):
        path = shared_dir / "data" / "natural_plan" / f"{task}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            assert isinstance(read_record(record["id"], record), kind)

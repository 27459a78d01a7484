"""The charts as people see them."""

from types import SimpleNamespace

from rich.console import Console, RenderableType

from examples.meeting_planner.chart import Slot, calendar_chart, day_chart
from examples.meeting_planner.problem import Calendars, Day, load, own_problems


def drawn(chart: RenderableType) -> str:
    console = Console(width=100, record=True, color_system=None)
    with console.capture() as capture:
        console.print(chart)
    return capture.get()


def test_a_day_shows_hours_ways_and_meetings() -> None:
    day = load(own_problems()["lisbon"])
    assert isinstance(day, Day)
    meetings = [
        SimpleNamespace(friend="Rui", place="Chiado", start=570, end=615),
        SimpleNamespace(friend="Inês", place="Belém", start=640, end=700),
    ]
    text = drawn(day_chart(day, meetings))
    lines = [line for line in text.splitlines() if "Rui" in line or "Inês" in line]
    assert "9:30–10:15" in lines[0] and "██" in lines[0] and "15 min" in lines[0]
    assert "→" in lines[1] and "25 min" in lines[1]
    assert "Not met: Marta, João, Zé" in text
    assert max(map(len, text.splitlines())) <= 80


def test_calendars_show_what_is_taken_and_the_slot() -> None:
    calendars = load(own_problems()["team"])
    assert isinstance(calendars, Calendars)
    text = drawn(calendar_chart(calendars, Slot("Tuesday", 690, 750)))
    assert "Tuesday, 11:30–12:30" in text
    rows = {line.split()[1]: line for line in text.splitlines() if "█" in line and "meeting" not in line}
    assert set(rows) == {"Ada", "Björn", "Chidi"}
    assert "▒" in rows["Ada"] and "▒" not in rows["Björn"]

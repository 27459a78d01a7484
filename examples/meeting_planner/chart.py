"""A schedule as a day chart in the terminal: one row a friend, one column a quarter of an hour or more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.meeting_planner.problem import Block, Calendars, Day, Friend, minute_of

STYLES = ("cyan", "magenta", "yellow", "green", "blue", "red")
#: columns of the longest day
COLUMNS = 30


class MeetingLike(Protocol):
    """What the chart reads of a meeting; times are minutes since midnight."""

    friend: str
    place: str
    start: int
    end: int


@dataclass(frozen=True)
class Slot:
    """An appointment with its times as minutes since midnight."""

    day: str
    start: int
    end: int


def day_chart(day: Day, meetings: Sequence[MeetingLike]) -> Panel:
    """One row a meeting: the friend's hours, the meeting and the way to it."""
    scale = Scale(minute_of(day.arrive_time), max(minute_of(friend.there_until) for friend in day.friends))
    table = _table("when", "friend", "place", scale.ruler, "way")
    friends = {friend.name: friend for friend in day.friends}
    here = day.arrive_at
    for number, meeting in enumerate(meetings):
        style = STYLES[number % len(STYLES)]
        way = day.minutes_between(here, meeting.place)
        table.add_row(
            f"{clock(meeting.start)}–{clock(meeting.end)}",
            Text(meeting.friend, style=f"bold {style}"),
            Text(meeting.place),
            _meeting_bar(scale, friends[meeting.friend], meeting, way, style),
            f"{way} min" if way else "",
        )
        here = meeting.place
    met = {meeting.friend for meeting in meetings}
    missed = [friend.name for friend in day.friends if friend.name not in met]
    parts: list[RenderableType] = [table]
    if missed:
        parts.append(Text(f"\nNot met: {', '.join(missed)}", style="dim"))
    parts.append(Text("\n█ meeting   → on the way   · friend is there", style="dim"))
    return _panel(day.title, parts)


def calendar_chart(calendars: Calendars, slot: Slot) -> Panel:
    """One row a person on the day of the slot: what is taken, and the slot."""
    scale = Scale(minute_of(calendars.work_from), minute_of(calendars.work_until))
    table = _table("who", scale.ruler)
    for person, blocks in calendars.busy.items():
        unwanted = calendars.unwanted.get(person, ())
        table.add_row(Text(person), _person_bar(scale, slot, blocks, unwanted))
    when = f"{slot.day}, {clock(slot.start)}–{clock(slot.end)}"
    legend = Text("\n█ the meeting   ▒ busy   ░ would rather not", style="dim")
    return _panel(calendars.title, [Text(when, style="bold cyan"), Text(), table, legend])


class Scale:
    """From minutes to columns."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first // 60 * 60
        self.last = -(-last // 60) * 60
        self.minutes = next(m for m in (15, 20, 30, 60) if (self.last - self.first) // m <= COLUMNS)

    def __len__(self) -> int:
        return (self.last - self.first) // self.minutes

    def at(self, column: int) -> int:
        """The minute at which a column begins."""
        return self.first + column * self.minutes

    @property
    def ruler(self) -> str:
        """Hours over the columns, every second one."""
        line = [" "] * (len(self) + 2)
        for hour in range(self.first // 60, self.last // 60, 2):
            column = (hour * 60 - self.first) // self.minutes
            for offset, digit in enumerate(str(hour)):
                line[column + offset] = digit
        return "".join(line).rstrip()


def clock(minute: int) -> str:
    """``9:05``."""
    return f"{minute // 60}:{minute % 60:02}"


def _meeting_bar(scale: Scale, friend: Friend, meeting: MeetingLike, way: int, style: str) -> Text:
    bar = Text()
    there_from, there_until = minute_of(friend.there_from), minute_of(friend.there_until)
    for column in range(len(scale)):
        start, end = scale.at(column), scale.at(column + 1)
        if start < meeting.end and meeting.start < end:
            bar.append("█", style)
        elif start < meeting.start and meeting.start - way < end:
            bar.append("→", style)
        else:
            bar.append("·" if start < there_until and there_from < end else " ", "dim")
    return bar


def _person_bar(scale: Scale, slot: Slot, busy: Sequence[Block], unwanted: Sequence[Block]) -> Text:
    bar = Text()
    for column in range(len(scale)):
        start, end = scale.at(column), scale.at(column + 1)
        if start < slot.end and slot.start < end:
            bar.append("█", "cyan")
        elif _meets(busy, slot.day, start, end):
            bar.append("▒", "red")
        else:
            bar.append("░" if _meets(unwanted, slot.day, start, end) else " ", "dim")
    return bar


def _meets(blocks: Sequence[Block], day: str, start: int, end: int) -> bool:
    return any(
        block.day == day and minute_of(block.start) < end and start < minute_of(block.end) for block in blocks
    )


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    return table


def _panel(title: str, parts: list[RenderableType]) -> Panel:
    return Panel(Group(*parts), title=Text(title), title_align="left", expand=False, padding=(1, 2))

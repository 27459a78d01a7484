"""An itinerary as a day timeline in the terminal, and the origin of each of its tokens."""

from collections.abc import Sequence
from typing import Literal, Protocol

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.trip_planner.problem import Problem, Window

Origin = Literal["certain", "chosen", "free"]

STAY_STYLES = ("cyan", "magenta", "yellow", "green", "blue", "red")
ORIGIN_STYLES: dict[Origin, str] = {"certain": "dim", "chosen": "bold black on yellow", "free": "italic cyan"}
ORIGIN_WORDS: dict[Origin, str] = {
    "certain": "certain: determined by the spec, no decision of the model",
    "chosen": "chosen: the model decided between feasible values",
    "free": "free: the model's own words",
}


class StopLike(Protocol):
    """What the timeline reads of a stop."""

    city: str
    arrive: int
    leave: int


def timeline(problem: Problem, stops: Sequence[StopLike]) -> Panel:
    """One row a stop, one column a day; a flight day shows in both rows, a fixed date is marked."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("days", justify="right", no_wrap=True)
    table.add_column("city")
    table.add_column(_ruler(problem.total_days), no_wrap=True)
    table.add_column("", overflow="fold")
    for number, stop in enumerate(stops):
        style = STAY_STYLES[number % len(STAY_STYLES)]
        windows = [window for window in problem.windows if window.city == stop.city]
        table.add_row(
            f"{stop.arrive}–{stop.leave}",
            Text(stop.city, style=f"bold {style}"),
            _bar(stop, windows, problem.total_days, style),
            _remarks(stop, windows),
        )
    left_out = [city for city in problem.cities if city not in {stop.city for stop in stops}]
    parts: list[RenderableType] = [table]
    if left_out:
        parts.append(Text(f"\nNot visited: {', '.join(left_out)}", style="dim"))
    return Panel(Group(*parts), title=Text(problem.title), title_align="left", expand=False, padding=(1, 2))


def origins(tokens: Sequence[tuple[str, Origin]]) -> Panel:
    """The record's text, each token in the style of its origin; bars part neighbours of the same origin."""
    text = Text()
    before: Origin | None = None
    for piece, origin in tokens:
        if origin == before:
            text.append("│" if origin != "certain" else "", style="dim")
        text.append(piece, style=ORIGIN_STYLES[origin])
        before = origin
    counts = {origin: sum(1 for _, other in tokens if other == origin) for origin in ORIGIN_STYLES}
    legend = Text("\n").join(
        Text.assemble((f"{counts[origin]:4d} ", "bold"), (ORIGIN_WORDS[origin], ORIGIN_STYLES[origin]))
        for origin in ORIGIN_STYLES
    )
    return Panel(
        Group(text, Text(), legend), title="where each token came from", title_align="left", padding=(1, 2)
    )


def _ruler(total_days: int) -> str:
    """Day numbers over the columns: 1, 5, 10, …"""
    marks = [1, *range(5, total_days + 1, 5)]
    line = [" "] * (total_days + 1)
    for day in marks:
        for offset, digit in enumerate(str(day)):
            line[day - 1 + offset] = digit
    return "".join(line).rstrip()


def _bar(stop: StopLike, windows: Sequence[Window], total_days: int, style: str) -> Text:
    bar = Text()
    for day in range(1, total_days + 1):
        inside = stop.arrive <= day <= stop.leave
        fixed = any(window.from_day <= day <= window.to_day for window in windows)
        bar.append(
            "◆" if inside and fixed else "█" if inside else "◇" if fixed else "·", style if inside else "dim"
        )
    return bar


def _remarks(stop: StopLike, windows: Sequence[Window]) -> Text:
    lines = [f"◆ {window.kind}, day {window.from_day}–{window.to_day}" for window in windows]
    note = getattr(stop, "note", "")
    if note:
        lines.append(f"“{note}”")
    return Text("\n".join(lines))

"""The timeline as people see it, as a snapshot."""

from types import SimpleNamespace
from typing import cast

from rich.console import Console, RenderableType

from examples.trip_planner.problem import Problem, Window
from examples.trip_planner.timeline import StopLike, origins, timeline

PROBLEM = Problem(
    title="Three [red] towns",
    total_days=12,
    stays={"Αθήνα": 4, "C:\\Temp": 3, "Cork": 5, "Metz": 2},
    windows=(Window(city="Αθήνα", kind="fair", from_day=3, to_day=5),),
)

TIMELINE = """\
╭─ Three [red] towns ────────────────────────────────────╮
│                                                        │
│  days  city     1   5    10                            │
│   1–4  Αθήνα    ██◆◆◇·······  ◆ fair, day 3–5          │
│                               “mind the [bold] steps”  │
│   4–6  C:\\Temp  ···███······                           │
│  6–10  Cork     ·····█████··                           │
│                                                        │
│  Not visited: Metz                                     │
│                                                        │
╰────────────────────────────────────────────────────────╯"""


def stop(city: str, arrive: int, leave: int, **more: str) -> StopLike:
    return cast(StopLike, SimpleNamespace(city=city, arrive=arrive, leave=leave, **more))


def shown(part: RenderableType) -> str:
    console = Console(width=80, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_timeline_shows_days_dates_notes_and_what_is_left_out() -> None:
    stops = [
        stop("Αθήνα", 1, 4, note="mind the [bold] steps"),
        stop("C:\\Temp", 4, 6, note=""),
        stop("Cork", 6, 10),
    ]
    assert shown(timeline(PROBLEM, stops)) == TIMELINE


def test_origins_counts_tokens_of_each_kind() -> None:
    text = shown(
        origins([('{"', "certain"), ("city", "certain"), ("Cork", "chosen"), ("sun", "free"), ("ny", "free")])
    )
    assert '{"cityCorksun│ny' in text
    assert "2 certain" in text
    assert "1 chosen" in text
    assert "2 free" in text

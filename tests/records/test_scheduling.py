"""Declared scheduling relations: their wire form, what they refuse, what they say about instances."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from factorspec_sdk.records.declarations import Declaration

Clock = Annotated[datetime.time, fs.Between(datetime.time(8), datetime.time(18), step=fs.minutes(15))]
NINE, NOON, ONE = datetime.time(9), datetime.time(12), datetime.time(13)
TICK = datetime.timedelta(milliseconds=1)
MINUTES = {"ann": 3600, "bob": 1800}
WAYS = {("home", "shop"): 900, ("shop", "home"): 900}


class Visit(BaseModel):
    who: Annotated[str, fs.In(["ann", "bob"])]
    start: Clock
    end: Clock
    place: Annotated[str, fs.In(["home", "shop"])]


class Day(BaseModel):
    visits: Annotated[list[Visit], Field(max_length=3)]
    hours: Annotated[list[Annotated[int, Field(ge=0, le=23)]], Field(max_length=3)]
    gym: Clock
    length: Annotated[int, Field(ge=900, le=7200)]
    note: str


def wire(declaration: Declaration) -> dict[str, Any]:
    class Copy(Day):
        pass

    model = declaration(Copy)
    fs.spec(model)
    vendor: Any = fs.document(model)["x-factorspec"]
    found: dict[str, Any] = vendor["relations"][0]
    return {**found, "tables": vendor.get("tables", {})}


def test_items_of_a_list() -> None:
    made = wire(
        fs.no_overlap(
            "visits", start="start", duration=fs.look_up(MINUTES, "who"), place="place", travel=WAYS,
            since=fs.since(NINE, fs.const("home")), booked=[(NOON, ONE)], in_order=True,
        )
    )  # fmt: skip
    tables = made.pop("tables")
    assert made == {
        "name": "no overlap: visits",
        "kind": "no_overlap",
        "tasks": [
            {
                "in": "$.visits",
                "as": "item",
                "start": {"ref": "item.start"},
                "duration": {
                    "op": "lookup",
                    "table": made["tasks"][0]["duration"]["table"],
                    "key": [{"ref": "item.who"}],
                },
                "place": {"ref": "item.place"},
            }
        ],
        "travel": made["travel"],
        "from": {"time": {"const": "09:00:00", "type": "time"}, "place": {"const": "home"}},
        "booked": made["booked"],
        "in_order": True,
    }
    assert tables[made["travel"]] == [["home", "shop", 900], ["shop", "home", 900]]
    assert tables[made["booked"]] == [["12:00:00", "13:00:00"]]
    assert tables[made["tasks"][0]["duration"]["table"]] == [["ann", 3600], ["bob", 1800]]


def test_single_items_scalars_and_fields_of_the_record() -> None:
    made = wire(
        fs.no_overlap(
            fs.task(start="gym", duration=fs.hours(1)),
            fs.task("visits", start="@.start", end="end"),
            fs.task(start=NOON, duration="length"),
            name="apart",
        )
    )
    assert made["tasks"] == [
        {"start": {"ref": "$.gym"}, "duration": {"const": 3600}},
        {"in": "$.visits", "as": "item", "start": {"ref": "item.start"}, "end": {"ref": "item.end"}},
        {"start": {"const": "12:00:00", "type": "time"}, "duration": {"ref": "$.length"}},
    ]
    numbers = wire(fs.no_overlap("hours", start="@", duration=2))
    assert numbers["tasks"] == [
        {"in": "$.hours", "as": "item", "start": {"ref": "item"}, "duration": {"const": 2}}
    ]
    outer = wire(fs.no_overlap("visits", start="start", duration="$.length"))
    assert outer["tasks"][0]["duration"] == {"ref": "$.length"}


def test_cumulative_and_circuit() -> None:
    made = wire(fs.cumulative("visits", start="start", end="end", capacity="length", demand=2))
    assert made["tasks"][0]["demand"] == {"const": 2}
    assert made["capacity"] == {"ref": "$.length"}
    made = wire(fs.cumulative(fs.task(start="gym", duration=fs.hours(1)), capacity=1, name="one"))
    assert made["tasks"] == [{"start": {"ref": "$.gym"}, "duration": {"const": 3600}}]
    made = wire(fs.circuit("hours[*]", start=1, loops=True))
    assert (made["over"], made["start"], made["loops"]) == (["$.hours[*]"], 1, True)
    assert made["name"] == "circuit: hours[*]"


WRONG: list[tuple[Declaration, type[fs.FactorspecError], str]] = [
    (fs.no_overlap(), fs.DeclarationError, "at least one list"),
    (fs.no_overlap("visits"), fs.DeclarationError, "a start is needed"),
    (fs.no_overlap("visits", start="start"), fs.DeclarationError, "end="),
    (fs.no_overlap("visits", start="start", end="end", duration=1), fs.DeclarationError, "exactly one"),
    (fs.no_overlap("visit", start="start", end="end"), fs.UnknownField, "did you mean 'visits'"),
    (fs.no_overlap("visits", start="begin", end="end"), fs.UnknownField, "no field 'begin'"),
    (fs.no_overlap("visits", start="who", end="end"), fs.DeclarationError, "a start is an integer"),
    (fs.no_overlap("visits", start="start", duration="who"), fs.DeclarationError, "a duration is an integer"),
    (fs.no_overlap("visits", start="start", end="$.length"), fs.DeclarationError, "an end is a time"),
    (fs.no_overlap("visits", start="start", end="end", place="place"), fs.DeclarationError, "travel="),
    (fs.no_overlap("gym", start="start", end="end"), fs.DeclarationError, "not a list"),
    (fs.no_overlap(fs.task(start="note", duration=1)), fs.UnsupportedField, "finite domain"),
    (fs.no_overlap("visits", start="start", end="end", booked=[(NOON,)]), fs.DeclarationError, "columns"),
    (fs.no_overlap("visits", start="start", duration=fs.look_up(MINUTES)), fs.DeclarationError, "a key"),
    (fs.no_overlap("visits", start="start", duration=TICK), fs.DeclarationError, "seconds"),
    (fs.no_overlap("visits", start="start", end="end", place="place", travel=[("home", "shop")]),
     fs.DeclarationError, "columns"),
    (fs.no_overlap(fs.task(start="gym", duration=1, demand=1)), fs.DeclarationError, "use cumulative"),
    (fs.cumulative("visits", start="start", end="end", capacity="gym"), fs.DeclarationError, "a capacity"),
    (fs.cumulative("visits", start="start", end="end", demand="who", capacity=1), fs.DeclarationError,
     "a demand"),
    (fs.cumulative(fs.task(start="gym", duration=1, place="note"), capacity=1), fs.DeclarationError,
     "use no_overlap"),
    (fs.circuit("gym"), fs.DeclarationError, "a successor is an integer"),
    (fs.circuit(), fs.DeclarationError, "at least one path"),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(WRONG)))
def test_what_does_not_fit_is_named(at: int) -> None:
    declaration, error, text = WRONG[at]
    with pytest.raises(error, match=text):
        wire(declaration)


@fs.no_overlap(
    "visits", start="start", end="end", place="place", travel=fs.param("ways"), since=fs.since(NINE),
    booked=fs.param("busy"), name="one at a time",
)  # fmt: skip
class Plan(BaseModel):
    visits: Annotated[list[Visit], Field(max_length=3)]


def visit(start: str, end: str, place: str = "home") -> dict[str, str]:
    return {"who": "ann", "start": start, "end": end, "place": place}


@pytest.mark.parametrize(
    ("visits", "said"),
    [
        ([visit("10:00", "10:30"), visit("09:00", "10:00")], None),
        ([visit("10:00", "10:30"), visit("10:45", "11:00", "shop")], None),
        ([visit("10:15", "10:15"), visit("10:15", "11:00"), visit("11:00", "11:00")], None),
        (
            [visit("10:30", "11:00"), visit("10:00", "10:45")],
            r"visits\[1\] \(10:00:00 to 10:45:00\) and visits\[0\] \(10:30:00 to 11:00:00\) overlap",
        ),
        ([visit("10:15", "10:15"), visit("10:00", "10:30")], "overlap"),
        (
            [visit("10:00", "10:30"), visit("10:30", "11:00", "shop")],
            "no time for the way from 'home' to 'shop', which takes 900 seconds",
        ),
        ([visit("12:30", "13:30")], "overlaps the booked block 12:00:00 to 13:00:00"),
        ([visit("12:30", "12:30")], "overlaps the booked block"),
        ([visit("08:45", "09:30")], "starts too early: the way begins at 09:00:00"),
        ([visit("10:00", "09:30")], r"visits\[0\] ends at 09:30:00, before its start at 10:00:00"),
    ],
)
def test_instances_are_validated(visits: list[dict[str, str]], said: str | None) -> None:
    model = fs.bind(Plan, ways=WAYS, busy=[(NOON, ONE)])
    if said is None:
        model.model_validate({"visits": visits})
        return
    with pytest.raises(ValidationError, match=said):
        model.model_validate({"visits": visits})


@pytest.mark.parametrize("zone", [None, datetime.UTC])
def test_items_may_go_over_midnight(zone: datetime.tzinfo | None) -> None:
    first = datetime.datetime(2026, 5, 1, 22, tzinfo=zone)
    last = datetime.datetime(2026, 5, 2, 2, tzinfo=zone)
    moment = Annotated[datetime.datetime, fs.Between(first, last, step=fs.hours(1))]

    class Shift(BaseModel):
        start: moment
        place: Annotated[str, fs.In(["home", "shop"])]

    @fs.no_overlap("shifts", start="start", duration=fs.const(fs.hours(1)), place="place", travel=WAYS)
    class Night(BaseModel):
        shifts: Annotated[list[Shift], Field(min_length=2, max_length=2)]

    def night(start: int, place: str) -> dict[str, Any]:
        return {
            "shifts": [{"start": first, "place": "home"}, {"start": first + fs.hours(start), "place": place}]
        }

    Night.model_validate(night(1, "home"))
    Night.model_validate(night(2, "shop"))
    for start, place, said in ((0, "home", "overlap"), (1, "shop", "which takes 900 seconds")):
        with pytest.raises(ValidationError, match=said):
            Night.model_validate(night(start, place))
    shifts = Night.model_validate(night(2, "shop")).model_dump(mode="json")["shifts"]
    asked = [fs.why_not(Night, {"shifts": shifts[:1]}, "shifts[1].start", text) for text in
             (shifts[0]["start"], shifts[1]["start"])]  # fmt: skip
    assert [one.allowed for one in asked] == [False, True]


def test_durations_without_a_unit_say_what_to_write() -> None:
    travel = {("home", "shop"): fs.minutes(15)}
    with pytest.raises(fs.DeclarationError, match="give durations as integers: seconds between times"):
        fs.no_overlap("visits", start="start", end="end", place="place", travel=travel)(Day)
    with pytest.raises(fs.BindingError, match="give durations as integers: seconds between times"):
        fs.bind(Plan, ways=travel, busy=[(NOON, ONE)])

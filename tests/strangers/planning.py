"""Shifts, brackets, bookings, tickets: what people schedule and assign."""

from __future__ import annotations

from datetime import date, time
from enum import Enum
from typing import Annotated, Generic, Literal, NewType, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

import factorspec_sdk as fs

May = Annotated[date, fs.Between(date(2026, 5, 1), date(2026, 5, 31))]
Quarter = Annotated[time, fs.Between(time(8), time(18), step=fs.minutes(15))]


class Person(Enum):
    ANN = "Ann"
    BO = "Bo"
    CY = "Cy"


class Shift(BaseModel):
    who: Person
    kind: Literal["early", "late", "off"]


@fs.slide("shifts", fs.implies(fs.eq("a.kind", fs.const("late")), fs.ne("b.kind", fs.const("early"))))
@fs.count("shifts[*].kind", values=["off"], eq=2)
@fs.slide("shifts", fs.ne("a.who", "b.who"))
class ShiftPlan(BaseModel):
    shifts: Annotated[list[Shift], Field(min_length=7, max_length=7)]


@fs.ordered("start", "end", strict=True)
class Slot(BaseModel):
    start: Quarter
    end: Quarter


@fs.slide("slots", lambda a, b: a.end <= b.start)
class Agenda(BaseModel):
    slots: Annotated[list[Slot], Field(min_length=1, max_length=4)]


class Booking(BaseModel):
    arrival: May
    departure: May
    nights: Annotated[int, Field(ge=1, le=14)]
    guests: Annotated[int, Field(ge=1, le=4)]
    check_in: Quarter | None

    @fs.relation("nights")
    def stays(self) -> bool:
        return fs.elapsed(self.arrival, self.departure) == self.nights

    @fs.relation("late check-in for single guests only")
    def late(self) -> bool:
        return fs.either(fs.is_null(self.check_in), self.check_in < time(15), self.guests == 1)  # type: ignore[operator]


Team = Literal["A", "B", "C", "D"]


class Match(BaseModel):
    home: Team
    away: Team
    winner: Team

    @fs.relation("the winner played")
    def played(self) -> bool:
        return fs.either(self.winner == self.home, self.winner == self.away)


@fs.all_different("semis[*].home", "semis[*].away")
class Bracket(BaseModel):
    semis: Annotated[list[Match], Field(min_length=2, max_length=2)]
    final: Match

    @fs.relation("finalists won")
    def finalists(self) -> bool:
        return fs.both(self.final.home == self.semis[0].winner, self.final.away == self.semis[1].winner)


class Priority(Enum):
    P1 = 1
    P2 = 2
    P3 = 3


@fs.table(
    ("impact", "urgency", "priority"),
    [
        ("high", "high", 1),
        ("high", "low", 2),
        ("low", "high", 2),
        ("low", "low", 3),
    ],
)
class Ticket(BaseModel):
    title: str
    impact: Literal["high", "low"]
    urgency: Literal["high", "low"]
    priority: Priority
    assignee: str | None
    due: May | None

    @fs.relation("urgent ones are due soon")
    def soon(self) -> bool:
        return fs.implies(self.priority == Priority.P1, self.due <= date(2026, 5, 3))  # type: ignore[operator]


class TicketBatch(BaseModel):
    tickets: Annotated[list[Ticket], Field(max_length=3)]

    @fs.relation("one P1")
    def one(self) -> bool:
        return fs.number(t.priority == Priority.P1 for t in self.tickets) <= 1


@fs.ordered("first", "last")
class Base(BaseModel):
    first: Annotated[int, Field(ge=0, le=20)]
    last: Annotated[int, Field(ge=0, le=20)]


@fs.ne("first", "last", name="wide")
class Derived(Base):
    middle: Annotated[int, Field(ge=0, le=20)]

    @fs.relation("between")
    def between(self) -> bool:
        return fs.both(self.first <= self.middle, self.middle <= self.last)


class Twice(BaseModel):
    left: Derived
    right: Derived | None
    others: Annotated[list[Base], Field(max_length=2)] = []

    @fs.relation("apart")
    def apart(self) -> bool:
        return fs.implies(fs.not_(fs.is_null(self.right)), self.left.last < self.right.first)  # type: ignore[union-attr]


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: Annotated[list[T], Field(max_length=3)]
    size: Annotated[int, Field(ge=0, le=3)]

    @fs.relation("size")
    def sized(self) -> bool:
        return fs.length(self.items) == self.size


class Pages(BaseModel):
    bases: Page[Base]
    numbers: Page[Annotated[int, Field(ge=0, le=9)]]


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
    first_day: May
    last_day: May
    is_open: bool

    @fs.relation("ordered")
    def in_order(self) -> bool:
        return self.first_day < self.last_day


class Maybe(BaseModel):
    a: Literal["x", "y"] | None = None
    b: Annotated[int, Field(ge=1, le=5)] | None = None
    c: bool | None = None
    d: Slot | None = None
    e: Annotated[list[Literal["x", "y"]], Field(max_length=2)] | None = None
    f: float | None = None
    g: str | None = None

    @fs.relation("b with a")
    def together(self) -> bool:
        return fs.is_null(self.a) == fs.is_null(self.b)

    @fs.relation("c or d")
    def one(self) -> bool:
        return fs.either(fs.not_(fs.is_null(self.c)), fs.not_(fs.is_null(self.d)))


UserId = NewType("UserId", int)


class Reviewed(BaseModel):
    author: Annotated[UserId, Field(ge=1, le=30)]
    reviewers: Annotated[list[Annotated[UserId, Field(ge=1, le=30)]], Field(min_length=1, max_length=3)]

    @fs.relation("not by the author")
    def independent(self) -> bool:
        return fs.every(r != self.author for r in self.reviewers)

    @fs.relation("distinct")
    def distinct(self) -> bool:
        return fs.every(self.reviewers[0] <= r for r in self.reviewers)


@fs.element("prices[*]", index="choice", eq="price")
class Offer(BaseModel):
    prices: Annotated[list[Annotated[int, Field(ge=1, le=50)]], Field(min_length=3, max_length=3)]
    choice: Annotated[int, Field(ge=0, le=2)]
    price: Annotated[int, Field(ge=1, le=50)]


@fs.element("prices[*]", index="choice", eq="price")
class OpenOffer(BaseModel):
    prices: Annotated[list[Annotated[int, Field(ge=1, le=50)]], Field(max_length=3)]
    choice: Annotated[int, Field(ge=0, le=9)]
    price: Annotated[int, Field(ge=1, le=50)]


class Given(BaseModel):
    cities: list[str]
    flights: list[tuple[str, str]]
    first: date
    last: date
    nights: dict[str, int]


class Stop(BaseModel):
    city: Annotated[str, fs.In("cities")]
    arrive: Annotated[date, fs.Between(fs.param("first"), fs.param("last"))]
    leave: Annotated[date, fs.Between(fs.param("first"), fs.param("last"))]


@fs.all_different("stops[*].city")
@fs.slide("stops", fs.table(("a.city", "b.city"), rows=fs.param("flights")))
@fs.slide("stops", fs.eq("a.leave", "b.arrive"))
class Trip(BaseModel):
    stops: Annotated[list[Stop], Field(min_length=1, max_length=4)]

    @fs.relation("nights")
    def nights(self, given: Given) -> bool:
        return fs.every(fs.elapsed(s.arrive, s.leave) == given.nights[s.city] for s in self.stops)


class Everything(BaseModel):
    """Optional everywhere, lists of optionals."""

    flags: Annotated[list[bool | None], Field(max_length=3)]
    texts: Annotated[list[Annotated[str, Field(max_length=4)]], Field(max_length=2)]
    nested: Annotated[
        list[Annotated[list[Literal["", '"', "\\"] | None], Field(max_length=2)] | None], Field(max_length=2)
    ]
    dates: Annotated[list[May], Field(min_length=2, max_length=3)]

    @fs.relation("a true one")
    def true(self) -> bool:
        return fs.some(f == True for f in self.flags)  # noqa: E712


@fs.all_different("seats[*]")
@fs.ordered("seats[*]", strict=True)
class Seats(BaseModel):
    seats: Annotated[list[Annotated[int, Field(ge=1, le=400)]], Field(min_length=1, max_length=20)]


class Big(BaseModel):
    x: Annotated[int, Field(ge=-(10**18), le=10**18)]
    y: Annotated[int, Field(ge=-(10**18), le=10**18)]

    @fs.relation("twice")
    def twice(self) -> bool:
        return self.y == 2 * self.x


class Years(BaseModel):
    born: Annotated[date, Field(ge=date(1900, 1, 1), le=date(2026, 1, 1))]
    hired: Annotated[date, Field(ge=date(1900, 1, 1), le=date(2026, 1, 1))]
    at: time
    until: Annotated[time, fs.Between(time(1), time(23), step=fs.minutes(10))]

    @fs.relation("adult")
    def adult(self) -> bool:
        return fs.elapsed(self.born, self.hired) >= 18 * 365

    @fs.relation("later")
    def later(self) -> bool:
        return self.until > time(12, 30)


class Day(BaseModel):
    minutes: Annotated[list[Annotated[int, Field(ge=0, le=1440)]], Field(min_length=3, max_length=6)]

    @fs.relation("a day")
    def day(self) -> bool:
        return fs.total(m for m in self.minutes) == 1440

    @fs.relation("the longest")
    def longest(self) -> bool:
        return fs.most(m for m in self.minutes) <= 600

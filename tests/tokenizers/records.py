"""Trips, meetings and invoices with names in ten scripts, compiled once for all tokenizers; both layouts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.factor_graph import FactorGraph
from factorspec_sdk.graph.program import Literal as Text
from factorspec_sdk.graph.program import Program
from factorspec_sdk.wire import parse_document

Layout = Literal["default", "compact"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

City = Literal[
    "Rome", "New York", "Zürich", "Łódź", "O'Fallon", "北京", "東京", "서울", "Москва", "Αθήνα", "ירושלים",
    "القاهرة", "กรุงเทพ", "თბილისი", "दिल्ली", "Saint-Étienne", "2nd City", "[A]",
]  # fmt: skip
Person = Literal[
    "Ann", "Bob Jr.", "Ana María", "Ðặng Thị Hà", "李小龍", "さくら", "김민준", "Юлия", "Ζωή", "יעל", "ليلى",
    "สมชาย", "ნინო", "प्रिया", "D'Arcy", 'The "Hub"', "C:\\temp", "😀", "e\u0301te", "<think>", " x ", "",
]  # fmt: skip
Dish = Literal[
    "crème brûlée", "餃子", "борщ", "pizza, 4 cheeses", "½ pint", "falafel فلافل", "{special}", "7up"
]


class Stop(BaseModel):
    city: City
    arrive: Annotated[int, Field(ge=1, le=30)]
    leave: Annotated[int, Field(ge=1, le=30)]

    @fs.relation("stays a day or more")
    def stays(self) -> bool:
        return self.leave > self.arrive


@fs.all_different("stops[*].city", name="each city once")
@fs.slide("stops", fs.eq("a.leave", "b.arrive"), name="fly on the day of departure")
class Trip(BaseModel):
    stops: Annotated[list[Stop], Field(min_length=2, max_length=5)]


class Meeting(BaseModel):
    day: Annotated[date, Field(ge=date(1999, 11, 20), le=date(2031, 3, 3))]
    start: Annotated[time, fs.Between(time(0), time(23, 59, 59), step=timedelta(seconds=1))]
    end: Annotated[time, fs.Between(time(8), time(20), step=timedelta(minutes=15))]
    host: Person
    guests: Annotated[list[Person], Field(max_length=4)]
    room: Annotated[int, Field(ge=-3, le=1200)] | None
    public: bool

    @fs.relation("ends later")
    def ends(self) -> bool:
        return self.end > self.start


class Line(BaseModel):
    dish: Dish
    quantity: Annotated[int, Field(ge=1, le=120)]
    price: Annotated[int, Field(ge=0, le=2_000_000)]
    weight: Annotated[Decimal, Field(ge=0, le=Decimal("2000.000"), decimal_places=3)]


class Invoice(BaseModel):
    number: Annotated[int, Field(ge=0, le=10_000_000)]
    balance: Annotated[int, Field(ge=-50_000, le=50_000)]
    lines: Annotated[list[Line], Field(min_length=1, max_length=3)]
    total: Annotated[int, Field(ge=0, le=10_000_000)]

    @fs.relation("adds up")
    def adds_up(self) -> bool:
        return self.total == fs.total(line.price for line in self.lines)


KINDS: tuple[type[BaseModel], ...] = (Trip, Meeting, Invoice)


@dataclass(frozen=True)
class Spec:
    """A spec as a decoder takes it."""

    name: str
    program: Program
    feasibility: FactorGraph


@cache
def specs(layout: Layout) -> tuple[Spec, ...]:
    """The kinds in one layout."""
    found = []
    for kind in KINDS:
        compiled = compile_spec(parse_document(fs.document(kind)))
        program = compiled.program if layout == "default" else compact(compiled.program)
        found.append(Spec(f"{kind.__name__} {layout}", program, compiled.feasibility))
    return tuple(found)


_STRING_OR_GAP = re.compile(r'("(?:[^"\\]|\\.)*")|([,:]) ')


def compact(program: Program) -> Program:
    """The same records without a space behind commas and colons. For programs without free text."""
    assert not program.holes
    nodes = tuple(
        replace(node, text=_STRING_OR_GAP.sub(lambda m: m[1] or m[2], node.text))
        if isinstance(node, Text)
        else node
        for node in program.nodes
    )
    return replace(program, nodes=nodes)

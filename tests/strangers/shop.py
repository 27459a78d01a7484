"""Invoices, orders, recipes, sensors: what people add up and compare."""

from __future__ import annotations

from datetime import date, time
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

import factorspec_sdk as fs

Cents = Annotated[int, Field(ge=0, le=100_000)]


class InvoiceLine(BaseModel):
    description: Annotated[str, Field(max_length=20)]
    quantity: Annotated[int, Field(ge=1, le=5)]
    unit: Annotated[int, Field(ge=1, le=100)]
    amount: Annotated[int, Field(ge=1, le=500)]

    @fs.relation("amount = quantity * unit")
    def multiplied(self) -> bool:
        return self.amount == self.quantity * self.unit


@fs.sum_of("lines[*].amount", eq="net")
class Invoice(BaseModel):
    number: str
    lines: Annotated[list[InvoiceLine], Field(min_length=1, max_length=4)]
    net: Cents
    tax: Cents
    gross: Cents

    @fs.relation("gross is net and tax")
    def adds_up(self) -> bool:
        return self.gross == self.net + self.tax

    @fs.relation("a tax of 20 %")
    def taxed(self) -> bool:
        return self.tax * 5 == self.net


class Area(BaseModel):
    width: Annotated[int, Field(ge=1, le=100_000)]
    height: Annotated[int, Field(ge=1, le=100_000)]
    area: Annotated[int, Field(ge=1, le=100_000)]

    @fs.relation("width times height")
    def multiplied(self) -> bool:
        return self.width * self.height == self.area


class Simple(BaseModel):
    lines: Annotated[list[Cents], Field(min_length=1, max_length=6)]
    total: Annotated[int, Field(ge=0, le=10_000_000)]

    @fs.relation("total")
    def adds_up(self) -> bool:
        return fs.total(x for x in self.lines) == self.total


class Status(StrEnum):
    DRAFT = "draft"
    PAID = "paid"
    SHIPPED = "shipped out 🚚"
    LOST = 'lost "forever" \\ gone'


@fs.implies(fs.eq("status", fs.const("draft")), fs.eq("paid_on", None))
@fs.implies(fs.ne("status", fs.const("draft")), fs.ne("paid_on", None))
@fs.implies(fs.one_of("status", [Status.SHIPPED, Status.LOST]), fs.ne("tracking", None))
class Order(BaseModel):
    status: Status
    paid_on: Annotated[date, fs.Between(date(2026, 1, 1), date(2026, 12, 31))] | None = None
    tracking: Annotated[int, Field(ge=1000, le=9999)] | None = None
    note: str | None = None


class Unit(Enum):
    GRAM = "g"
    MILLILITRE = "ml"
    PIECE = ""
    PINCH = " pinch "


class Ingredient(BaseModel):
    name: Annotated[str, fs.In(["flour", "salt", "crème fraîche", "œuf", "塩", "🥚"])]
    amount: Annotated[int, Field(ge=0, le=1000, multiple_of=5)]
    unit: Unit


@fs.all_different("ingredients[*].name")
@fs.count("ingredients[*].unit", values=[Unit.PINCH], le=1)
class Recipe(BaseModel):
    title: str
    ingredients: Annotated[list[Ingredient], Field(min_length=2, max_length=5)]
    steps: list[str]
    serves: Annotated[int, Field(gt=0, lt=9)]


class Level(IntEnum):
    OFF = -1
    LOW = 0
    HIGH = 10


@fs.ordered("minimum", "threshold", "maximum", strict=True)
class Range(BaseModel):
    minimum: Annotated[int, Field(ge=-50, le=150)]
    threshold: Annotated[int, Field(ge=-50, le=150)]
    maximum: Annotated[int, Field(ge=-50, le=150)]


@fs.ordered("warn.minimum", "alarm.minimum")
@fs.implies(fs.eq("level", Level.OFF), fs.eq("enabled", False))
class Sensor(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: Annotated[str, Field(pattern="^[A-Z]{3}-[0-9]{2}$")]
    enabled: bool
    level: Level
    warn: Range
    alarm: Range
    gain: float
    every: Annotated[time, fs.Between(time(0), time(1), step=fs.minutes(5))]


class Odd(StrEnum):
    EMPTY = ""
    SPACE = " "
    TAB = "\t"
    NEWLINE = "\n"
    QUOTE = '"'
    BACK = "\\"
    NUL = "\x00"
    EMOJI = "👩‍👩‍👧"
    THINK = "<think>"
    END = "<|end|>"
    BRACE = '"}, {"'
    COMBINING = "e\u0301"
    COMPOSED = "é"
    ZWJ = "\u200d"
    DEL = "\x7f"
    LINE = "\u2028"


@fs.all_different("a", "b", "c")
class Oddities(BaseModel):
    a: Odd
    b: Odd
    c: Odd


class OddKeys(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    one: Annotated[int, Field(ge=0, le=9, alias='key "quoted" \\')]
    two: Annotated[int, Field(ge=0, le=9, alias="ключ 🔑")]
    three: Annotated[int, Field(ge=0, le=9, alias=" ")]
    four: Annotated[int, Field(ge=0, le=9, alias="")]
    five: Annotated[int, Field(ge=0, le=9, alias="a.b[0]['c']")]
    ref: Annotated[int, Field(ge=0, le=9, alias="$ref")]

    @fs.relation("sum")
    def adds_up(self) -> bool:
        return self.one + self.two + self.three + self.four + self.five == self.ref


@fs.sum_of("parts[*]", eq=100, name="percent")
class Shares(BaseModel):
    parts: Annotated[list[Annotated[int, Field(ge=0, le=100)]], Field(min_length=1, max_length=8)]


@fs.all_different("grid[*][*]")
class Grid(BaseModel):
    grid: Annotated[
        list[Annotated[list[Annotated[int, Field(ge=1, le=9)]], Field(min_length=3, max_length=3)]],
        Field(min_length=2, max_length=2),
    ]


class Magic(BaseModel):
    row1: Annotated[list[Annotated[int, Field(ge=1, le=9)]], Field(min_length=3, max_length=3)]
    row2: Annotated[list[Annotated[int, Field(ge=1, le=9)]], Field(min_length=3, max_length=3)]
    row3: Annotated[list[Annotated[int, Field(ge=1, le=9)]], Field(min_length=3, max_length=3)]

    @fs.relation("rows")
    def rows(self) -> bool:
        return fs.both(fs.total(x for x in self.row1) == 15, fs.total(x for x in self.row2) == 15)

    @fs.relation("columns")
    def columns(self) -> bool:
        return fs.both(
            self.row1[0] + self.row2[0] + self.row3[0] == 15,
            self.row1[1] + self.row2[1] + self.row3[1] == 15,
        )


class Defaults(BaseModel):
    kind: Literal["a", "b"] = "a"
    level: Annotated[int, Field(ge=0, le=3)] = 2
    tags: list[str] = []
    name: str = "x"
    limit: Annotated[int | None, Field(ge=0, le=3)] = None

    @fs.relation("b is level 3")
    def b_is_three(self) -> bool:
        return fs.implies(self.kind == "b", self.level == 3)


class Coupon(BaseModel):
    code: Annotated[str, fs.In("codes")]
    percent: Annotated[int, Field(ge=0, le=100)]


class Codes(BaseModel):
    codes: dict[str, int]
    least: int


class Basket(BaseModel):
    coupons: Annotated[list[Coupon], Field(max_length=3)]
    subtotal: Annotated[int, Field(ge=0, le=500)]

    @fs.relation("as agreed")
    def agreed(self, given: Codes) -> bool:
        return fs.every(c.percent == given.codes[c.code] for c in self.coupons)

    @fs.relation("enough")
    def enough(self, given: Codes) -> bool:
        return self.subtotal >= given.least

"""A model with fields of every sort, and what is recorded of a relation method of its."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from enum import IntEnum
from typing import Annotated, Any, Literal, Optional

from pydantic import BaseModel, Field

import factorspec_sdk as fs

Small = Annotated[int, Field(ge=0, le=9)]
Day = Annotated[datetime.date, fs.Between(datetime.date(2026, 1, 1), datetime.date(2026, 12, 31))]
Clock = Annotated[datetime.time, fs.Between(datetime.time(8), datetime.time(18), step=fs.minutes(30))]


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Part(BaseModel):
    size: Small
    kind: Literal["x", "y"] = "x"


class Item(BaseModel):
    n: Small
    m: Small = 0
    parts: Annotated[list[Part], Field(max_length=2)] = []


class Limits(BaseModel):
    least: int
    days: dict[str, datetime.date] = {}


class Block(BaseModel):
    first: int
    last: int
    day: datetime.date = datetime.date(2026, 1, 8)


class Given(BaseModel):
    number: int = 3
    kinds: list[str] = []
    sizes: dict[str, int] = {}
    pairs: dict[tuple[str, int], int] = {}
    rows: list[tuple[int, str]] = []
    limits: Limits = Limits(least=1)
    ratio: float = 0.5
    first: datetime.date = datetime.date(2026, 1, 5)
    blocks: list[Block] = []
    empty: list[int] = []


class Model(BaseModel):
    a: Small
    b: Small
    kind: Literal["x", "y"] = "x"
    flag: bool = False
    level: Level = Level.LOW
    start: Day
    end: Day
    opens: Clock
    maybe: Optional[Small] = None  # noqa: UP045
    items: Annotated[list[Item], Field(max_length=3)] = []
    others: Annotated[list[Item], Field(max_length=3)] = []
    numbers: Annotated[list[Small], Field(max_length=3)] = []
    grid: Annotated[list[Annotated[list[Small], Field(max_length=2)]], Field(max_length=2)] = []
    free: str = ""
    part: Part | None = None

    @property
    def span(self) -> Any:
        return self.a + self.b

    def doubled(self, factor: int) -> Any:
        return self.a * factor


Body = Callable[[Any, Any], Any]


def traced(body: Body) -> Any:
    """The expression of a relation method with this body."""

    class Traced(Model):
        @fs.relation("it holds")
        def rule(self, given: Given) -> bool:
            return body(self, given)  # type: ignore[no-any-return]

    bound = fs.bind(Traced, Given())
    fs.spec(bound)
    document: Any = fs.document(bound)
    return document["x-factorspec"]["relations"][0]["expr"]


def ref(path: str) -> dict[str, str]:
    return {"ref": path}

"""A small trip model that several tests share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

import factorspec_sdk as fs


class Today(BaseModel):
    """Parameters of a call."""

    cities: list[str]
    stays: dict[str, int]
    flights: list[tuple[str, str]]
    total_days: int = 8


class Stop(BaseModel):
    """A stay in a city."""

    city: Annotated[str, fs.In("cities")]
    arrive: Annotated[int, Field(ge=1, le=60)]
    leave: Annotated[int, Field(ge=1, le=60)]


@fs.all_different("stops[*].city", name="each city once", why="Nobody wants to go twice.")
@fs.slide("stops", fs.table(("a.city", "b.city"), rows=fs.param("flights")), name="direct flight")
@fs.slide("stops", fs.eq("a.leave", "b.arrive"))
class Trip(BaseModel):
    """A trip."""

    stops: Annotated[list[Stop], Field(min_length=1, max_length=4)]

    @fs.relation("stays as long as asked")
    def stays(self, given: Today) -> bool:
        """Days of arrival and departure both count."""
        return fs.every(s.leave - s.arrive + 1 == given.stays[s.city] for s in self.stops)

    @fs.relation("starts on day 1")
    def start(self) -> bool:
        return self.stops[0].arrive == 1


TODAY = Today(
    cities=["Rome", "Oslo", "Bern"],
    stays={"Rome": 3, "Oslo": 2, "Bern": 2},
    flights=[("Rome", "Oslo"), ("Oslo", "Bern")],
)


def stops(*triples: tuple[str, int, int]) -> dict[str, Any]:
    """The JSON of a trip."""
    return {"stops": [{"city": c, "arrive": a, "leave": d} for c, a, d in triples]}


GOOD = stops(("Rome", 1, 3), ("Oslo", 3, 4), ("Bern", 4, 5))

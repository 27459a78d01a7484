"""The itinerary that is asked for, declared once, in three variants.

=======  ==================================================================================================
strict   every city, in exactly the days given; each fixed date lies inside the stay in its city
loose    every city, in exactly the days given; at least one day of each fixed date lies inside the stay
open     any n - 2 of the n cities (all, below five) in any time up to the days given; fixed dates as in
         loose, where their city is visited; and a note of up to 80 characters at each stop
=======  ==================================================================================================
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from examples.trip_planner.problem import Problem

Variant = Literal["strict", "loose", "open"]

#: An open trip leaves so many cities out, where there are at least so many to choose from.
LEFT_OUT = 2
FEWEST_TO_CHOOSE_FROM = 5


class Given(BaseModel):
    """What arrives with each call. ``arrive_by`` and ``leave_from``: per city, what fixed dates demand."""

    cities: list[str]
    stays: dict[str, int]
    flights: list[tuple[str, str]]
    arrive_by: dict[str, int]
    leave_from: dict[str, int]
    num_stops: int
    total_days: int


class Stop(BaseModel):
    """A stay in one city, from the day of arrival to the day of departure, both included."""

    city: Annotated[str, fs.In("cities")]
    arrive: Annotated[int, fs.Between(1, fs.param("total_days"))]
    leave: Annotated[int, fs.Between(1, fs.param("total_days"))]


class NotedStop(Stop):
    """A stay with a remark for the traveller."""

    note: Annotated[str, Field(max_length=80)]


@fs.all_different("stops[*].city", name="each city once")
@fs.slide("stops", fs.table(("a.city", "b.city"), rows=fs.param("flights")), name="direct flight")
@fs.slide("stops", fs.eq("a.leave", "b.arrive"), name="fly on the day of departure")
@fs.eq("stops[0].arrive", 1, name="starts on day 1")
class AnyTrip(BaseModel):
    """What holds for every trip."""

    stops: Annotated[list[Stop], Field(min_length=1, max_length=10)]

    @fs.relation("as many stops as asked")
    def number_of_stops(self, given: Given) -> bool:
        """All cities, or all but two in an open trip."""
        return fs.length(self.stops) == given.num_stops

    @fs.relation("stays as long as asked")
    def stays(self, given: Given) -> bool:
        """Days of arrival and departure both count."""
        return fs.every(s.leave - s.arrive + 1 == given.stays[s.city] for s in self.stops)

    @fs.relation("there for the fixed dates")
    def fixed_dates(self, given: Given) -> bool:
        """Days of each fixed date fall into the stay in its city."""
        return fs.every(
            fs.both(s.arrive <= given.arrive_by[s.city], s.leave >= given.leave_from[s.city])
            for s in self.stops
        )


class Trip(AnyTrip):
    """A strict or loose trip: it uses all the days given."""

    @fs.relation("uses all days")
    def end(self, given: Given) -> bool:
        """The last stay ends on the last day."""
        return self.stops[-1].leave == given.total_days


class OpenTrip(AnyTrip):
    """An open trip: any time up to the days given."""

    stops: Annotated[list[NotedStop], Field(min_length=1, max_length=10)]  # type: ignore[assignment]

    @fs.relation("within the days given")
    def end(self, given: Given) -> bool:
        """The last stay ends by the last day."""
        return self.stops[-1].leave <= given.total_days


def given_for(problem: Problem, variant: Variant) -> Given:
    """The parameters of a problem.

    A fixed date from day f to day t lies inside the stay if one arrives by f and leaves from t on; one day of
    it does if one arrives by t and leaves from f on.
    """
    arrive_by = dict.fromkeys(problem.cities, problem.total_days)
    leave_from = dict.fromkeys(problem.cities, 1)
    for window in problem.windows:
        first, last = window.from_day, window.to_day
        by, since = (first, last) if variant == "strict" else (last, first)
        arrive_by[window.city] = min(arrive_by[window.city], by)
        leave_from[window.city] = max(leave_from[window.city], since)
    cities = len(problem.cities)
    leaves_out = variant == "open" and cities >= FEWEST_TO_CHOOSE_FROM
    return Given(
        cities=problem.cities,
        stays=problem.stays,
        flights=list(problem.flights),
        arrive_by=arrive_by,
        leave_from=leave_from,
        num_stops=cities - LEFT_OUT if leaves_out else cities,
        total_days=problem.total_days,
    )


def itinerary(problem: Problem, variant: Variant) -> type[AnyTrip]:
    """The bound model: a Pydantic class that knows this problem's cities, stays, dates and flights."""
    given = given_for(problem, variant)
    return fs.bind(OpenTrip if variant == "open" else Trip, given)


def messages(problem: Problem, variant: Variant) -> list[dict[str, str]]:
    """The request to the model."""
    form = '{"stops": [{"city": "…", "arrive": 1, "leave": 4}, …]}'
    wish = "Visit all cities and use all days."
    if variant == "open":
        form = form.replace("4}", '4, "note": "…"}')
        wish = f"Leave out {LEFT_OUT} cities if there are {FEWEST_TO_CHOOSE_FROM} or more. \
Add to each stop a short note: one thing to see or to eat there."
    system = f"You plan trips. Answer with JSON only, like this: {form}"
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": f"{problem.in_words()}\n\n{wish}"},
    ]

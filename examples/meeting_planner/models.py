"""The schedule that is asked for, declared once; ``schedule`` binds it to a day.

Times of day are minutes since midnight: lengths and ways are minutes too, so that they add up, and a number
is written digit by digit, which costs less than a text for each minute.
"""

from typing import Annotated

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from examples.meeting_planner.problem import Day, minute_of

#: most meetings of one day
MOST = 12


class Given(BaseModel):
    """What arrives with each call; times are minutes since midnight, lengths and ways minutes."""

    friends: list[str]
    places: list[str]
    first: int
    last: int
    place_of: dict[str, str]
    there_from: dict[str, int]
    there_until: dict[str, int]
    length: dict[str, int]
    way: dict[tuple[str, str], int]
    way_from_arrival: dict[str, int]
    arrive_time: int
    num_friends: int


class Meeting(BaseModel):
    """A friend, where they are, and from which minute of the day to which."""

    friend: Annotated[str, fs.In("friends")]
    place: Annotated[str, fs.In("places")]
    start: Annotated[int, fs.Between(fs.param("first"), fs.param("last"))]
    end: Annotated[int, fs.Between(fs.param("first"), fs.param("last"))]


@fs.all_different("meetings[*].friend", name="each friend once")
@fs.slide(
    "meetings",
    lambda a, b: b.start >= a.end + fs.param("way")[a.place, b.place],
    name="time to get there",
)
class Schedule(BaseModel):
    """Meetings in order of time."""

    meetings: Annotated[list[Meeting], Field(max_length=MOST)]

    @fs.relation("no more meetings than friends")
    def number_of_meetings(self, given: Given) -> bool:
        return fs.length(self.meetings) <= given.num_friends

    @fs.relation("where the friend is")
    def places(self, given: Given) -> bool:
        return fs.every(m.place == given.place_of[m.friend] for m in self.meetings)

    @fs.relation("while the friend is there")
    def hours(self, given: Given) -> bool:
        return fs.every(
            fs.both(m.start >= given.there_from[m.friend], m.end <= given.there_until[m.friend])
            for m in self.meetings
        )

    @fs.relation("as long as asked")
    def lengths(self, given: Given) -> bool:
        return fs.every(m.end - m.start >= given.length[m.friend] for m in self.meetings)

    @fs.relation("time to get there after the arrival")
    def first_way(self, given: Given) -> bool:
        first = self.meetings[0]
        return first.start >= given.arrive_time + given.way_from_arrival[first.place]


MOST_FRIENDS = fs.maximize(lambda day: fs.length(day.meetings), name="friends met")


def given_for(day: Day) -> Given:
    """The parameters of a day."""
    friends, places = day.friends, day.places
    return Given(
        friends=[friend.name for friend in friends],
        places=places,
        first=minute_of(day.arrive_time),
        last=max(minute_of(friend.there_until) for friend in friends),
        place_of={friend.name: friend.place for friend in friends},
        there_from={friend.name: minute_of(friend.there_from) for friend in friends},
        there_until={friend.name: minute_of(friend.there_until) for friend in friends},
        length={friend.name: friend.minutes for friend in friends},
        way={(a, b): day.minutes_between(a, b) for a in places for b in places},
        way_from_arrival={place: day.minutes_between(day.arrive_at, place) for place in places},
        arrive_time=minute_of(day.arrive_time),
        num_friends=len(friends),
    )


def schedule(day: Day, *, most: bool) -> type[Schedule]:
    """The bound model: a Pydantic class that knows this day. ``most``: as many friends as possible."""
    given = given_for(day)
    return fs.bind(Schedule, given, MOST_FRIENDS) if most else fs.bind(Schedule, given)


def messages(day: Day) -> list[dict[str, str]]:
    """The request to the model."""
    form = '{"meetings": [{"friend": "…", "place": "…", "start": 570, "end": 615}, …]}'
    system = f"You plan days. Times are minutes since midnight. Answer with JSON only, like this: {form}"
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": day.in_words()},
    ]

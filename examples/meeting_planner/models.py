"""The schedule that is asked for, declared once; ``schedule`` binds it to a day."""

from datetime import time
from typing import Annotated

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from examples.meeting_planner.problem import Day

#: most meetings of one day
MOST = 20


class Given(BaseModel):
    """What arrives with each call; lengths and ways in seconds, the unit in which times differ."""

    friends: list[str]
    places: list[str]
    first: time
    last: time
    place_of: dict[str, str]
    there_from: dict[str, time]
    there_until: dict[str, time]
    length: dict[str, int]
    way: dict[tuple[str, str], int]
    way_from_arrival: dict[str, int]
    arrive_time: time
    num_friends: int


class Meeting(BaseModel):
    """A friend, where they are, and from when to when; any minute of the day."""

    friend: Annotated[str, fs.In("friends")]
    place: Annotated[str, fs.In("places")]
    start: Annotated[time, fs.Between(fs.param("first"), fs.param("last"), fs.minutes(1))]
    end: Annotated[time, fs.Between(fs.param("first"), fs.param("last"), fs.minutes(1))]


@fs.all_different("meetings[*].friend", name="each friend once")
@fs.slide(
    "meetings",
    lambda a, b: fs.elapsed(a.end, b.start) >= fs.param("way")[a.place, b.place],
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
        return fs.every(fs.elapsed(m.start, m.end) >= given.length[m.friend] for m in self.meetings)

    @fs.relation("time to get there after the arrival")
    def first_way(self, given: Given) -> bool:
        first = self.meetings[0]
        return fs.elapsed(given.arrive_time, first.start) >= given.way_from_arrival[first.place]


MOST_FRIENDS = fs.maximize(lambda day: fs.length(day.meetings), name="friends met")


def given_for(day: Day) -> Given:
    """The parameters of a day."""
    friends, places = day.friends, day.places
    return Given(
        friends=[friend.name for friend in friends],
        places=places,
        first=min(day.arrive_time, *(friend.there_from for friend in friends)),
        last=max(friend.there_until for friend in friends),
        place_of={friend.name: friend.place for friend in friends},
        there_from={friend.name: friend.there_from for friend in friends},
        there_until={friend.name: friend.there_until for friend in friends},
        length={friend.name: 60 * friend.minutes for friend in friends},
        way={(a, b): 60 * day.minutes_between(a, b) for a in places for b in places},
        way_from_arrival={place: 60 * day.minutes_between(day.arrive_at, place) for place in places},
        arrive_time=day.arrive_time,
        num_friends=len(friends),
    )


def schedule(day: Day, *, most: bool) -> type[Schedule]:
    """The bound model: a Pydantic class that knows this day. ``most``: as many friends as possible."""
    given = given_for(day)
    return fs.bind(Schedule, given, MOST_FRIENDS) if most else fs.bind(Schedule, given)


def messages(day: Day) -> list[dict[str, str]]:
    """The request to the model."""
    form = '{"meetings": [{"friend": "…", "place": "…", "start": "09:30:00", "end": "10:15:00"}, …]}'
    return [
        {"role": "system", "content": f"You plan days. Answer with JSON only, like this: {form}"},
        {"role": "user", "content": day.in_words()},
    ]

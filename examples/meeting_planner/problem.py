"""What is given: a day with friends to meet, or calendars in which one slot is wanted."""

from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

FOLDER = Path(__file__).parent / "problems"


def minute_of(moment: time) -> int:
    """Minutes since midnight."""
    return moment.hour * 60 + moment.minute


class Friend(BaseModel):
    """Someone to meet: where, between which times, for how many minutes at least."""

    model_config = ConfigDict(frozen=True)

    name: str
    place: str
    there_from: time
    there_until: time
    minutes: int = Field(ge=1)


class Day(BaseModel):
    """A day on which one arrives somewhere at some time and travels from friend to friend.

    travel: minutes from place to place; staying takes none. text: the problem in words, if it came as such.
    """

    model_config = ConfigDict(frozen=True)

    title: str = "A day"
    text: str | None = None
    arrive_at: str
    arrive_time: time
    friends: tuple[Friend, ...] = Field(min_length=1, max_length=12)
    travel: dict[str, dict[str, int]]

    @model_validator(mode="after")
    def _travel_times_are_known(self) -> Self:
        names = [friend.name for friend in self.friends]
        if len(set(names)) < len(names):
            raise ValueError("two friends have the same name")
        for start in self.places:
            for end in self.places:
                if start != end and end not in self.travel.get(start, {}):
                    raise ValueError(f"no travel time from {start!r} to {end!r}")
        return self

    @property
    def places(self) -> list[str]:
        """Where one arrives and where friends are, in the order in which the problem names them."""
        return list(dict.fromkeys([self.arrive_at, *(friend.place for friend in self.friends)]))

    def minutes_between(self, start: str, end: str) -> int:
        """How long the way takes."""
        return 0 if start == end else self.travel[start][end]

    def in_words(self) -> str:
        """The problem as a request to a model."""
        if self.text is not None:
            return self.text
        lines = [f"{self.title}. You arrive at {self.arrive_at} at {self.arrive_time:%H:%M}."]
        lines += [
            f"{friend.name} is at {friend.place} from {friend.there_from:%H:%M} to "
            f"{friend.there_until:%H:%M}; meet for {friend.minutes} minutes or more."
            for friend in self.friends
        ]
        return "\n".join(lines)


class Block(BaseModel):
    """A time on one day that is taken."""

    model_config = ConfigDict(frozen=True)

    day: str
    start: time
    end: time


class Calendars(BaseModel):
    """Several people's calendars.

    busy: per person. unwanted: per person, times that they would rather keep free, which count as taken.
    earliest: True if the first slot that suits everyone is wanted.
    """

    model_config = ConfigDict(frozen=True)

    title: str = "A meeting"
    text: str | None = None
    days: tuple[str, ...] = Field(min_length=1, max_length=7)
    work_from: time
    work_until: time
    minutes: int = Field(ge=1)
    busy: dict[str, tuple[Block, ...]]
    unwanted: dict[str, tuple[Block, ...]] = {}
    earliest: bool = False

    def in_words(self) -> str:
        """The problem as a request to a model."""
        if self.text is not None:
            return self.text
        names = ", ".join(self.busy)
        return f"{self.title}: find {self.minutes} minutes for {names} on {' or '.join(self.days)}."


Problem = Day | Calendars
_ADAPTER: TypeAdapter[Problem] = TypeAdapter(Annotated[Problem, Field(union_mode="left_to_right")])


def own_problems() -> Mapping[str, Path]:
    """The problems that ship with the example, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.json"))}


def load(path: Path) -> Problem:
    """Read one problem in this example's own JSON form. Raises pydantic.ValidationError if it is not one."""
    return _ADAPTER.validate_json(path.read_text(encoding="utf-8"))

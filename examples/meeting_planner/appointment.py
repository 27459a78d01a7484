"""One slot that suits several calendars: a relation per person, made from data.

The class decorators are ordinary functions, so code can apply them: here one per person, so that a conflict
names the people whose calendars clash.
"""

from collections.abc import Sequence
from datetime import time
from typing import Annotated

from pydantic import BaseModel

import factorspec_sdk as fs
from examples.meeting_planner.problem import Block, Calendars


class Given(BaseModel):
    """What arrives with each call."""

    days: list[str]
    number_of_day: dict[str, int]
    work_from: time
    work_until: time
    length: int


class Appointment(BaseModel):
    """A day, and from when to when, in steps of half an hour."""

    day: Annotated[str, fs.In("days")]
    start: Annotated[time, fs.Between(fs.param("work_from"), fs.param("work_until"), fs.minutes(30))]
    end: Annotated[time, fs.Between(fs.param("work_from"), fs.param("work_until"), fs.minutes(30))]

    @fs.relation("as long as asked")
    def lasts(self, given: Given) -> bool:
        return fs.elapsed(self.start, self.end) == given.length


EARLIEST = (
    fs.minimize(lambda slot: fs.param("number_of_day")[slot.day], name="day"),
    fs.minimize("start", name="start"),
)


def appointment(calendars: Calendars, *, earliest: bool) -> type[Appointment]:
    """The bound model: a class that knows these calendars. ``earliest``: the first slot that suits all."""

    class Found(Appointment):
        __doc__ = Appointment.__doc__

    for person, blocks in calendars.busy.items():
        if blocks:
            _outside(blocks, f"{person} is busy")(Found)
    for person, blocks in calendars.unwanted.items():
        if blocks:
            _outside(blocks, f"{person} would rather not")(Found)
    given = Given(
        days=list(calendars.days),
        number_of_day={day: number for number, day in enumerate(calendars.days)},
        work_from=calendars.work_from,
        work_until=calendars.work_until,
        length=60 * calendars.minutes,
    )
    return fs.bind(Found, given, *(EARLIEST if earliest else ()))


def _outside(blocks: Sequence[Block], name: str) -> fs.Condition:
    """The slot does not meet any of the blocks."""
    if len(blocks) == 1:
        return _clear_of(blocks[0], name)
    return fs.both(*(_clear_of(block) for block in blocks), name=name)


def _clear_of(block: Block, name: str | None = None) -> fs.Condition:
    clear = fs.either(fs.le("end", block.start), fs.ge("start", block.end))
    return fs.implies(fs.eq("day", fs.const(block.day)), clear, name=name)


def messages(calendars: Calendars) -> list[dict[str, str]]:
    """The request to the model."""
    form = '{"day": "…", "start": "09:30:00", "end": "10:00:00"}'
    return [
        {"role": "system", "content": f"You arrange meetings. Answer with JSON only, like this: {form}"},
        {"role": "user", "content": calendars.in_words()},
    ]

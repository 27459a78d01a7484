"""Declaring, validating and explaining, without a model. Run it: ``python examples/quickstart.py``.

Comments with an arrow are part of the output; a test compares them.
"""

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs


class Prices(BaseModel):
    """What arrives with the call."""

    nightly: dict[str, int]


@fs.ordered("arrival", "departure", strict=True, name="leaves after arriving")
@fs.implies(fs.eq("board", fs.const("full")), fs.ge("guests", 2), name="full board is for two or more")
class Booking(BaseModel):
    """A booking whose fields agree with each other."""

    room: Annotated[str, fs.In("nightly")]
    board: Literal["none", "breakfast", "full"]
    guests: Annotated[int, Field(ge=1, le=4)]
    arrival: Annotated[date, fs.Between(date(2026, 5, 1), date(2026, 5, 31))]
    departure: Annotated[date, fs.Between(date(2026, 5, 1), date(2026, 6, 15))]
    total: Annotated[int, Field(ge=0, le=10_000)]

    @fs.relation("the total is nights times the room's price")
    def priced(self, given: Prices) -> bool:
        """Guests share the room."""
        return self.total == fs.elapsed(self.arrival, self.departure) * given.nightly[self.room]


def main() -> None:
    """Bind today's prices, then check a right and a wrong booking."""
    bound = fs.bind(Booking, Prices(nightly={"attic": 60, "séparée": 95}))
    days = {"arrival": "2026-05-03", "departure": "2026-05-05"}
    fields = {"room": "séparée", "board": "full", "guests": 2, **days}

    booking = bound.model_validate({**fields, "total": 190})
    for verdict in fs.check(booking):
        print(f"{verdict.outcome}: {verdict.name}")
    # → holds: leaves after arriving
    # → holds: full board is for two or more
    # → holds: the total is nights times the room's price

    try:
        bound.model_validate({**fields, "total": 200, "guests": 1})
    except ValidationError as error:
        for problem in error.errors():
            print(problem["msg"])
    # → relation 'full board is for two or more' does not hold: board == 'full' holds
    # → relation 'the total is nights times the room's price' (Guests share the room.) does not hold

    try:
        fs.all_different("rooms")(Booking)
    except fs.UnknownField as error:
        print(error)
    # → did you mean 'room'?


if __name__ == "__main__":
    main()

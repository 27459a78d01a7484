"""What a trip problem gives: cities with lengths of stay, fixed dates, direct flights, a number of days."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

FOLDER = Path(__file__).parent / "problems"


class Window(BaseModel):
    """A fixed date: something happens in ``city`` from ``from_day`` to ``to_day``, both included."""

    model_config = ConfigDict(frozen=True)

    city: str
    kind: str
    from_day: int = Field(ge=1)
    to_day: int = Field(ge=1)


class Problem(BaseModel):
    """A trip to plan. A flight day counts for both cities, so stays overlap by one day.

    stays: city -> days in it. flights: directed, (from, to). text: the problem in words, if it came as such.
    """

    model_config = ConfigDict(frozen=True)

    title: str = "A trip"
    text: str | None = None
    total_days: int = Field(ge=1, le=60)
    stays: dict[str, int] = Field(min_length=1, max_length=10)
    windows: tuple[Window, ...] = ()
    flights: tuple[tuple[str, str], ...] = ()

    @model_validator(mode="after")
    def _cities_are_known(self) -> Self:
        named = {window.city for window in self.windows} | {
            city for flight in self.flights for city in flight
        }
        if unknown := sorted(named - set(self.stays)):
            raise ValueError(f"cities without a length of stay: {unknown!r}")
        return self

    @property
    def cities(self) -> list[str]:
        """The cities, in the order in which the problem names them."""
        return list(self.stays)

    def in_words(self) -> str:
        """The problem as a request to a model."""
        return self.text if self.text is not None else "\n".join(_sentences(self))


def _sentences(problem: Problem) -> list[str]:
    stays = ", ".join(f"{city} ({days} days)" for city, days in problem.stays.items())
    flights = ", ".join(f"{start} to {end}" for start, end in problem.flights)
    dates = [
        f"{window.kind} in {window.city}: day {window.from_day} to day {window.to_day}."
        for window in problem.windows
    ]
    return [
        f"{problem.title}: {problem.total_days} days.",
        f"Cities and days of stay: {stays}.",
        *dates,
        f"Direct flights: {flights}.",
        "The day of a flight counts for both cities.",
    ]


def own_problems() -> Mapping[str, Path]:
    """The problems that ship with the example, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.json"))}


def load(path: Path) -> Problem:
    """Read one problem in this example's own JSON form. Raises pydantic.ValidationError if it is not one."""
    return Problem.model_validate_json(path.read_text(encoding="utf-8"))

"""A user's module passes mypy --strict, and wrong uses do not."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("mypy")

USER = """
    from __future__ import annotations

    import datetime
    from enum import Enum
    from typing import Annotated

    from pydantic import BaseModel, Field

    import factorspec_sdk as fs


    class Kind(Enum):
        SALE = "sale"
        REFUND = "refund"


    class Today(BaseModel):
        cities: list[str]
        stays: dict[str, int]
        flights: list[tuple[str, str]]


    class Stop(BaseModel):
        city: Annotated[str, fs.In("cities")]
        arrive: Annotated[int, Field(ge=1, le=60)]
        leave: Annotated[int, Field(ge=1, le=60)]
        day: Annotated[datetime.date, fs.Between(datetime.date(2026, 1, 1), datetime.date(2026, 2, 1))]
        kind: Kind = Kind.SALE
        tip: int | None = None


    @fs.all_different("stops[*].city")
    @fs.slide("stops", fs.table(("a.city", "b.city"), rows=fs.param("flights")), name="direct flight")
    @fs.slide("stops", fs.eq("a.leave", "b.arrive"))
    @fs.slide("stops", lambda a, b: b.arrive >= a.leave)
    @fs.sum_of("stops[*].arrive", le=100)
    @fs.implies(fs.eq("stops[0].kind", fs.const("sale")), fs.le("stops[0].arrive", 3))
    @fs.either(fs.eq("stops[0].arrive", 1), fs.not_(fs.eq("stops[0].leave", 1)))
    class Trip(BaseModel):
        stops: Annotated[list[Stop], Field(min_length=1, max_length=12)]

        @fs.relation("stays as long as asked")
        def stays(self, given: Today) -> bool:
            return fs.every(s.leave - s.arrive + 1 == given.stays[s.city] for s in self.stops)

        @fs.relation("several things")
        def several(self, given: Today, limit: int) -> bool:
            return fs.both(
                fs.total(s.arrive for s in self.stops) <= limit,
                fs.most(s.leave for s in self.stops) - fs.least(s.arrive for s in self.stops) <= 3,
                fs.number(s.kind == Kind.SALE for s in self.stops) >= 1,
                fs.implies(self.stops[0].arrive == 1, fs.is_in(self.stops[0].city, given.cities)),
                fs.is_row((self.stops[0].city, self.stops[-1].city), given.flights),
                fs.either(fs.is_null(self.stops[0].tip), fs.not_(self.stops[0].arrive == 2)),
                (self.stops[-1].day - self.stops[0].day).days <= fs.length(self.stops),
                self.stops[-1].day - self.stops[0].day <= datetime.timedelta(days=5),
                fs.abs_(self.stops[0].arrive - self.stops[0].leave) <= 3,
                (self.stops[0].arrive == 1) | (self.stops[0].leave == 1),
            )


    today = Today(cities=["Rome"], stays={"Rome": 1}, flights=[])
    bound: type[Trip] = fs.bind(Trip, today, limit=3)
    trip: Trip = bound.model_validate({"stops": []})
    truth: bool = trip.stays(today)
    verdicts: list[fs.Verdict] = fs.check(trip)
    document = fs.document(bound)
    reveal_type(Trip)
    reveal_type(trip.stays)
    reveal_type(fs.spec(bound))
"""

WRONG = """
    from pydantic import BaseModel

    import factorspec_sdk as fs


    @fs.all_different("a")
    class NoModel:
        a: int


    class Model(BaseModel):
        a: int

        @fs.relation("returns a number")
        def rule(self) -> int:
            return self.a


    fs.every([1, 2])
    fs.eq("a", 1.5)
    fs.sum_of("a", equals=3)
    fs.bind(Model).missing
"""


def mypy(source: str, folder: Path) -> str:
    module = folder / "user.py"
    module.write_text(textwrap.dedent(source), encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(root / "pyproject.toml"),
        str(module),
    ]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=110, check=False).stdout


@pytest.mark.slow
def test_a_users_module_passes_strict_type_checks(tmp_path: Path) -> None:
    output = mypy(USER, tmp_path)
    assert "error" not in output
    assert '-> user.Trip"' in output
    assert '"def (given: user.Today) -> bool"' in output
    assert '"factorspec_sdk.wire.spec.Spec"' in output


@pytest.mark.slow
def test_wrong_uses_are_found_by_the_type_checker(tmp_path: Path) -> None:
    output = mypy(WRONG, tmp_path)
    found = {line.split(":")[1] for line in output.splitlines() if ": error:" in line}
    assert len(found) == 6, output

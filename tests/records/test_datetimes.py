"""``datetime`` fields: bounded, in steps, without a time zone or with one; one spelling each."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from factorspec_sdk.fields.codes import canonical_code, code_to_iso, iso_to_code, zone_of
from tests.strangers.walking import prepared, written

UTC = dt.UTC
BERLIN = dt.timezone(dt.timedelta(hours=2))
MONDAY = dt.datetime(2026, 5, 4, 8)
Slot = Annotated[dt.datetime, fs.Between(MONDAY, MONDAY + dt.timedelta(days=4), step=fs.minutes(15))]


class Meeting(BaseModel):
    start: Slot
    end: Slot
    minutes: Annotated[int, Field(ge=15, le=120, multiple_of=15)]

    @fs.relation("lasts so long")
    def lasts(self) -> bool:
        return (self.end - self.start).total_seconds() == self.minutes * 60

    @fs.relation("keeps clear of what is booked")
    def clear(self, booked: list[tuple[dt.datetime, dt.datetime]]) -> bool:
        return fs.every((self.end <= first) | (self.start >= last) for first, last in booked)


def test_meetings_keep_clear_of_booked_times() -> None:
    booked = [
        (MONDAY, MONDAY + dt.timedelta(hours=5)),
        (MONDAY + dt.timedelta(hours=6), MONDAY + dt.timedelta(days=3)),
    ]
    ready, seen = prepared(fs.bind(Meeting, booked=booked)), set()
    for seed in range(12):
        found = json.loads(written(ready, None, seed).text)
        start, end = dt.datetime.fromisoformat(found["start"]), dt.datetime.fromisoformat(found["end"])
        assert end - start == dt.timedelta(minutes=found["minutes"])
        assert all(end <= first or start >= last for first, last in booked)
        assert start.minute % 15 == 0 and found["start"] == start.isoformat()
        seen.add(found["start"])
    assert len(seen) > 6


@pytest.mark.parametrize(("zone", "suffix"), [(UTC, "Z"), (BERLIN, "+02:00"), (None, "")])
def test_every_second_of_two_years_in_one_spelling(zone: dt.tzinfo | None, suffix: str) -> None:
    first, last = dt.datetime(2027, 12, 31, 23, tzinfo=zone), dt.datetime(2029, 1, 1, tzinfo=zone)

    class Event(BaseModel):
        at: Annotated[dt.datetime, fs.Between(first, last)]

    document: Any = fs.document(Event)
    assert document["properties"]["at"] == {
        "type": "string", "format": "date-time",
        "x-factorspec": {"domain": {
            "min": f"2027-12-31T23:00:00{suffix}", "max": f"2029-01-01T00:00:00{suffix}", "step": 1}},
    }  # fmt: skip
    ready = prepared(Event)
    for seed in range(6):
        text = json.loads(written(ready, None, seed).text)["at"]
        found = Event.model_validate({"at": text}).at
        assert text.endswith(suffix) and first <= found <= last
        assert json.loads(Event(at=found).model_dump_json())["at"] == text
    for wrong in ("2026-05-04T08:00:00", "2028-02-30T08:00:00" + suffix, "2028-05-04T08:00:00.5" + suffix,
                  "2028-05-04T08:00:00" + ("" if suffix else "Z")):  # fmt: skip
        with pytest.raises(ValidationError):
            Event.model_validate({"at": wrong})


def test_instants_compare_across_zones() -> None:
    noon = dt.datetime(2026, 5, 4, 12, tzinfo=UTC)

    class Two(BaseModel):
        here: Annotated[dt.datetime, fs.Between(noon, noon + dt.timedelta(hours=3), step=fs.hours(1))]
        there: Annotated[
            dt.datetime,
            fs.Between(
                noon.astimezone(BERLIN), noon.astimezone(BERLIN) + dt.timedelta(hours=3), step=fs.hours(1)
            ),
        ]

        @fs.relation("at once")
        def at_once(self) -> bool:
            return self.here == self.there

    texts = {written(prepared(Two), None, seed).text for seed in range(30)}
    assert texts == {
        f'{{"here": "2026-05-04T{hour}:00:00Z", "there": "2026-05-04T{hour + 2}:00:00+02:00"}}'
        for hour in range(12, 16)
    }


def test_times_with_and_without_a_zone_do_not_mix() -> None:
    class Mixed(BaseModel):
        at: Annotated[dt.datetime, fs.Between(MONDAY, MONDAY.replace(tzinfo=UTC))]

    with pytest.raises(fs.FactorspecError, match="different time zones"):
        fs.document(Mixed)

    class Apart(BaseModel):
        a: Slot
        b: Annotated[dt.datetime, fs.Between(MONDAY.replace(tzinfo=UTC), dt.datetime(2026, 5, 5, tzinfo=UTC))]

        @fs.relation("equal")
        def equal(self) -> bool:
            return self.a == self.b

    with pytest.raises(
        fs.DocumentError, match="a date with a time cannot be compared with a date with a time and a zone"
    ):
        fs.spec(Apart)


def test_unbounded_datetimes_are_free_until_a_relation_touches_them() -> None:
    class Free(BaseModel):
        at: dt.datetime

    with pytest.raises(fs.UnsupportedField, match="Between"):
        fs.intension(lambda free: free.at > MONDAY)(Free)


def test_domains_are_one_only_if_they_are_spelled_alike() -> None:
    half = fs.Between(Decimal("0.5"), Decimal(1))
    assert half == fs.Between(Decimal("0.5"), Decimal(1)) != fs.Between(Decimal("0.50"), Decimal(1))
    assert fs.In([1]) == fs.In([1]) != fs.In([True])
    assert len({half, fs.Between(Decimal("0.50"), Decimal(1)), fs.In([1]), fs.In([True])}) == 4


def test_texts_and_codes_are_inverse() -> None:
    rng = random.Random(4)
    for _ in range(300):
        moment = dt.datetime(rng.randrange(2, 9998), 1, 1, tzinfo=UTC) + dt.timedelta(
            seconds=rng.randrange(31_000_000)
        )
        local = moment.astimezone(dt.timezone(dt.timedelta(minutes=rng.randrange(-720, 840))))
        text = local.isoformat()
        code = iso_to_code("instant", text)
        assert code is not None and code == iso_to_code("instant", moment.isoformat())
        if local.utcoffset():
            assert code_to_iso("instant", code, zone_of(text)) == text
            assert canonical_code("instant", text) == code
        naive = local.replace(tzinfo=None).isoformat()
        plain = iso_to_code("datetime", naive)
        assert plain is not None and code_to_iso("datetime", plain) == naive
        assert iso_to_code("datetime", text) is None and iso_to_code("instant", naive) is None


def test_weekdays_are_counted_from_a_monday() -> None:
    class Visit(BaseModel):
        day: Annotated[dt.date, fs.Between(dt.date(2026, 1, 1), dt.date(2026, 1, 31))]

        @fs.relation("on a working day")
        def works(self) -> bool:
            return fs.elapsed(dt.date(2026, 1, 5), self.day) % 7 < 5

    for day in (dt.date(2026, 1, at) for at in range(1, 32)):
        assert fs.explain(Visit, {"day": day}).is_valid == (day.weekday() < 5)


def test_the_weekday_of_a_field_says_how_it_is_counted() -> None:
    with pytest.raises(fs.TracingError, match="is the weekday, Monday 0"):

        class Visit(BaseModel):
            day: Annotated[dt.date, fs.Between(dt.date(2026, 1, 1), dt.date(2026, 1, 31))]

            @fs.relation("on a working day")
            def works(self) -> bool:
                return self.day.weekday() < 5

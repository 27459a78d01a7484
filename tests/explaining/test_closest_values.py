"""Values outside a domain, and what is meant by them: written loosely, or too far out."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.explaining import nearest_of
from factorspec_sdk.explaining import nearest_record as nearest_module
from factorspec_sdk.explaining.closest_value import closest_index
from factorspec_sdk.explaining.differences import num_equal
from factorspec_sdk.fields.domains import DecimalDomain, EnumDomain, IntRange, StepDomain

DAYS = IntRange(1, 29, 2)
AMOUNTS = DecimalDomain(2, IntRange(0, 10_000, 5))
DATES = StepDomain("date", IntRange(date(2026, 1, 1).toordinal(), date(2026, 1, 31).toordinal()))
CITIES = EnumDomain(("Oslo", "Köln", "New  York", "", 7, None))


@pytest.mark.parametrize(
    ("domain", "value", "meant"),
    [
        (DAYS, "5", 5),
        (DAYS, " 5.0 ", 5),
        (DAYS, 0, 1),
        (DAYS, -(10**30), 1),
        (DAYS, 1e300, 29),
        (DAYS, 4.9, 5),
        (DAYS, "day 5", None),
        (DAYS, "nan", None),
        (DAYS, True, None),
        (DAYS, None, None),
        (DAYS, [5], None),
        pytest.param(DAYS, 10**5000, None, id="too many digits"),
        (AMOUNTS, 12.5, "12.50"),
        (AMOUNTS, 12, "12.00"),
        (AMOUNTS, "12.52", "12.50"),
        (AMOUNTS, 1e9, "100.00"),
        (DATES, " 2026-01-07", "2026-01-07"),
        (DATES, "2027-05-01", "2026-01-31"),
        (DATES, 738_000, None),
        (DATES, "tomorrow", None),
        (CITIES, "oslo ", "Oslo"),
        (CITIES, "KÖLN", "Köln"),
        (CITIES, "new york", "New  York"),
        (CITIES, "Osloo", "Oslo"),
        (CITIES, "7", 7),
        (CITIES, "Lisbon", None),
        (CITIES, "x" * 10_000, None),
    ],
)
def test_the_value_that_is_meant(domain: Any, value: object, meant: object) -> None:
    index = closest_index(domain, value)
    assert (None if index is None else domain.value(index)) == meant


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7), st.integers(-200, 200))
def test_no_number_of_a_range_is_nearer(lo: int, count: int, step: int, wanted: int) -> None:
    numbers = IntRange(lo, lo + count * step, step)
    index = closest_index(numbers, wanted)
    assert index is not None
    assert abs(numbers.value(index) - wanted) == min(
        abs(one - wanted) for one in range(lo, numbers.hi + 1, step)
    )


class Stay(BaseModel):
    city: Annotated[str, fs.In(["Oslo", "Köln"])]
    nights: Annotated[int, Field(ge=1, le=30)]
    price: Annotated[Decimal, Field(decimal_places=2, ge=0, le=100)]
    mood: Literal["good", "bad"]


def test_what_is_meant_is_what_a_nearest_record_takes() -> None:
    found = fs.nearest(Stay, {"city": "köln", "nights": "31", "price": 7.5, "mood": "good"})
    assert found.record == {"city": "Köln", "nights": 30, "price": "7.50", "mood": "good"}
    assert found.kept == 1 and len(found.changes) == 3


def test_of_several_records_the_one_that_says_most_counts() -> None:
    whole = {"city": "Oslo", "nights": 3, "price": "1.00", "mood": "good"}
    part, other = {"city": "Köln", "nights": 3}, {"stay": whole}
    assert nearest_of(Stay, [part, whole, other])[0] == 1
    assert nearest_of(Stay, [other, part])[0] == 1
    assert nearest_of(Stay, [whole, {**whole, "nights": 4}])[0] == 1
    assert nearest_of(Stay, [{}])[1].kept == 0


def test_equal_fields_are_counted_in_depth() -> None:
    assert num_equal({"a": [1, {"b": 2}], "c": "x"}, {"a": [1, {"b": 2, "d": 1}, 5], "c": "y"}) == 2
    assert num_equal({"a": []}, {"a": []}) == 0
    assert num_equal({"a": 1}, {"a": True}) == 0
    assert num_equal({"a": "x"}, {"a": {"b": "x"}}) == 0


class Slots(BaseModel):
    a: Annotated[int, Field(ge=1, le=9)]
    b: Annotated[int, Field(ge=1, le=9)]
    c: Annotated[int, Field(ge=1, le=9)]

    @fs.relation("grows")
    def grows(self) -> bool:
        return fs.both(self.a < self.b, self.b < self.c)


def test_work_is_bounded_and_a_record_comes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"a": 5, "b": 4, "c": 6}
    assert fs.nearest(Slots, wrong).proven
    monkeypatch.setattr(nearest_module, "KEEPING_STEPS", -1)
    found = fs.nearest(Slots, wrong)
    assert not found.proven and found.kept >= 1
    Slots.model_validate(found.record)

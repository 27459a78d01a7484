"""What of a record is committed while it is written."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from factorspec_sdk import records
from factorspec_sdk.client.partial import PartialReader, committed, partial_model


class Leg(BaseModel):
    city: Literal["Oslo", "Rome"]
    nights: Annotated[int, Field(ge=1, le=30)]
    note: str = "none"


@records.lt("start", "end", name="forward")
class Tour(BaseModel):
    name: Annotated[str, Field(max_length=20, alias="tourName")]
    start: Annotated[datetime.date, Field(ge=datetime.date(2026, 1, 1), le=datetime.date(2026, 12, 31))]
    end: Annotated[datetime.date, Field(ge=datetime.date(2026, 1, 1), le=datetime.date(2026, 12, 31))]
    legs: Annotated[list[Leg], Field(min_length=2, max_length=3)]
    price: Annotated[Decimal, Field(ge=0, le=1000, decimal_places=2)]
    best: Leg | None = None
    kind: Literal["tour"] = "tour"


RECORD: dict[str, Any] = {
    "tourName": 'A "short" 12, {tour}',
    "start": "2026-03-01",
    "end": "2026-03-09",
    "legs": [{"city": "Oslo", "nights": 12, "note": "é"}, {"city": "Rome", "nights": 3, "note": ""}],
    "price": "12.50",
    "best": None,
    "kind": "tour",
}
TEXT = json.dumps(RECORD, ensure_ascii=False)
WHOLE = Tour.model_validate(RECORD)


def is_part(part: object, whole: object) -> bool:
    """Whether everything in ``part`` stands in ``whole``; lists begin alike."""
    if isinstance(part, BaseModel) and isinstance(whole, BaseModel):
        return all(is_part(value, whole.__dict__[name]) for name, value in part.__dict__.items())
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(is_part(value, whole[name]) for name, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part, part, whole))
    return part == whole and type(part) is type(whole)


@pytest.mark.parametrize("text", [TEXT, json.dumps({"a": [True, None, 1.5e3, '\\"', [[]], {}], "b": -12})])
def test_what_is_committed_never_changes_and_grows(text: str) -> None:
    whole = json.loads(text)
    before: dict[str, Any] = {}
    for end in range(len(text) + 1):
        now = committed(text[:end])
        assert is_part(before, now) and is_part(now, whole), text[:end]
        before = now
    assert before == whole


def test_every_partial_instance_is_part_of_the_record() -> None:
    reader = PartialReader(Tour, records.spec(Tour))
    for end in range(len(TEXT) + 1):
        partial = reader.read(TEXT[:end])
        assert is_part(partial.value, WHOLE), TEXT[:end]
        assert partial.certain == (() if end == len(TEXT) or TEXT[:end].endswith('"tour"') else ("kind",))
    assert partial.value == WHOLE and partial.text == TEXT


def test_a_number_is_committed_once_it_has_ended() -> None:
    at = TEXT.index('12, "note')
    for end, nights in ((at + 1, False), (at + 2, False), (at + 3, True)):
        leg = partial_model(Tour, committed(TEXT[:end])).legs[0]
        assert leg.city == "Oslo"
        assert ("nights" in leg.__dict__) is nights
        assert "note" not in leg.__dict__, "a default is not committed"


def test_what_is_not_committed_is_not_there() -> None:
    partial = PartialReader(Tour, records.spec(Tour)).read("")
    assert partial.value.__dict__ == {"kind": "tour"}
    assert partial.certain == ("kind",)
    with pytest.raises(AttributeError):
        _ = partial.value.name


@pytest.mark.parametrize("text", ["", " ", "{", "[1", "tr", "12", "}", '{"a" 1'])
def test_texts_that_are_no_object_commit_nothing(text: str) -> None:
    assert committed(text) == {}

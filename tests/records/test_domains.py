"""``In`` and ``Between`` as Pydantic annotations."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import factorspec_sdk as fs

date = datetime.date
time = datetime.time


class Color(Enum):
    RED = "red"
    BLUE = "blue"


VALIDATED: list[tuple[Any, list[object], list[object]]] = [
    (Annotated[str, fs.In(["a", "b"])], ["a"], ["c", "", 1, None]),
    (Annotated[int, fs.In([1, 2])], [1, "2"], [3, 1.5]),
    (Annotated[str | None, fs.In(["a"])], ["a", None], ["b"]),
    (Annotated[Color, fs.In([Color.RED])], ["red", Color.RED], ["blue", "green"]),
    (Annotated[date, fs.In([date(2026, 1, 1)])], ["2026-01-01"], ["2026-01-02"]),
    (Annotated[int, fs.Between(2, 8, step=3)], [2, 5, 8], [1, 3, 9]),
    (Annotated[date, fs.Between(date(2026, 1, 1), date(2026, 1, 9), step=fs.days(2))],
     ["2026-01-03"], ["2026-01-02", "2025-12-30", "2026-01-11"]),
    (Annotated[time, fs.Between(time(8), time(9), step=fs.minutes(30))],
     ["08:30:00", "08:30"], ["08:31", "07:30", "08:30:00.5", "08:30Z"]),
    (Annotated[str, fs.In("later")], ["anything"], [1]),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "good", "bad"), VALIDATED)
def test_validation(annotation: Any, good: list[object], bad: list[object]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    for value in good:
        adapter.validate_python(value)
    for value in bad:
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


def test_json_schema_says_the_values() -> None:
    schema = TypeAdapter(Annotated[str | None, fs.In(["a"])]).json_schema()
    assert schema["enum"] == ["a", None]
    assert TypeAdapter(Annotated[int, fs.Between(1, 3)]).json_schema() == {
        "type": "integer",
        "minimum": 1,
        "maximum": 3,
    }


def test_long_lists_are_cut_in_messages() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[str, fs.In([f"city {i}" for i in range(5000)])])
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python("city 4321x")
    message = str(caught.value)
    assert "(5000 values)" in message
    assert "did you mean 'city 4321'?" in message
    assert len(message) < 500


WRONG: list[tuple[Any, str]] = [
    (lambda: fs.In(cast(Any, [1.5])), "a domain's values"),
    (lambda: fs.In([datetime.datetime(2026, 1, 1, microsecond=1)]), "a domain's values"),
    (lambda: fs.Between(1, 3, step=0).step_code, "a step is positive"),
    (lambda: fs.Between(date(2026, 1, 1), date(2026, 2, 1), step=fs.minutes(5)).step_code, "whole multiples"),
    (lambda: TypeAdapter(Annotated[time, fs.Between(time(8, 0, 0, 5), time(9))]), "takes a time, never"),
    (lambda: TypeAdapter(Annotated[date, fs.Between(1, 3)]), "takes a date, never"),
    (lambda: TypeAdapter(Annotated[int | None, fs.In(["a"])]), "takes an integer, never"),
    (lambda: TypeAdapter(Annotated[date, fs.In(["2026-02-30"])]), "takes a date, never"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), WRONG)
def test_wrong_domains(call: Any, text: str) -> None:
    with pytest.raises(fs.DeclarationError, match=text):
        call()


def test_bounds_of_the_wrong_type_are_named() -> None:
    with pytest.raises(fs.DeclarationError, match="step"):

        @fs.eq("day", date(2026, 1, 1))
        class Model(BaseModel):
            day: Annotated[date, fs.Between(date(2026, 1, 1), date(2026, 2, 1), step=fs.minutes(5))]


def test_param_names_join_by_dots() -> None:
    assert fs.param("today").windows.name == "today.windows"
    assert repr(fs.In("cities")) == "In('cities')"
    assert fs.In(["a"]) == fs.In(["a", "a"])
    assert hash(fs.In(["a"])) == hash(fs.In(["a"]))

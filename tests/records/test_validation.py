"""Relations run as ordinary Pydantic validation, whatever else the model does."""

from __future__ import annotations

import pickle
from typing import Annotated, Any, Optional, TypeVar

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    computed_field,
    field_validator,
    model_validator,
)

import factorspec_sdk as fs
from tests.records.trip import GOOD, TODAY, Trip, stops

T = TypeVar("T")
Small = Annotated[int, Field(ge=0, le=9)]


@fs.le("low", "high", why="A range runs upwards.")
class Range(BaseModel):
    low: Small
    high: Small


class Holder(BaseModel):
    first: Range
    rest: list[Range] = []


def broken(model: type[BaseModel], data: object) -> list[tuple[tuple[int | str, ...], str]]:
    """(place, relation) of each broken relation."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    errors = caught.value.errors()
    assert {error["type"] for error in errors} == {"factorspec_relation"}
    return [(error["loc"], error["ctx"]["relation"]) for error in errors]


def test_the_error_names_relation_reason_and_explanation() -> None:
    with pytest.raises(ValidationError) as caught:
        Range(low=3, high=1)
    (error,) = caught.value.errors()
    assert error["type"] == "factorspec_relation"
    assert error["ctx"]["relation"] == "low ≤ high"
    assert error["ctx"]["why"] == "A range runs upwards."
    assert error["msg"].startswith("relation 'low ≤ high' (A range runs upwards.) does not hold: ")
    assert "low = 3" in error["msg"]
    assert "high = 1" in error["msg"]


def test_all_broken_relations_are_reported_at_once() -> None:
    bound = fs.bind(Trip, TODAY)
    found = broken(bound, stops(("Rome", 2, 3), ("Rome", 4, 4)))
    assert [name for _, name in found] == [
        "each city once", "direct flight", "stops: a.leave = b.arrive", "stays as long as asked",
        "starts on day 1",
    ]  # fmt: skip


def test_nested_models_report_where_they_stand() -> None:
    data = {"first": {"low": 2, "high": 1}, "rest": [{"low": 1, "high": 1}, {"low": 5, "high": 0}]}
    assert [place for place, _ in broken(Holder, data)] == [("first",), ("rest", 1)]


def test_braces_in_texts_are_only_text() -> None:
    @fs.le("low", "high", name="{low} %s {0}", why="{high} {")
    class Braces(BaseModel):
        low: Small
        high: Small

    with pytest.raises(ValidationError) as caught:
        Braces(low=2, high=1)
    assert "relation '{low} %s {0}' ({high} {) does not hold" in str(caught.value)


def test_an_open_model_checks_what_needs_no_parameters() -> None:
    assert [name for _, name in broken(Trip, stops(("Rome", 2, 3), ("Rome", 3, 4)))] == [
        "each city once",
        "starts on day 1",
    ]
    assert Trip.model_validate(stops(("Nowhere", 1, 3))).stops[0].city == "Nowhere"


def test_verdicts_of_every_relation() -> None:
    class Soft(Range):
        @fs.relation("not nine", enforce=False)
        def not_nine(self) -> bool:
            return self.high != 9

        @fs.relation("known", enforce=False)
        def known(self, limit: int) -> bool:
            return self.high < limit

    class Outer(BaseModel):
        parts: list[Soft]

    outer = Outer.model_validate({"parts": [{"low": 1, "high": 2}, {"low": 1, "high": 9}]})
    assert [(v.place, v.name, v.outcome, v.enforced) for v in fs.check(outer)] == [
        ("parts[0]", "low ≤ high", "holds", True),
        ("parts[0]", "not nine", "holds", False),
        ("parts[0]", "known", "unknown", False),
        ("parts[1]", "low ≤ high", "holds", True),
        ("parts[1]", "not nine", "broken", False),
        ("parts[1]", "known", "unknown", False),
    ]
    assert "limit" in fs.check(outer)[2].explanation


def test_check_looks_at_instances_that_were_never_validated() -> None:
    wrong = Holder.model_construct(first=Range.model_construct(low=3, high=1), rest=[])
    assert [str(v) for v in fs.check(wrong)] == [
        "relation 'low ≤ high' (A range runs upwards.) in first: "
        "first.low <= first.high is false, with first.low = 3, first.high = 1"
    ]


def test_methods_are_callable_on_instances() -> None:
    trip = Trip.model_validate(GOOD)
    assert trip.stays(TODAY)
    assert trip.start()
    assert not Trip.model_construct(stops=trip.stops[1:]).start()
    assert not trip.stays(TODAY.model_copy(update={"stays": {"Rome": 1, "Oslo": 2, "Bern": 2}}))
    with pytest.raises(fs.BindingError, match="stays"):
        trip.stays()  # type: ignore[call-arg]
    bound = fs.bind(Trip, TODAY).model_validate(GOOD)
    assert bound.stays()  # type: ignore[call-arg]


def test_class_identity_pickling_and_copies() -> None:
    value = Range(low=1, high=2)
    assert pickle.loads(pickle.dumps(value)) == value
    assert type(pickle.loads(pickle.dumps(value))) is Range
    assert value.model_copy(update={"low": 2}).low == 2
    assert Range.__mro__[1] is BaseModel


def test_assignment_is_validated_where_the_model_asks_for_it() -> None:
    @fs.le("low", "high")
    class Assigned(BaseModel):
        model_config = ConfigDict(validate_assignment=True)
        low: Small
        high: Small

    value = Assigned(low=1, high=2)
    value.low = 2
    with pytest.raises(ValidationError, match="does not hold"):
        value.low = 3


def test_frozen_models_and_extra_keys() -> None:
    @fs.le("low", "high")
    class Frozen(BaseModel):
        model_config = ConfigDict(frozen=True, extra="allow")
        low: Small
        high: Small

        @fs.relation("low is even")
        def even(self) -> bool:
            return fs.is_in(self.low, [0, 2, 4])

    value = Frozen.model_validate({"low": 2, "high": 3, "other": 1})
    assert value.model_extra == {"other": 1}
    assert hash(value)
    assert [name for _, name in broken(Frozen, {"low": 3, "high": 1})] == ["low ≤ high", "low is even"]

    class Strict(Range):
        model_config = ConfigDict(extra="forbid")

    with pytest.raises(ValidationError, match="Extra inputs"):
        Strict.model_validate({"low": 1, "high": 2, "other": 1})


def test_custom_validators_run_as_well() -> None:
    @fs.le("low", "high")
    class Custom(BaseModel):
        low: Small
        high: Small
        _seen: list[str] = PrivateAttr(default_factory=list)

        @field_validator("low", mode="before")
        @classmethod
        def parse(cls, value: object) -> object:
            return int(value) if isinstance(value, str) else value

        @model_validator(mode="after")
        def remember(self) -> Custom:
            self._seen.append("after")
            return self

        @computed_field  # type: ignore[prop-decorator]
        @property
        def width(self) -> int:
            return self.high - self.low

    value = Custom.model_validate({"low": " 3 ", "high": 4})
    assert (value.low, value.width, value._seen) == (3, 1, ["after"])
    assert broken(Custom, {"low": "5", "high": 4})


def test_computed_fields_and_helpers_are_recorded_through() -> None:
    class Helped(BaseModel):
        low: Small
        high: Small

        @computed_field  # type: ignore[prop-decorator]
        @property
        def width(self) -> int:
            return self.high - self.low

        @fs.relation("not wide")
        def narrow(self) -> bool:
            return self.width <= 3

        @fs.relation("narrow and low")
        def both(self) -> bool:
            return self.narrow() & (self.low <= 5)

    assert Helped(low=1, high=2).width == 1
    assert [name for _, name in broken(Helped, {"low": 1, "high": 9})] == ["not wide", "narrow and low"]


def test_null_makes_arithmetic_unknown_not_broken() -> None:
    @fs.le("low", "high")
    class Nullable(BaseModel):
        low: Optional[Small]  # noqa: UP045
        high: Small

    assert Nullable(low=None, high=1).low is None
    assert fs.check(Nullable(low=None, high=1))[0].outcome == "unknown"


def test_type_adapters_json_schema_and_serialisation_are_pydantics_own() -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(list[Range]).validate_python([{"low": 2, "high": 1}])
    schema = Holder.model_json_schema()
    assert "x-factorspec" not in str(schema)
    assert schema["$defs"]["Range"]["required"] == ["low", "high"]
    assert Range(low=1, high=2).model_dump_json() == '{"low":1,"high":2}'
    assert Range.model_validate_json('{"low":1,"high":2}') == Range(low=1, high=2)


def test_fastapi_takes_bound_and_open_models() -> None:
    fastapi = pytest.importorskip("fastapi")
    app = fastapi.FastAPI()
    bound = fs.bind(Trip, TODAY)

    def trip(body: Any) -> Any:
        return body

    trip.__annotations__ = {"body": bound, "return": bound}
    app.post("/trip", response_model=bound)(trip)
    schema = app.openapi()
    assert schema["components"]["schemas"]["Stop"]["properties"]["city"]["enum"] == ["Rome", "Oslo", "Bern"]


def test_relation_methods_are_no_fields() -> None:
    assert list(Trip.model_fields) == ["stops"]
    assert "stays" not in Trip.model_validate(GOOD).model_dump()
    assert Trip.stays.__doc__ == "Days of arrival and departure both count."


def test_plain_classes_may_hold_relation_methods_for_models() -> None:
    class Mixin:
        @fs.relation("low enough")
        def low_enough(self) -> bool:
            return self.low <= 5  # type: ignore[attr-defined, no-any-return]

    class Mixed(Mixin, BaseModel):
        low: Small

    assert broken(Mixed, {"low": 6}) == [((), "low enough")]

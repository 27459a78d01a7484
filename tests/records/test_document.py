"""From a model to its wire document, field type by field type."""

# ruff: noqa: UP045

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NewType, Optional

import pytest
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    StrictInt,
    Tag,
    alias_generators,
    conint,
    conlist,
    constr,
)

import factorspec_sdk as fs
from tests.records.trip import TODAY, Trip

date = datetime.date
time = datetime.time
Small = Annotated[int, Field(ge=0, le=9)]
JANUARY = date(2026, 1, 1)
Score = NewType("Score", Annotated[int, Field(ge=1, le=5)])


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


def property_of(annotation: Any, default: Any = ...) -> Any:
    """The schema of a field with this type; the document must be accepted."""
    namespace = {"__annotations__": {"field": annotation}, "__module__": __name__}
    if default is not ...:
        namespace["field"] = default
    metaclass: Any = type(BaseModel)
    model = metaclass("Model", (BaseModel,), namespace)
    fs.spec(model)
    document: Any = fs.document(model)
    return document["properties"]["field"]


def moments(kind: str, low: str, high: str, step: int = 1) -> Any:
    return {
        "type": "string",
        "format": kind,
        "x-factorspec": {"domain": {"min": low, "max": high, "step": step}},
    }


NULL = {"type": "null"}
TYPES: list[tuple[Any, Any]] = [
    (bool, {"type": "boolean"}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    (Literal["a", 1, True], {"enum": ["a", 1, True]}),
    (Literal["a", None], {"type": ["string", "null"], "enum": ["a", None]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 10]}),
    (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
    (Optional[Color], {"type": ["string", "null"], "enum": ["red", "blue", None]}),
    (Optional[bool], {"type": ["boolean", "null"], "enum": [False, True, None]}),
    (Annotated[int, Field(ge=1, le=60)], {"type": "integer", "minimum": 1, "maximum": 60}),
    (Annotated[int, Field(gt=1, lt=60)], {"type": "integer", "minimum": 2, "maximum": 59}),
    (Annotated[int, Field(ge=1, le=60, multiple_of=7)], {
        "type": "integer", "minimum": 7, "maximum": 56, "multipleOf": 7}),
    (Annotated[int, Field(ge=1), Field(le=3)], {"type": "integer", "minimum": 1, "maximum": 3}),
    (Annotated[StrictInt, Field(ge=1, le=3)], {"type": "integer", "minimum": 1, "maximum": 3}),
    (conint(ge=1, lt=3), {"type": "integer", "minimum": 1, "maximum": 2}),
    (Score, {"type": "integer", "minimum": 1, "maximum": 5}),
    (Annotated[int, fs.Between(1, 10, step=3)], {"type": "integer", "enum": [1, 4, 7, 10]}),
    (Annotated[int, fs.Between(0, 10, step=5)], {
        "type": "integer", "minimum": 0, "maximum": 10, "multipleOf": 5}),
    (Annotated[int, fs.In([3, 1]), Field(ge=2)], {"type": "integer", "enum": [3]}),
    (Optional[Small], {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, NULL]}),
    (Annotated[int | None, Field(ge=0, le=9)], {
        "anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, NULL]}),
    (Annotated[date, fs.Between(JANUARY, date(2026, 1, 31))], moments("date", "2026-01-01", "2026-01-31")),
    (Annotated[date, fs.Between(date(2026, 1, 1), date(2026, 1, 31), step=fs.days(7))], moments(
        "date", "2026-01-01", "2026-01-29", 7)),
    (Annotated[date, Field(ge=JANUARY, lt=date(2026, 1, 31))], moments("date", "2026-01-01", "2026-01-30")),
    (Optional[Annotated[date, Field(ge=date(2026, 1, 1), le=date(2026, 1, 2))]], {
        "anyOf": [moments("date", "2026-01-01", "2026-01-02"), NULL]}),
    (Annotated[time, fs.Between(time(8), time(18), step=fs.minutes(30))], moments(
        "time", "08:00:00", "18:00:00", 1800)),
    (Annotated[time, Field(ge=time(8))], moments("time", "08:00:00", "23:59:59")),
    (Annotated[time, fs.Between(time(8), time(18), step=fs.hours(3))], moments(
        "time", "08:00:00", "17:00:00", 10800)),
    (Annotated[date, fs.In([JANUARY])], {"type": "string", "format": "date", "enum": ["2026-01-01"]}),
    (Annotated[str, fs.In(["b", "a", "b"])], {"type": "string", "enum": ["b", "a"]}),
    (Annotated[str, fs.In(Color)], {"type": "string", "enum": ["red", "blue"]}),
    (Annotated[list[Small], Field(min_length=1, max_length=3)], {
        "type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9},
        "minItems": 1, "maxItems": 3}),
    (conlist(Small, max_length=3), {
        "type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "maxItems": 3}),
    (Optional[Annotated[list[bool], Field(max_length=1)]], {
        "anyOf": [{"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, NULL]}),
    (Annotated[list[Annotated[list[bool], Field(max_length=1)]], Field(max_length=1)], {
        "type": "array", "maxItems": 1,
        "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 1}}),
    (Annotated[list[str], Field(max_length=2)], {
        "type": "array", "maxItems": 2, "items": {"type": "string"}}),
    (Annotated[list[Annotated[str, Field(max_length=5)]], Field(max_length=2)], {
        "type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 5}}),
    (str, {"type": "string"}),
    (Annotated[str, Field(max_length=80)], {"type": "string", "maxLength": 80}),
    (constr(min_length=2), {"type": "string", "minLength": 2}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (date, {"type": "string", "format": "date"}),
    (Optional[str], {"anyOf": [{"type": "string"}, NULL]}),
    (list[str], {"type": "array", "items": {"type": "string"}}),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "expected"), TYPES)
def test_field_types(annotation: Any, expected: Any) -> None:
    assert property_of(annotation) == expected


def test_fields_with_defaults_are_always_written_in_declaration_order() -> None:
    class Base(BaseModel):
        z: Small = 1
        a: Small

    class Model(Base):
        m: str = "x"

    document: Any = fs.document(Model)
    assert document["required"] == ["z", "a", "m"]
    assert document["x-factorspec"]["order"] == ["z", "a", "m"]
    assert document["additionalProperties"] is False
    assert "default" not in json.dumps(document)


def test_texts_for_people_stay() -> None:
    class Model(BaseModel):
        """A model.

        With a second line.
        """

        model_config = ConfigDict(title="Shown")
        size: Annotated[int, Field(ge=0, le=9, description="How large.", title="Size!")]
        free: Annotated[str, Field(description="Anything.")]

    document: Any = fs.document(Model)
    assert document["title"] == "Shown"
    assert document["description"] == "A model.\n\nWith a second line."
    assert document["properties"]["size"]["description"] == "How large."
    assert document["properties"]["size"]["title"] == "Size!"
    assert document["properties"]["free"] == {"type": "string", "description": "Anything."}
    fs.spec(Model)


def test_nested_and_reused_models_stand_in_the_definitions_once() -> None:
    class Point(BaseModel):
        x: Small

    class Line(BaseModel):
        start: Point
        end: Point
        via: Annotated[list[Point], Field(max_length=2)]
        label: Point | None

    document: Any = fs.document(Line)
    assert list(document["$defs"]) == ["Point"]
    assert document["properties"]["label"] == {"anyOf": [{"$ref": "#/$defs/Point"}, NULL]}
    fs.spec(Line)


def test_models_of_the_same_name_are_kept_apart() -> None:
    def make(high: int) -> type[BaseModel]:
        class Part(BaseModel):
            x: Annotated[int, Field(ge=0, le=high)]

        return Part

    first, second = make(1), make(2)

    class Whole(BaseModel):
        a: first  # type: ignore[valid-type]
        b: second  # type: ignore[valid-type]

    document: Any = fs.document(Whole)
    assert list(document["$defs"]) == ["Part", "Part_2"]
    assert document["$defs"]["Part_2"]["properties"]["x"]["maximum"] == 2
    fs.spec(Whole)


def test_recursive_models_have_a_document() -> None:
    class Node(BaseModel):
        size: Small
        children: Annotated[list[Node], Field(max_length=2)] = []

    document: Any = fs.document(Node)
    assert document["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert "Node" in document["$defs"]


def test_aliases_are_the_keys_of_the_record() -> None:
    class Model(BaseModel):
        model_config = ConfigDict(alias_generator=alias_generators.to_camel)
        first_name: Literal["a"]
        other: Annotated[Literal["b"], Field(validation_alias="andere")]
        free_text: str
        only_out: Annotated[Small, Field(serialization_alias="out", validation_alias="only_out")]

    document: Any = fs.document(Model)
    assert document["required"] == ["firstName", "andere", "freeText", "only_out"]
    text = '{"firstName": "a", "andere": "b", "freeText": "", "only_out": 1}'
    assert Model.model_validate_json(text).first_name == "a"
    fs.spec(Model)


def test_fields_without_a_single_key_are_refused() -> None:
    class Model(BaseModel):
        a: Annotated[Small, Field(validation_alias=AliasChoices("x", "y"))]

    with pytest.raises(fs.UnsupportedField, match="AliasChoices"):
        fs.document(Model)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


REFUSED: list[tuple[Any, str]] = [
    (Decimal, "Decimal"),
    (Annotated[Decimal, Field(max_digits=3)], "Decimal"),
    (Optional[Decimal], "Decimal"),
    (datetime.timedelta, "timedelta"),
    (
        Annotated[Annotated[Cat, Tag("c")] | Annotated[Dog, Tag("d")], Discriminator(lambda pet: "c")],
        "discriminator that is a function",
    ),
    (Cat | datetime.timedelta, "timedelta"),
]


@pytest.mark.parametrize(("annotation", "text"), REFUSED)
def test_types_that_are_not_supported_are_named_with_their_path(annotation: Any, text: str) -> None:
    with pytest.raises(fs.UnsupportedField) as caught:
        property_of(annotation)
    assert text in str(caught.value)
    assert caught.value.problems[0].place == "field"
    with pytest.raises(fs.UnsupportedField) as caught:
        property_of(list[annotation])
    assert caught.value.problems[0].place == "field[*]"


def test_all_unsupported_fields_are_reported_at_once() -> None:
    class Inner(BaseModel):
        at: datetime.timedelta

    class Model(BaseModel):
        price: Decimal
        inner: list[Inner]

    with pytest.raises(fs.UnsupportedField) as caught:
        fs.document(Model)
    assert [problem.place for problem in caught.value.problems] == ["price", "inner[*].at"]
    assert Model.model_validate({"price": "1.5", "inner": []}).inner == []


EMPTY: list[Any] = [
    Annotated[int, Field(ge=5, le=1)],
    Annotated[int, Field(ge=1, le=2, multiple_of=5)],
    Annotated[str, fs.In([])],
    Annotated[date, fs.Between(date(2026, 1, 2), date(2026, 1, 1))],
    list[Annotated[str, fs.In([])]],
]


@pytest.mark.parametrize("annotation", EMPTY)
def test_empty_domains(annotation: Any) -> None:
    with pytest.raises(fs.EmptyDomain, match="field"):
        property_of(annotation)


def test_relations_inside_free_parts_are_refused() -> None:
    @fs.le("low", "high")
    class Range(BaseModel):
        low: Small
        high: Small

    class Model(BaseModel):
        ranges: dict[str, Range]

    with pytest.raises(fs.UnsupportedField, match="relations"):
        fs.document(Model)


def test_inline_tables_are_shared_by_content() -> None:
    @fs.table(("a", "b"), rows=[(1, 2)], name="one")
    @fs.table(("b", "c"), rows=[(1, 2)], name="two")
    class Model(BaseModel):
        a: Small
        b: Small
        c: Small

    document: Any = fs.document(Model)
    tables = document["x-factorspec"]["tables"]
    assert list(tables.values()) == [[[1, 2]]]
    assert {r["table"] for r in document["x-factorspec"]["relations"]} == set(tables)
    fs.spec(Model)


def test_documents_are_deterministic() -> None:
    one = fs.spec(fs.bind(Trip, TODAY))
    two = fs.spec(fs.bind(Trip, TODAY.model_copy(update={"total_days": 9})))
    assert one.hash == two.hash
    assert json.dumps(fs.document(fs.bind(Trip, TODAY))) == json.dumps(fs.document(fs.bind(Trip, TODAY)))
    assert list(one.document["x-factorspec"]["tables"]) == ["flights", "stays"]  # type: ignore[call-overload, index, arg-type]


def test_report_only_relations_over_free_fields_stay_on_this_side() -> None:
    @fs.le("a", "n", name="local too", enforce=False)
    @fs.le("a", 5, name="sent", enforce=False)
    class Soft(BaseModel):
        a: Small
        free: str = ""
        n: int = 0

        @fs.relation("says hello", enforce=False)
        def hello(self) -> bool:
            return self.free == "hello"

    document: Any = fs.document(Soft)
    assert [relation["name"] for relation in document["x-factorspec"]["relations"]] == ["sent"]
    fs.spec(Soft)
    assert [verdict.outcome for verdict in fs.check(Soft(a=6))] == ["broken", "broken", "broken"]


def test_lists_that_relations_touch_are_bounded() -> None:
    with pytest.raises(fs.UnsupportedField, match="max_length"):

        @fs.all_different("numbers[*]")
        class Declared(BaseModel):
            numbers: list[Small]

    with pytest.raises(fs.UnsupportedField, match="max_length"):

        @fs.slide("numbers", fs.lt("a", "b"))
        class Slid(BaseModel):
            numbers: list[Small]

    with pytest.raises(fs.UnsupportedField, match="max_length"):

        class Traced(BaseModel):
            numbers: list[Small]

            @fs.relation("positive")
            def positive(self) -> bool:
                return fs.every(n > 0 for n in self.numbers)


def test_no_record_is_a_root_model() -> None:
    class Numbers(RootModel[list[int]]):
        pass

    with pytest.raises(fs.UnsupportedField, match="a record is an object"):
        fs.document(Numbers)

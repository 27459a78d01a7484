"""Unions of a model: documents, decorators, recorded methods, validation, and records that are written."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from factorspec_sdk.errors import TracingError, UnknownField, UnsupportedField
from tests.strangers.walking import prepared, written

Small = Annotated[int, Field(ge=1, le=9)]
T = TypeVar("T", bound=BaseModel)


class Card(BaseModel):
    kind: Literal["card"]
    number: Small
    limit: Annotated[int, Field(ge=1, le=5)]


class Cash(BaseModel):
    kind: Literal["cash"]
    number: Annotated[int, Field(ge=3, le=12)]

    @fs.relation("odd amounts only")
    def odd(self) -> bool:
        return self.number % 2 == 1


class Gift(BaseModel):
    code: Literal["x", "y"]


Day = Annotated[datetime.date, fs.Between(datetime.date(2026, 5, 1), datetime.date(2026, 5, 9))]
Payment = Annotated[Card | Cash, Field(discriminator="kind")]


@fs.le("payment.limit", "total", name="within the limit")
class Order(BaseModel):
    total: Annotated[int, Field(ge=1, le=12)]
    payment: Payment
    more: Annotated[list[Card | Gift | None], Field(max_length=2)]
    note: Card | str
    word: Literal["a", "b"] | Annotated[int, Field(ge=0, le=3)] | None

    @fs.relation("paid in full")
    def paid(self) -> bool:
        return self.total == self.payment.number

    @fs.relation("cards of two or more")
    def cards(self) -> bool:
        return fs.implies(fs.is_a(self.payment, Card), fs.as_a(self.payment, Card).limit >= 2)

    @fs.relation("no gifts")
    def no_gifts(self) -> bool:
        return fs.every(fs.not_(fs.is_a(one, Gift)) for one in self.more)

    @fs.relation("a word or two")
    def words(self) -> bool:
        return (self.word == "a") | (self.word == 2) | fs.is_null(self.word)


def test_the_document_says_the_branches_and_what_tells_them_apart() -> None:
    properties: Any = fs.document(Order)["properties"]
    assert properties["payment"]["oneOf"] == [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}]
    assert properties["payment"]["discriminator"] == {"propertyName": "kind"}
    branches = {"anyOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Gift"}]}
    assert properties["more"]["items"] == {"anyOf": [branches, {"type": "null"}]}
    assert properties["note"] == {"anyOf": [{"$ref": "#/$defs/Card"}, {"type": "string"}]}
    assert properties["word"]["anyOf"][0]["anyOf"][0] == {"type": "string", "enum": ["a", "b"]}


def test_written_records_are_valid_and_take_every_branch() -> None:
    ready = prepared(Order)
    found = [Order.model_validate_json(written(ready, None, seed).text) for seed in range(40)]
    assert {type(order.payment) for order in found} == {Card, Cash}
    assert {type(order.note) for order in found} == {Card, str}
    assert {order.word for order in found} == {"a", 2, None}
    assert {type(one) for order in found for one in order.more} == {Card, type(None)}


def test_instances_are_validated_by_the_branch_they_take() -> None:
    card = {"kind": "card", "number": 4, "limit": 2}
    good = {"total": 4, "payment": card, "more": [], "note": "", "word": None}
    assert isinstance(Order.model_validate(good).payment, Card)
    with pytest.raises(ValidationError, match="within the limit"):
        Order.model_validate({**good, "total": 1, "payment": {**card, "number": 1}})
    with pytest.raises(ValidationError, match="odd amounts only"):
        Order.model_validate({**good, "payment": {"kind": "cash", "number": 4}})
    with pytest.raises(ValidationError, match="cards of two or more"):
        Order.model_validate({**good, "payment": {**card, "limit": 1}})
    with pytest.raises(ValidationError, match="no gifts"):
        Order.model_validate({**good, "more": [None, {"code": "x"}]})


def test_is_a_and_as_a_on_instances() -> None:
    card = Card(kind="card", number=1, limit=1)
    assert fs.is_a(card, Card) and not fs.is_a(card, Cash) and not fs.is_a(None, Card)
    assert fs.as_a(card, Card) is card


def test_is_a_is_false_where_the_value_is_null_absent_or_no_object() -> None:
    class Box(BaseModel):
        one: Card | Literal["none"] | None
        asked: bool

        @fs.relation("asked")
        def told(self) -> bool:
            return self.asked == fs.is_a(self.one, Card)

    spec = fs.spec(Box)
    from factorspec_sdk.graph.reference import all_records

    texts = [record.text for record in all_records(spec)]
    assert len(texts) == 9 * 5 + 2
    assert all(('"kind"' in text) == ("true" in text) for text in texts)


def test_branches_without_a_tag_are_told_apart_by_their_fields() -> None:
    class Point(BaseModel):
        x: Small

    class Far(BaseModel):
        x: Small
        y: Small

    class Place(BaseModel):
        at: Point | Far
        near: bool

        @fs.relation("near")
        def told(self) -> bool:
            return self.near == fs.is_a(self.at, Point)

    ready = prepared(Place)
    for seed in range(8):
        text = written(ready, None, seed).text
        assert ('"y"' in text) != ("true" in text)


def test_models_with_the_same_fields_cannot_be_asked_for() -> None:
    class One(BaseModel):
        x: Small

    class Two(BaseModel):
        x: Small

    with pytest.raises(TracingError, match="One and Two have the same fields"):

        class Either(BaseModel):
            it: One | Two

            @fs.relation("it is One")
            def one(self) -> bool:
                return fs.is_a(self.it, One)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda order: fs.is_a(order.payment, Gift), "is never Gift"),
        (lambda order: fs.as_a(order.payment, Gift).code == "x", "is never Gift"),
        (lambda order: fs.is_a(order.total, Card), "is no object"),
        (lambda order: isinstance(order.payment, Card), "use fs.is_a"),
        (lambda order: order.payment == 3, "compare its fields"),
        (lambda order: order.payment.nunber == 3, "did you mean 'number'"),
        (lambda order: order.word == "c", None),
    ],
)
def test_mistakes_with_unions_are_refused_where_they_are_made(ask: Any, words: str | None) -> None:
    if words is None:  # a union of listed and other values: what it never is, is not known
        fs.intension(ask)(type("Copy", (Order,), {}))
        return
    with pytest.raises(fs.FactorspecError, match=words):
        fs.intension(ask)(type("Copy", (Order,), {}))


def test_decorators_name_fields_of_branches() -> None:
    class Plain(BaseModel):
        payment: Payment

    with pytest.raises(UnknownField, match="no branch of Card or Cash has the field 'limt'"):
        fs.eq("payment.limt", 3)(Plain)
    with pytest.raises(UnsupportedField, match=r"free|finite"):
        fs.eq("note", 3)(type("Copy", (Order,), {}))


def test_generic_models_and_nested_unions() -> None:
    class Page(BaseModel, Generic[T]):
        first: T
        rest: Annotated[list[T | Gift], Field(max_length=1)]

    class Book(BaseModel):
        page: Page[Card] | Page[Cash]

    spec = fs.spec(type("Half", (BaseModel,), {"__annotations__": {"page": Page[Cash]}}))
    assert spec.root.properties[0].name == "page"
    ready = prepared(Book)
    for seed in range(6):
        written(ready, None, seed)


def test_dates_beside_words_and_open_numbers_beside_models() -> None:
    class Stay(BaseModel):
        start: Day
        end: Day | Literal["open"]
        room: Card | int

        @fs.relation("ends after it starts")
        def order(self) -> bool:
            return (self.end == "open") | (self.end == self.start)

    ready = prepared(Stay)
    ends = {Stay.model_validate_json(written(ready, None, seed).text).end for seed in range(30)}
    assert "open" in ends and len(ends) > 2


def test_a_union_with_parameters_is_bound() -> None:
    class Known(BaseModel):
        kind: Literal["known"]
        name: Annotated[str, fs.In("names")]

    class New(BaseModel):
        kind: Literal["new"]
        age: Small

    class Guest(BaseModel):
        who: Annotated[Known | New, Field(discriminator="kind")]

    bound = fs.bind(Guest, names=["Ann", "Bo"])
    ready = prepared(bound)
    texts = {written(ready, None, seed).text for seed in range(20)}
    assert any("Ann" in text for text in texts) and any("age" in text for text in texts)


class Branch(BaseModel):
    kind: Literal["branch"]
    size: Small
    parts: Annotated[list[Part], Field(max_length=2)]

    @fs.relation("parts are smaller")
    def smaller(self) -> bool:
        return fs.every(part.size < self.size for part in self.parts)


class Leaf(BaseModel):
    kind: Literal["leaf"]
    size: Small


Part = Annotated[Leaf | Branch, Field(discriminator="kind")]


@fs.max_depth(2)
class Plant(BaseModel):
    stem: Branch


def test_a_model_that_names_a_later_type_is_completed_at_the_first_use() -> None:
    ready = prepared(Plant)
    for seed in range(5):
        written(ready, None, seed)


def test_a_model_that_names_an_unknown_type_is_refused() -> None:
    class Broken(BaseModel):
        other: Nowhere  # type: ignore[name-defined]  # noqa: F821

    class Holder(BaseModel):
        broken: Broken

    for model in (Broken, Holder):
        with pytest.raises(fs.DeclarationError, match=r"(Broken|Holder) is not complete"):
            fs.document(model)

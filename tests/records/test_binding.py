"""Parameters: bound classes, and what is wrong with parameters."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from tests.records.trip import GOOD, TODAY, Stop, Today, Trip, stops

Small = Annotated[int, Field(ge=0, le=9)]


def test_a_bound_model_is_a_pydantic_class_of_the_same_name() -> None:
    bound = fs.bind(Trip, TODAY)
    assert issubclass(bound, Trip)
    assert (bound.__name__, bound.__module__, bound.__doc__) == (Trip.__name__, Trip.__module__, Trip.__doc__)
    found = bound.model_validate_json('{"stops": [{"city": "Rome", "arrive": 1, "leave": 3}]}')
    assert isinstance(found, Trip)
    assert isinstance(found.stops[0], Stop)


def test_bound_domains_and_relations_are_validated() -> None:
    bound = fs.bind(Trip, TODAY)
    with pytest.raises(ValidationError) as caught:
        bound.model_validate(stops(("Rom", 1, 3)))
    (error,) = caught.value.errors()
    assert (error["type"], error["loc"]) == ("factorspec_domain", ("stops", 0, "city"))
    assert "did you mean 'Rome'?" in error["msg"]
    with pytest.raises(ValidationError, match="direct flight"):
        bound.model_validate(stops(("Rome", 1, 3), ("Bern", 3, 4)))


def test_the_open_class_stays_open() -> None:
    fs.bind(Trip, TODAY)
    assert Trip.model_validate(stops(("Nowhere", 1, 3))).stops[0].city == "Nowhere"
    assert Stop(city="Nowhere", arrive=1, leave=2).city == "Nowhere"


def test_instances_of_the_open_class_are_taken() -> None:
    bound = fs.bind(Trip, TODAY)
    trip = Trip.model_validate(GOOD)
    assert bound.model_validate(trip).stops[1].city == "Oslo"
    assert bound(stops=trip.stops).stops[1].city == "Oslo"
    with pytest.raises(ValidationError, match="factorspec_domain"):
        bound(stops=[Stop(city="Nowhere", arrive=1, leave=2)])


def test_bound_classes_are_cached_by_content() -> None:
    assert fs.bind(Trip, TODAY) is fs.bind(Trip, TODAY.model_copy(deep=True))
    other = TODAY.model_copy(update={"cities": ["Rome"]})
    assert fs.bind(Trip, other) is not fs.bind(Trip, TODAY)


def test_parameters_by_name() -> None:
    bound = fs.bind(Trip, **TODAY.model_dump())
    assert fs.document(bound) == fs.document(fs.bind(Trip, TODAY))
    changed = fs.bind(Trip, TODAY, stays={"Rome": 9, "Oslo": 2, "Bern": 2})
    with pytest.raises(ValidationError, match="stays as long"):
        changed.model_validate(GOOD)


def test_models_without_parameters_are_their_own_bound_form() -> None:
    class Plain(BaseModel):
        a: Small

    assert fs.bind(Plain) is Plain


def problems(call: Any) -> dict[str, str]:
    with pytest.raises(fs.BindingError) as caught:
        call()
    return {problem.place: str(problem) for problem in caught.value.problems}


def test_missing_and_unknown_parameters_are_named_at_once() -> None:
    found = problems(lambda: fs.bind(Trip, cities=["Rome"], stayz={"Rome": 1}))
    assert set(found) == {"stayz", "stays", "flights"}
    assert "did you mean 'stays'?" in found["stayz"]
    assert "stays as long as asked" in found["stays"]
    assert "direct flight" in found["flights"]


def test_parameters_by_name_are_checked_against_their_model() -> None:
    found = problems(lambda: fs.bind(Trip, cities=["Rome"], stays={"Rome": "three"}, flights=[("Rome",)]))
    assert set(found) == {"stays.Rome", "flights.0.1"}


def test_parameters_without_a_model_are_checked_too() -> None:
    @fs.table(("x", "y"), rows=fs.param("rows"))
    @fs.le("x", fs.param("most"))
    @fs.one_of("y", fs.param("allowed"))
    class Loose(BaseModel):
        x: Small
        y: Small

    good = {"rows": [(1, 2), (1, 2), (2, 1)], "most": 2, "allowed": {1, 2}}
    assert fs.bind(Loose, **good)(x=1, y=2).y == 2
    assert (
        "the row has 1 columns, 2 are needed"
        in problems(lambda: fs.bind(Loose, **{**good, "rows": [(1,)]}))["rows[0]"]
    )
    assert "an integer is needed" in problems(lambda: fs.bind(Loose, **{**good, "most": "two"}))["most"]
    assert "a list is needed" in problems(lambda: fs.bind(Loose, **{**good, "allowed": 3}))["allowed"]
    assert "only texts" in problems(lambda: fs.bind(Loose, **{**good, "rows": [(1, 1.5)]}))["rows[0]"]


def test_parameters_are_models_or_named() -> None:
    with pytest.raises(fs.BindingError, match="given by name"):
        fs.bind(Trip, {"cities": []})  # type: ignore[arg-type]


def test_a_bound_class_is_not_bound_again() -> None:
    with pytest.raises(fs.BindingError, match="bound already"):
        fs.bind(fs.bind(Trip, TODAY), TODAY)


def test_an_empty_domain_is_the_datas_fault() -> None:
    with pytest.raises(fs.EmptyDomain) as caught:
        fs.bind(Trip, TODAY.model_copy(update={"cities": []}))
    assert "'cities'" in str(caught.value)
    assert "city" in str(caught.value)


def test_domains_bind_wherever_they_stand() -> None:
    class Deep(BaseModel):
        plain: Annotated[str, fs.In("names")]
        field: str = Field(json_schema_extra={"x": 1}, default="a")
        maybe: Optional[Annotated[str, fs.In("names")]] = None  # noqa: UP045
        outside: Annotated[str | None, fs.In("names")] = None
        listed: list[Annotated[str, fs.In("names")]] = []
        number: Annotated[int, fs.In("numbers")] = 1
        ranged: Annotated[int, fs.Between(1, fs.param("last"))] = 1
        day: Annotated[datetime.date, fs.In("days")] = datetime.date(2026, 1, 1)
        until: Annotated[
            datetime.date, fs.Between(fs.param("first_day"), fs.param("last_day"), step=fs.days(2))
        ]
        kind: Annotated[Literal["x", "y"], fs.In("kinds")] = "x"

    class Outer(BaseModel):
        deep: Deep
        more: dict[str, int] = {}

    days = [datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)]
    given = {
        "names": ["a", "b"], "numbers": [1, 5], "last": 3, "days": days, "kinds": ["y"],
        "first_day": days[0], "last_day": datetime.date(2026, 1, 9),
    }  # fmt: skip
    bound = fs.bind(Outer, **given)
    good = {
        "plain": "a", "maybe": "b", "outside": None, "listed": ["a"], "number": 5, "ranged": 3,
        "day": "2026-02-01", "until": "2026-01-03", "kind": "y",
    }  # fmt: skip
    assert bound.model_validate({"deep": good}).deep.number == 5
    wrong = {
        "plain": "c", "maybe": "c", "outside": "c", "listed": ["c"], "number": 2, "ranged": 4,
        "day": "2026-01-02", "until": "2026-01-02", "kind": "x",
    }  # fmt: skip
    with pytest.raises(ValidationError) as caught:
        bound.model_validate({"deep": wrong})
    assert {error["loc"][1] for error in caught.value.errors()} == set(wrong)
    assert Outer.model_validate({"deep": wrong}).deep.plain == "c"


def test_between_needs_bounds_that_fit() -> None:
    class Ranged(BaseModel):
        n: Annotated[int, fs.Between(1, fs.param("last"))]

    with pytest.raises(fs.BindingError, match="an integer is needed"):
        fs.bind(Ranged, last="x")
    with pytest.raises(fs.EmptyDomain):
        fs.document(fs.bind(Ranged, last=0))


def test_nested_models_are_bound_with_their_relations() -> None:
    @fs.le("size", fs.param("largest"))
    class Inner(BaseModel):
        size: Small

    class Middle(BaseModel):
        inner: Inner | None = None

    class Outer(BaseModel):
        middle: list[Middle]
        other: Inner

    bound = fs.bind(Outer, largest=3)
    with pytest.raises(ValidationError) as caught:
        bound.model_validate({"middle": [{"inner": {"size": 4}}], "other": {"size": 5}})
    assert [error["loc"] for error in caught.value.errors()] == [("middle", 0, "inner"), ("other",)]
    assert bound.model_validate({"middle": [{}], "other": {"size": 3}}).middle[0].inner is None


def test_recursive_models_are_bound() -> None:
    class Node(BaseModel):
        name: Annotated[str, fs.In("names")]
        children: list[Node] = []

    bound = fs.bind(Node, names=["a"])
    with pytest.raises(ValidationError) as caught:
        bound.model_validate({"name": "a", "children": [{"name": "a", "children": [{"name": "b"}]}]})
    assert caught.value.errors()[0]["loc"] == ("children", 0, "children", 0, "name")


def test_defaults_and_aliases_survive_binding() -> None:
    class Model(BaseModel):
        """Kept."""

        name: Annotated[str, fs.In("names")] = Field(default="a", alias="Name", description="whose")
        tags: list[str] = Field(default_factory=lambda: ["t"])

    bound = fs.bind(Model, names=["a", "b"])
    assert bound.model_validate({}).model_dump(by_alias=True) == {"Name": "a", "tags": ["t"]}
    assert bound.model_validate({"Name": "b"}).name == "b"
    document: Any = fs.document(bound)
    assert document["description"] == "Kept."
    assert document["properties"]["Name"]["description"] == "whose"


def test_values_with_quotes_accents_and_emoji_come_out_as_declared() -> None:
    names = ["São Paulo", 'the "Rock"', "back\\slash", " 東京 ", "🏝️", "a\nb", "ﬁ"]

    class Place(BaseModel):
        city: Annotated[str, fs.In("cities")]

        @fs.relation("costs")
        def costs(self, prices: dict[str, int]) -> bool:
            return prices[self.city] <= 3

    bound = fs.bind(Place, cities=names, prices=dict.fromkeys(names, 3))
    document: Any = fs.document(bound)
    assert document["properties"]["city"]["enum"] == names
    fs.spec(bound)
    for name in names:
        assert (
            bound(
                city=name,
            ).city
            == name
        )


def test_generic_models_are_bound() -> None:
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class Box(BaseModel, Generic[T]):
        item: T
        name: Annotated[str, fs.In("names")]

    class Inner(BaseModel):
        kind: Annotated[str, fs.In("names")]

    bound = fs.bind(Box[Inner], names=["a"])
    with pytest.raises(ValidationError) as caught:
        bound.model_validate({"item": {"kind": "b"}, "name": "b"})
    assert [error["loc"] for error in caught.value.errors()] == [("item", "kind"), ("name",)]


def test_unbound_models_have_no_document() -> None:
    with pytest.raises(fs.BindingError) as caught:
        fs.document(Trip)
    assert {problem.place for problem in caught.value.problems} == {"cities", "stays", "flights"}


def test_binding_is_typed() -> None:
    bound: type[Trip] = fs.bind(Trip, Today(cities=["Rome"], stays={"Rome": 3}, flights=[]))
    trip: Trip = bound.model_validate(stops(("Rome", 1, 3)))
    assert trip.stops[0].leave == 3

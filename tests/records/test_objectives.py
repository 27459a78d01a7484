"""``maximize`` and ``minimize`` on classes, on methods and given to ``bind``."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs


class Today(BaseModel):
    worth: dict[str, int]
    most: int


class Visit(BaseModel):
    friend: Annotated[str, fs.In("worth")]


@fs.all_different("visits[*].friend")
class Day(BaseModel):
    visits: Annotated[list[Visit], Field(max_length=3)]
    rest: Annotated[int, Field(ge=0, le=5)]

    @fs.relation("not too many")
    def not_too_many(self, given: Today) -> bool:
        return fs.length(self.visits) <= given.most


TODAY = Today(worth={"Ann": 3, "Bo": 1}, most=2)


def goals(model: type[BaseModel]) -> Any:
    vendor: Any = fs.document(model)["x-factorspec"]
    return vendor.get("objective")


def test_levels_stand_in_reading_order_decorators_first() -> None:
    @fs.maximize(lambda day: fs.length(day.visits), gap=1, name="friends")
    @fs.minimize("rest", best_bound=True)
    class Busy(Day):
        @fs.maximize()
        def liked(self, given: Today) -> int:
            return fs.total(given.worth[v.friend] for v in self.visits)

    lookup = {"op": "lookup", "table": "worth", "key": [{"ref": "x1.friend"}]}
    assert goals(fs.bind(Busy, TODAY)) == [
        {"goal": "maximize", "expr": {"op": "len", "of": "$.visits"}, "gap": 1, "name": "friends"},
        {"goal": "minimize", "expr": {"ref": "$.rest"}, "best_bound": True},
        {
            "goal": "maximize",
            "expr": {"op": "sum", "in": "$.visits", "as": "x1", "body": lookup},
            "name": "liked",
        },
    ]
    assert Busy(visits=[Visit(friend="Ann"), Visit(friend="Bo")], rest=0).liked(TODAY) == 4


def test_a_subclass_that_declares_an_objective_replaces_the_one_it_inherits() -> None:
    @fs.minimize("rest")
    class Idle(Day):
        pass

    class Same(Idle):
        pass

    @fs.maximize("rest")
    class Other(Idle):
        pass

    found = [goals(fs.bind(model, TODAY)) for model in (Day, Same, Other)]
    assert found[0] is None
    assert [goal[0]["goal"] for goal in found[1:]] == ["minimize", "maximize"]


def test_bind_takes_levels_for_one_call() -> None:
    busy = fs.bind(Day, TODAY, fs.maximize(lambda day: fs.length(day.visits)), fs.minimize("rest"))
    assert [goal["goal"] for goal in goals(busy)] == ["maximize", "minimize"]
    assert goals(fs.bind(Day, TODAY)) is None
    record = {"visits": [{"friend": "Bo"}], "rest": 5}  # valid, if not the best
    assert isinstance(busy.model_validate(record), Day)


def test_the_objective_of_a_nested_model_does_not_count() -> None:
    @fs.maximize("n")
    class Inner(BaseModel):
        n: Annotated[int, Field(ge=0, le=3)]

    class Outer(BaseModel):
        inner: Inner

    assert goals(Inner) is not None
    assert goals(Outer) is None


def test_parameters_of_an_objective_must_be_bound() -> None:
    class Plain(BaseModel):
        n: Annotated[int, Field(ge=0, le=3)]

        @fs.minimize()
        def distance(self, given: Today) -> int:
            return fs.abs_(self.n - given.most)

    with pytest.raises(fs.BindingError, match="has parameters"):
        fs.document(Plain)
    assert goals(fs.bind(Plain, TODAY))[0]["expr"]["op"] == "abs"


@pytest.mark.parametrize(
    ("aim", "message"),
    [
        (fs.maximize("visit"), "visits"),
        (fs.maximize("visits"), "list"),
        (fs.maximize("visits[*].friend"), "many"),
        (fs.maximize(lambda day: day.rest == 3), "boolean"),
        (fs.maximize(lambda day: 3), "says nothing"),
        (fs.maximize(lambda day: day.visits[0].friend), "a text"),
        (fs.maximize(lambda day: len(day.visits)), "fs.length"),
        (fs.maximize(), "says not what"),
    ],
)
def test_an_expression_that_does_not_fit_is_refused_when_the_class_is_made(aim: Any, message: str) -> None:
    with pytest.raises(fs.DeclarationError) as caught:

        @aim
        class Wrong(Day):
            pass

    assert message in "; ".join(map(str, caught.value.problems))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fs.maximize("rest", gap=-1),
        lambda: fs.maximize("rest", gap=1.5),  # type: ignore[arg-type]
        lambda: fs.maximize("rest", gap=True),
        lambda: fs.maximize(3),  # type: ignore[arg-type]
        lambda: fs.maximize("rest", name=""),
        lambda: fs.maximize("rest")(3),
        lambda: fs.maximize("rest")(lambda day: day.rest),
        lambda: fs.maximize("rest")(int),
    ],
)
def test_odd_arguments_are_refused(wrong: Any) -> None:
    with pytest.raises(fs.DeclarationError, match="objective is wrong"):
        wrong()

"""Relations of generic, recursive, late, abstract and derived classes run as Pydantic validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Generic, Literal, TypeVar

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
)

import factorspec_sdk as fs
from tests.records.test_validation import Range, broken

T = TypeVar("T")
Small = Annotated[int, Field(ge=0, le=9)]


def test_generic_models() -> None:
    @fs.all_different("items[*]", name="distinct")
    class Box(BaseModel, Generic[T]):
        items: Annotated[list[T], Field(max_length=3)]

        @fs.relation("first is least")
        def first(self) -> bool:
            return fs.every(self.items[0] <= item for item in self.items)  # type: ignore[operator]

    assert [name for _, name in broken(Box[Small], {"items": [2, 2, 1]})] == ["distinct", "first is least"]
    assert Box[Small](items=[1, 2]).items == [1, 2]
    fs.spec(Box[Small])
    with pytest.raises(fs.UnsupportedField):
        Box[str]
    with pytest.raises(fs.UnsupportedField, match="parametrise"):
        fs.document(Box)


def test_recursive_models() -> None:
    @fs.le("low", "high")
    class Node(BaseModel):
        low: Small
        high: Small
        children: Annotated[list[Node], Field(max_length=2)] = []

        @fs.relation("children lie inside")
        def inside(self) -> bool:
            return fs.every((c.low >= self.low) & (c.high <= self.high) for c in self.children)

    leaf = {"low": 3, "high": 2}
    found = broken(Node, {"low": 0, "high": 9, "children": [{"low": 0, "high": 5, "children": [leaf]}]})
    assert found == [(("children", 0, "children", 0), "low ≤ high")]
    assert (
        broken(Node, {"low": 1, "high": 9, "children": [{"low": 0, "high": 5}]})[0][1]
        == "children lie inside"
    )


def test_forward_references_are_resolved_later() -> None:
    @fs.sum_of("parts[*].size", le=5)
    class Early(BaseModel):
        parts: Annotated[list[Late], Field(max_length=3)]

        @fs.relation("some part")
        def some(self) -> bool:
            return fs.some(p.size > 0 for p in self.parts)

    class Late(BaseModel):
        size: Small

    Early.model_rebuild()
    assert Early.model_validate({"parts": [{"size": 5}]}).parts[0].size == 5
    assert len(broken(Early, {"parts": [{"size": 6}]})) == 1
    fs.spec(Early)


def test_wrong_declarations_on_late_classes_are_found_when_they_are_rebuilt() -> None:
    @fs.sum_of("parts[*].sise", le=5)
    class Early(BaseModel):
        parts: list[Later]

    class Later(BaseModel):
        size: Small

    with pytest.raises(fs.UnknownField, match="did you mean 'size'"):
        Early.model_rebuild()


def test_deferred_building() -> None:
    @fs.le("low", "high")
    class Deferred(BaseModel):
        model_config = ConfigDict(defer_build=True)
        low: Small
        high: Small

    assert broken(Deferred, {"low": 2, "high": 1})


def test_abstract_bases_and_mixins() -> None:
    class Base(BaseModel, ABC):
        low: Small

        @abstractmethod
        def name(self) -> str: ...

        @fs.relation("low enough")
        def low_enough(self) -> bool:
            return self.low <= 5

    class Mixin(BaseModel):
        high: Small

        @fs.relation("high enough")
        def high_enough(self) -> bool:
            return self.high >= 5

    class Both(Base, Mixin):
        def name(self) -> str:
            return "both"

    assert sorted(name for _, name in broken(Both, {"low": 6, "high": 4})) == ["high enough", "low enough"]


def test_methods_are_overridden_by_their_method_name_or_relation_name() -> None:
    class Base(BaseModel):
        low: Small

        @fs.relation("at least one")
        def rule(self) -> bool:
            return self.low >= 1

    class ByMethod(Base):
        @fs.relation("at least two")
        def rule(self) -> bool:
            return self.low >= 2

    @fs.ge("low", 3, name="at least one")
    class ByName(Base):
        pass

    assert broken(ByMethod, {"low": 1}) == [((), "at least two")]
    assert broken(ByName, {"low": 2}) == [((), "at least one")]
    assert Base(low=1).low == 1


def test_a_subclass_may_change_the_type_of_a_field() -> None:
    class Narrow(Range):
        high: Literal[1, 2]

    assert broken(Narrow, {"low": 3, "high": 1})
    with pytest.raises(fs.DeclarationError, match="never compare"):

        class Text(Range):
            high: Literal["a"]  # type: ignore[assignment]

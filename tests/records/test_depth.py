"""``max_depth`` on classes: documents, relations at every node, validation."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from factorspec_sdk.errors import DeclarationError, UnsupportedKeyword
from factorspec_sdk.graph.reference import all_records
from tests.strangers.walking import prepared, written


class Task(BaseModel):
    days: Annotated[int, Field(ge=1, le=3)]
    parts: Annotated[list[Task], Field(max_length=2)]

    @fs.relation("parts are shorter")
    def shorter(self) -> bool:
        return fs.every(part.days < self.days for part in self.parts)


@fs.max_depth(3)
class Plan(BaseModel):
    root: Task


@fs.max_depth(2)
class Short(Task):
    pass


def depth(value: Any) -> int:
    return 1 + max(map(depth, value["parts"]), default=0)


def test_records_nest_as_deep_as_allowed_and_relations_hold_at_every_node() -> None:
    import json

    records = [json.loads(record.text)["root"] for record in all_records(fs.spec(Plan))]
    assert {depth(record) for record in records} == {1, 2, 3}
    assert all(part["days"] < task["days"] for task in records for part in task["parts"])
    ready = prepared(Plan)
    for seed in range(10):
        written(ready, None, seed)


def test_the_outermost_model_counts_itself() -> None:
    document = fs.document(Short)
    assert document["x-factorspec"]["max_depth"] == 2  # type: ignore[index,call-overload]
    deepest = max(
        depth(record.model_dump())
        for record in (Short.model_validate_json(r.text) for r in all_records(fs.spec(Short)))
    )
    assert deepest == 3  # Short holds Tasks, which nest twice


@fs.max_depth(2)
class Node(BaseModel):
    value: Annotated[int, Field(ge=0, le=2)]
    next: Node | None

    @fs.relation("falls")
    def falls(self) -> bool:
        return self.next.value < self.value  # type: ignore[union-attr]


def test_a_recursive_root() -> None:
    texts = [record.text for record in all_records(fs.spec(Node))]
    assert len(texts) == 3 + 3
    assert fs.spec(fs.bind(Node)) == fs.spec(Node)


def test_instances_are_validated() -> None:
    leaf = {"value": 0, "next": None}
    assert Node.model_validate({"value": 1, "next": leaf}).next is not None
    with pytest.raises(ValidationError, match=r"next\.next nests deeper than max_depth 2") as caught:
        Node.model_validate({"value": 2, "next": {"value": 1, "next": leaf}})
    assert caught.value.errors()[0]["type"] == "factorspec_max_depth"


def test_a_recursion_with_relations_needs_it() -> None:
    with pytest.raises(UnsupportedKeyword, match="max_depth"):
        fs.spec(Task)


@pytest.mark.parametrize("most", [0, -1, True, 1.5, "3", None, 61])
def test_it_takes_a_small_whole_number(most: Any) -> None:
    with pytest.raises(DeclarationError, match="whole number"):
        fs.max_depth(most)
    with pytest.raises(DeclarationError, match="no Pydantic model"):
        fs.max_depth(2)(int)  # type: ignore[type-var]

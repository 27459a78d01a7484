"""Null, absent and repeated fields for the kinds over values and lengths; sizes people meet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.checking import check_relation
from factorspec_sdk.relations.view import View
from tests.graph.documents import compiled, feasible, integer

Json = dict[str, Any]


def nullable(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(item: Json, least: int, most: int) -> Json:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


ANY = nullable({"enum": ["x", "y"]})


def test_all_equal_leaves_out_null() -> None:
    spec = compiled({"a": ANY, "b": ANY, "c": ANY}, [{"kind": "all_equal", "over": ["$.a", "$.b", "$.c"]}])
    null = 2
    assert feasible(spec, 0, null) == [[0, 1, 2], [0, 2], [0, 2]]
    assert feasible(spec, null, 1) == [[0, 1, 2], [0, 1, 2], [1, 2]]


def test_all_equal_of_fields_without_a_common_value_is_refused() -> None:
    over = {"kind": "all_equal", "over": ["$.a", "$.b"]}
    with pytest.raises(Unsatisfiable):
        compiled({"a": {"enum": ["x"]}, "b": {"enum": ["y", "z"]}}, [over])
    with pytest.raises(Unsatisfiable):
        compiled({"a": integer(1, 9), "b": integer(10, 10_000_000)}, [over])


def test_all_equal_takes_wide_numbers() -> None:
    wide = {"a": integer(0, 10_000_000), "b": integer(5, 9_000_000), "c": integer(7, 10_000_000)}
    spec = compiled(wide, [{"kind": "all_equal", "over": ["$.a", "$.b", "$.c"]}])
    assert feasible(spec, 100, 95) == [[7, 9_000_000], [95], [93]]


def test_minimum_leaves_out_null_and_is_unknown_without_numbers() -> None:
    number = nullable(integer(1, 3))  # null is the last index
    fields = {"a": number, "b": number, "m": integer(1, 3)}
    spec = compiled(fields, [{"kind": "minimum", "over": ["$.a", "$.b"], "value": {"ref": "$.m"}}])
    assert feasible(spec, 2, 3)[2] == [2]
    assert feasible(spec, 3, 3)[2] == [0, 1, 2]
    assert feasible(spec, 2, 0)[2] == [0]


def test_a_maximum_that_stands_before_its_fields() -> None:
    fields = {"m": integer(0, 9), "l": listed(integer(0, 9), 2, 2)}
    spec = compiled(fields, [{"kind": "maximum", "over": ["$.l[*]"], "value": {"ref": "$.m"}}])
    assert feasible(spec, 4, 2) == [[0, 9], [0, 1, 2, 3, 4], [4]]
    assert feasible(spec, 4, 4)[2] == [0, 1, 2, 3, 4]


def outcome(relation: Json, record: Json) -> str:
    adapter: TypeAdapter[Relation] = TypeAdapter(Relation)
    made = adapter.validate_json(json.dumps({"name": "r", **relation}))
    return check_relation(made, View(record, {})).outcome


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"a": [1], "b": None, "c": [2]}, "holds"),
        ({"a": [1], "c": [2, 3]}, "broken"),
        ({"a": None, "b": None}, "holds"),
        ({"a": [[1], None, [2]], "b": [1, 2, 3]}, "holds"),
        ({"a": [], "b": []}, "holds"),
    ],
)
def test_same_length_leaves_out_missing_lists(record: Json, expected: str) -> None:
    over = ["$.a", "$.b", "$.c"]
    assert outcome({"kind": "same_length", "over": over}, record) == expected


def test_same_length_of_many_lists() -> None:
    relation = {"kind": "same_length", "over": ["$.m", "$.m[*]"]}
    assert outcome(relation, {"m": [[1, 2], None, [3, 4]]}) == "broken"
    assert outcome(relation, {"m": [[1, 2], [3, 4]]}) == "holds"


def test_same_length_bounds_the_lists_before_they_are_unrolled() -> None:
    fields = {"a": listed(integer(0, 1), 0, 9), "b": listed(integer(0, 1), 2, 3)}
    spec = compiled(fields, [{"kind": "same_length", "over": ["$.a", "$.b"]}])
    assert sum(slot.path.startswith("a[") for slot in spec.program.slots) == 4  # three items, one may stop


def test_lists_that_can_never_be_equally_long_are_refused() -> None:
    fields = {"a": listed(integer(0, 1), 0, 2), "b": listed(integer(0, 1), 3, 5)}
    with pytest.raises(Unsatisfiable, match="r0"):
        compiled(fields, [{"kind": "same_length", "over": ["$.a", "$.b"]}])

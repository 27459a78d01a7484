"""The frozen list: which groups of JSON-Schema-Test-Suite are enforced. All others are refused."""

import json
from pathlib import Path

import pytest

from tests.conformance.json_schema_suite import FOLDER, judge
from tests.conformance.suite_cases import Case, Group, has_canonical_form, read_groups, wrapped
from tests.conformance.suite_engines import factorspec

ENFORCED = Path(__file__).with_name("json_schema_suite_enforced.json")


@pytest.fixture(scope="module")
def groups(shared_dir: Path) -> list[Group]:
    folder = shared_dir / FOLDER
    if not folder.is_dir():
        pytest.skip(f"no {FOLDER} in the shared data")
    return [group for group in read_groups(folder) if group.cases]


def test_listed_groups_are_right_and_all_others_refused(groups: list[Group]) -> None:
    enforced = json.loads(ENFORCED.read_text(encoding="utf-8"))
    names = [group.name for group in groups]
    assert len(set(names)) == len(names)
    found = {group.name: judge(group, factorspec) for group in groups}
    assert {name: o.details for name, o in found.items() if o.result == "wrong"} == {}
    assert [name for name, outcome in found.items() if outcome.result == "right"] == enforced


def test_a_wrapped_schema_keeps_its_local_references() -> None:
    schema = {
        "$schema": "s",
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#"}, "b": {"$id": "x", "$ref": "#/c"}},
        "properties": {"$ref": {"$ref": "other"}},
        "enum": [{"$ref": "#"}],
    }
    found = wrapped(schema)
    assert found["$schema"] == "s"
    assert found["properties"]["v"] == {
        "$ref": "#/properties/v/$defs/a",
        "$defs": {"a": {"$ref": "#/properties/v"}, "b": {"$id": "x", "$ref": "#/c"}},
        "properties": {"$ref": {"$ref": "other"}},
        "enum": [{"$ref": "#"}],
    }


def test_texts_are_in_every_order_of_keys() -> None:
    case = Case("", True, {"b": 1.0, "a": [{}, "é"]})
    assert set(case.texts()) == {'{"v": {"b": 1, "a": [{}, "é"]}}', '{"v": {"a": [{}, "é"], "b": 1}}'}


@pytest.mark.parametrize(
    ("data", "valid", "schema", "expected"),
    [
        (1e300, True, {}, False),
        (2**63, True, {}, False),
        (0.5, True, {}, True),
        ({"a": 1}, True, {"type": "object"}, False),
        ({"a": 1}, False, {"type": "object"}, True),
        ({"a": 1}, True, {"type": "object", "additionalProperties": True}, True),
        ({"a": 1}, True, {"type": "object", "properties": {"a": {}}}, True),
        ({"a": 1}, True, {}, True),
    ],
)
def test_which_instances_have_a_canonical_form(
    data: object, valid: bool, schema: object, expected: bool
) -> None:
    assert has_canonical_form(Case("", valid, data), schema) is expected

"""Relational keywords on records and bounded lists: relations with their pointers, exact by two oracles."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from factorspec_sdk.errors import EmptyDomain, Unsatisfiable, UnsupportedKeyword
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.relations import AllDifferent, Intension
from factorspec_sdk.wire import Spec, parse_document
from factorspec_sdk.wire.check import check_spec
from factorspec_sdk.wire.schema import ArrayNode, FreeNode
from tests.conformance.suite_cases import Case, wrapped
from tests.conformance.suite_engines import factorspec
from tests.wire.languages.records import RecordMaker

Json = Any
SMALL: Json = {"type": "integer", "minimum": 1, "maximum": 3}
TEXT: Json = {"type": "string"}


def spec_of(schema: Json) -> Spec:
    return parse_document(wrapped(schema))


def record(required: list[str] | None = None, /, **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": required or []}


def holds(spec: Spec, value: Json) -> bool:
    return all(verdict.outcome != "broken" for verdict in check_spec(spec, {"v": value}))


@pytest.mark.parametrize("part", range(6))
def test_random_records_mean_what_the_validator_means(part: int) -> None:
    """All values of the structure: reachable, and of unbroken relations, exactly where they are valid."""
    for seed in range(part * 25, part * 25 + 25):
        schema, values = RecordMaker(seed).schema()
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        walk = factorspec(wrapped(schema))
        try:
            spec = spec_of(schema)
        except EmptyDomain:
            spec = None
        # A keyword may rule out null, which the schema says then, and no relation.
        by_relations = spec is not None and '"null"]' not in json.dumps(schema)
        for value in values[:40]:
            valid = validator.is_valid(value)
            found = any(map(walk, Case("", True, value).texts()))
            assert found is valid, json.dumps([schema, value])
            if spec is not None and by_relations:
                if not isinstance(spec.root.properties[0].node, FreeNode):
                    assert holds(spec, value) is valid, json.dumps([schema, value])


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "array", "items": SMALL, "maxItems": 3, "uniqueItems": True},
         [[], [3, 1, 2]], [[1, 1], [2, 1, 2]]),
        ({"type": "array", "items": {"enum": [1, None]}, "maxItems": 3, "uniqueItems": True},
         [[None, 1]], [[None, None]]),
        ({"type": "array", "items": record(["a"], a=SMALL, b=SMALL), "maxItems": 2, "uniqueItems": True},
         [[{"a": 1}, {"a": 1, "b": 1}]], [[{"a": 1, "b": 2}] * 2, [{"a": 1}] * 2]),
        ({"type": "array", "items": SMALL, "maxItems": 4, "contains": {"const": 2}, "minContains": 2,
          "maxContains": 3}, [[2, 2], [2, 2, 1, 2]], [[2], [1, 1], [2, 2, 2, 2], []]),
        ({**record(a=SMALL, b=TEXT), "dependentRequired": {"b": ["a"]}},
         [{}, {"a": 1}, {"a": 1, "b": "x"}], [{"b": ""}]),
        ({**record(a=SMALL, b=SMALL), "if": {"properties": {"a": {"minimum": 2}}, "required": ["a"]},
          "then": {"required": ["b"]}, "else": {"properties": {"b": {"const": 1}}}},
         [{}, {"a": 1}, {"b": 1}, {"a": 3, "b": 3}], [{"a": 2}, {"b": 2}]),
        ({**record(a=SMALL, b=TEXT), "enum": [{"a": 1}, {"a": 2}]},
         [{"a": 1}], [{}, {"a": 3}, {"a": 1, "b": "x"}]),
        ({**record(a=SMALL, b=SMALL, c=SMALL), "minProperties": 1, "maxProperties": 2},
         [{"a": 1}, {"a": 1, "c": 1}], [{}, {"a": 1, "b": 1, "c": 1}]),
        ({"type": "array", "maxItems": 2,
          "items": {"type": "array", "items": SMALL, "maxItems": 2, "uniqueItems": True}},
         [[[1, 2], [1]], []], [[[1], [2, 2]]]),
        (record(["a"], a={"type": ["array", "null"], "items": SMALL, "maxItems": 2,
                       "contains": {"const": 1}}), [{"a": None}, {"a": [1]}], [{"a": []}, {"a": [2]}]),
        (record(a={**record(b=SMALL, c=SMALL), "required": ["b"], "not": {"required": ["c"]}}),
         [{}, {"a": {"b": 1}}], [{"a": {"b": 1, "c": 1}}]),
    ],
)  # fmt: skip
def test_keywords_are_relations(schema: Json, valid: list[Json], invalid: list[Json]) -> None:
    spec = spec_of(schema)
    assert not isinstance(spec.root.properties[0].node, FreeNode)
    for document in (wrapped(schema), spec.document):
        walk = factorspec(document)
        assert [value for value in valid if not any(map(walk, Case("", True, value).texts()))] == []
        assert [value for value in invalid if any(map(walk, Case("", True, value).texts()))] == []
    assert all(holds(spec, value) for value in valid) and not any(holds(spec, value) for value in invalid)


def test_relations_carry_the_pointer_of_their_keyword() -> None:
    colours = {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 2, "uniqueItems": True}
    document = {**record(["c"], c=colours, n=SMALL), "minProperties": 2}
    spec = parse_document(document)
    assert [
        (relation.name, place)
        for relation, place in zip(spec.root.relations, spec.root.relation_pointers, strict=True)
    ] == [
        ("minProperties at ", "/minProperties"),
        ("uniqueItems at /properties/c", "/properties/c/uniqueItems"),
    ]
    assert isinstance(spec.root.relations[0], Intension) and isinstance(spec.root.relations[1], AllDifferent)
    broken = [v for v in check_spec(spec, {"c": ["red", "red"], "n": 1}) if v.outcome == "broken"]
    assert [(v.name, v.explanation) for v in broken] == [
        ("uniqueItems at /properties/c", "c[0] and c[1] are both 'red', but must differ")
    ]


def test_a_conflict_names_the_keyword() -> None:
    schema = {"type": "array", "items": SMALL, "minItems": 4, "maxItems": 5, "uniqueItems": True}
    with pytest.raises(Unsatisfiable) as caught:
        compile_spec(spec_of(schema))
    assert list(caught.value.conflict) == ["uniqueItems at /properties/v"]
    assert caught.value.problems[0].place == "/properties/v/uniqueItems"


def test_declared_relations_stand_beside_them() -> None:
    document = {
        **record(["a", "b"], a=SMALL, b=SMALL),
        "not": {"properties": {"a": {"const": 1}}},
        "x-factorspec": {
            "version": 1,
            "relations": [{"name": "up", "kind": "ordered", "over": ["a", "b"], "op": "lt"}],
        },
    }
    walk = factorspec(document)
    found = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if walk(f'{{"a": {a}, "b": {b}}}')]
    assert found == [(2, 3)]


def test_what_is_not_finite_becomes_an_open_value() -> None:
    schema = {
        **record(a=TEXT, b=SMALL),
        "if": {"required": ["b"]},
        "then": {"properties": {"a": {"pattern": "^x"}}},
    }
    node = spec_of(schema).root.properties[0].node
    assert isinstance(node, FreeNode) and node.grammar is not None
    other = {**record(a=SMALL), "dependentRequired": {"a": ["z"]}}
    assert isinstance(spec_of(other).root.properties[0].node, FreeNode)


def test_lists_without_bound_and_lists_in_unions_keep_their_keywords() -> None:
    inner = {"type": "array", "items": SMALL, "maxItems": 2, "uniqueItems": True}
    walk = factorspec(wrapped({"type": "array", "items": inner}))
    assert walk('{"v": [[1, 2], [3]]}') and not walk('{"v": [[1, 1]]}')
    walk = factorspec(wrapped({"anyOf": [inner, TEXT]}))
    assert walk('{"v": [1, 2]}') and not walk('{"v": [1, 1]}')


def test_a_shared_definition_has_them_at_every_use() -> None:
    definition = {"type": "array", "items": SMALL, "maxItems": 2, "contains": {"const": 2}}
    document = {
        **record(["a", "b"], a={"$ref": "#/$defs/L"}, b={"$ref": "#/$defs/L"}),
        "$defs": {"L": definition},
    }
    spec = parse_document(document)
    assert [type(known.node) for known in spec.root.properties] == [ArrayNode, ArrayNode]
    assert len(spec.root.relations) == 2
    walk = factorspec(document)
    assert walk('{"a": [2], "b": [1, 2]}') and not walk('{"a": [2], "b": [1]}')


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({**record(a=TEXT), "not": {"properties": {"a": {"const": "x"}}}}, "/not"),
        ({**record(a=SMALL), "dependentRequired": {"a": ["b"]}}, "/dependentRequired"),
        (
            wrapped({**record(a={"type": "integer", "minimum": 0, "maximum": 10**6}),
                     "not": {"properties": {"a": {"multipleOf": 7}}}, "x-factorspec": {"relations": []}})
            | {"x-factorspec": {"version": 1}},
            "/properties/v/not",
        ),
    ],
)  # fmt: skip
def test_what_stays_a_record_is_refused_by_keyword(document: Json, place: str) -> None:
    with pytest.raises(UnsupportedKeyword) as caught:
        parse_document(document)
    assert [problem.place for problem in caught.value.problems] == [place]


def test_many_demands_of_one_keyword_stay_apart() -> None:
    names = [f"{letter}{at}" for at in range(40) for letter in "pq"]
    needed = {f"p{at}": [f"q{at}"] for at in range(40)}
    spec = spec_of({**record(**dict.fromkeys(names, SMALL)), "dependentRequired": needed})
    assert holds(spec, {"p3": 1, "q3": 1}) and not holds(spec, {"p3": 1, "q4": 1})


def test_a_keyword_that_asks_nothing_makes_no_relation() -> None:
    spec = parse_document({**record(["a"], a=SMALL), "minProperties": 1, "propertyNames": {"maxLength": 9}})
    assert spec.root.relations == ()

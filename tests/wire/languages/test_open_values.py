"""Open values against an independent validator: what can be written is what is valid."""

import json
import random
from typing import Any

import jsonschema
import pytest

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.wire import canonical_json, parse_document
from factorspec_sdk.wire.languages import grammar, list_rules, terms
from factorspec_sdk.wire.schema import FreeNode
from tests.conformance.suite_cases import Case, wrapped
from tests.conformance.suite_engines import Refused, factorspec
from tests.wire.languages.schemas import Maker

xgrammar = pytest.importorskip("xgrammar")


def reachable(schema: Any, value: Any) -> bool:
    return any(map(factorspec(wrapped(schema)), Case("", True, value).texts()))


def is_record(schema: Any) -> bool:
    """A record is closed, which JSON Schema's objects are not."""
    known = {"type", "properties", "required"}
    return isinstance(schema, bool) or (
        schema.keys() <= known and schema.get("type") in ("object", ["object"])
    )


@pytest.mark.parametrize("part", range(6))
def test_random_schemas_mean_what_the_validator_means(part: int) -> None:
    refused = 0
    for seed in range(part * 40, part * 40 + 40):
        maker = Maker(seed)
        schema = maker.schema()
        if is_record(schema):
            continue
        try:
            walk = factorspec(wrapped(schema))
        except Refused:
            refused += 1
            continue
        valid = jsonschema.Draft202012Validator(schema).is_valid
        for _ in range(20):
            value = maker.value()
            found = any(map(walk, Case("", True, value).texts()))
            assert found is valid(value), json.dumps([schema, value])
    assert refused < 8


@pytest.mark.parametrize("seed", range(30))
def test_random_walks_end_in_valid_records(seed: int) -> None:
    from factorspec_sdk.decoding import Decoder
    from factorspec_sdk.graph.compile import compile_spec
    from factorspec_sdk.testing import byte_vocabulary

    rng, schema = random.Random(seed), Maker(seed + 1000).schema()
    if is_record(schema):
        return
    try:
        compiled = compile_spec(parse_document(wrapped(schema)))
    except FactorspecError:
        return
    session = Decoder(compiled.program, compiled.feasibility, byte_vocabulary()).session(token_limit=120)
    while session.state == "open":
        session.commit([int(rng.choice(session.allowed().ids()))])
    record = json.loads(session.text)
    jsonschema.Draft202012Validator(wrapped(schema)).validate(record)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"const": {"a": [1, {"b": None}]}}, [{"a": [1, {"b": None}]}], [{"a": [1, {"b": 0}]}, {}, []]),
        ({"not": {"const": [1, 2]}}, [[1], [2, 1], [1, 2, 3], 1, {}], [[1, 2]]),
        ({"type": "array", "items": {"enum": [1, 2, None]}, "maxItems": 2, "uniqueItems": True},
         [[], [1, 2], [None, 1]], [[1, 1], [None, None], [3]]),
        ({"not": {"uniqueItems": True}, "items": {"enum": [1, {"a": 1, "b": 2}]}, "maxItems": 2},
         [[1, 1], [{"a": 1, "b": 2}] * 2], [[1], [1, {"a": 1, "b": 2}]]),
        ({"type": ["object", "null"], "additionalProperties": {"type": "integer"},
          "propertyNames": {"enum": ["x", "y"]}, "minProperties": 2},
         [{"x": 1, "y": 2}, None], [{"x": 1}, {"x": 1, "y": ""}, {"x": 1, "z": 2}]),
        ({"multipleOf": 0.01, "type": "number"}, [0.01, 4.02, 19.99, 3, -0.5], [0.001, 1.005]),
        ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer"}, [2, 3, 9], [6, 0, 5]),
        ({"format": "date", "pattern": "^2024"}, ["2024-02-29", 1], ["2023-02-28", "2024-02-30"]),
        ({"$ref": "#/$defs/n", "maximum": 4, "$defs": {"n": {"minimum": 2}}}, [2, 4, "x"], [1, 5]),
        ({"type": "object", "patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": False},
         [{}, {"n": 1, "nn": 2}], [{"n": ""}, {"x": 1}]),
        ({"additionalProperties": {"$ref": "#"}, "type": ["object", "integer"]},
         [1, {}, {"a": {"b": 2}}], [{"a": ""}, {"a": {"b": {"c": []}}}]),
        ({"unevaluatedProperties": False,
          "anyOf": [{"properties": {"a": True}}, {"properties": {"b": {"const": 1}}}]},
         [{"a": 0}, {"a": 0, "b": 1}, {"b": 1}], [{"c": 1}, {"a": 0, "b": 2}]),
    ],
)  # fmt: skip
def test_keywords_together(schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    assert [value for value in valid if not reachable(schema, value)] == []
    assert [value for value in invalid if reachable(schema, value)] == []


def test_properties_are_written_in_their_order_and_the_document_says_it() -> None:
    document = wrapped({"properties": {"b": {}, "a": {}}, "not": {"required": ["c"]}})
    spec = parse_document(document)
    assert json.dumps({"order": ["b", "a"]}, separators=(",", ":")) in canonical_json(spec.document)
    again = parse_document(spec.document)
    assert again.hash == spec.hash
    for known in (spec, again):
        walk = factorspec(known.document)
        assert walk('{"v": {"b": 1, "a": 2}}') and not walk('{"v": {"a": 2, "b": 1}}')


def test_an_open_list_of_open_values_is_open() -> None:
    node = parse_document(wrapped({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}))
    assert isinstance(node.root.properties[0].node, FreeNode)
    assert reachable({"type": "array", "items": {"type": ["integer", "string"]}}, [1, "x"] * 20)


def test_values_of_any_kind_share_one_grammar() -> None:
    many = {f"p{at}": {"title": str(at)} for at in range(1_000)}
    parts = parse_document({"type": "object", "properties": many}).root.properties
    assert len({known.node.grammar for known in parts if isinstance(known.node, FreeNode)}) == 1


def test_work_on_a_document_is_bounded() -> None:
    many = {f"p{at}": {"multipleOf": 2_001 + at} for at in range(300)}
    with pytest.raises(FactorspecError) as caught:
        parse_document({"type": "object", "properties": many})
    assert "too many to tell apart" in str(caught.value)


@pytest.mark.parametrize(
    ("module", "name", "most", "schema"),
    [
        (grammar, "MAX_RULES", 5, {"items": {"items": False}}),
        (grammar, "MAX_ALTERNATIVES", 5, {"items": {"items": False}}),
        (terms, "MAX_TERMS", 2, {"anyOf": [{"minItems": 1}, {"maxItems": 3}, {"items": {}}]}),
        (terms, "MAX_JOINS", 2, {"allOf": [{"anyOf": [{"minItems": 1}, {"maxItems": 3}]}] * 2}),
        (list_rules, "MAX_DISTINCT", 2, {"items": {"enum": [1, 2]}, "uniqueItems": True, "maxItems": 2}),
    ],
)
def test_sizes_are_bounded(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, most: int, schema: Any
) -> None:
    parse_document(wrapped(schema))
    monkeypatch.setattr(module, name, most)
    with pytest.raises(FactorspecError):
        parse_document(wrapped(schema))

"""Hostile documents: each meets a budget or a problem, in bounded time, and never a crash."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factorspec_sdk.errors import FactorspecError, RequestTooLarge
from factorspec_sdk.wire import Limits, parse_document
from tests.wire.kept import NAMES, kept

RANGE = {"type": "integer", "minimum": 1, "maximum": 9}
#: generous: the budgets bound the work, this only notices what grows out of them
DEADLINE_S = 20.0


@pytest.fixture(autouse=True)
def in_bounded_time() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < DEADLINE_S


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = RANGE
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def chain(length: int, *, width: int, last: Any = RANGE, **more: Any) -> dict[str, Any]:
    """Definitions that each refer to the next ``width`` times."""
    definitions: dict[str, Any] = {f"d{length}": last}
    for at in range(length):
        properties = {f"p{k}": {"$ref": f"#/$defs/d{at + 1}"} for k in range(width)}
        definitions[f"d{at}"] = {"type": "object", "properties": properties, "required": ["p0"], **more}
    return {"$defs": definitions, "$ref": "#/$defs/d0"}


def with_relations(relations: list[Any], **vendor: Any) -> dict[str, Any]:
    properties = {"n": RANGE, "ns": {"type": "array", "items": RANGE, "maxItems": 1_000}}
    return {
        "type": "object",
        "properties": properties,
        "x-factorspec": {"version": 1, "relations": relations, **vendor},
    }


def deep_expression(depth: int) -> dict[str, Any]:
    expr: dict[str, Any] = {"const": True}
    for _ in range(depth):
        expr = {"op": "not", "args": [expr]}
    return {"kind": "intension", "name": "x", "expr": expr}


TOO_LARGE: dict[str, Any] = {
    "bytes": json.dumps({"title": "x" * 2_000_000}),
    "bytes in a mapping": {"examples": ["x" * 90_000 for _ in range(20)]},
    "bytes in escapes": '{"title": "' + "\\u0041" * 300_000 + '"}',
    "a long text": {"title": "x" * 200_000},
    "a long key": {"x" * 1000: 1},
    "brackets": "[" * 500_000,
    "braces": '{"a":' * 100_000,
    "nested objects": nested(40),
    "nested lists": {"default": json.loads("[" * 80 + "]" * 80)},
    "many nodes": {"examples": [[] for _ in range(60_000)]},
    "references": chain(70, width=1),
    "rows": with_relations([], tables={"t": [[1]] * 100_001}),
    "relations": with_relations(
        [{"kind": "all_different", "name": str(i), "over": ["n"]} for i in range(2001)]
    ),
    "expressions": with_relations(
        [
            {
                "kind": "intension",
                "name": str(i),
                "expr": {"op": "and", "args": [{"const": True} for _ in range(200)]},
            }
            for i in range(150)
        ]
    ),
    "deep expressions": with_relations([deep_expression(70)]),
    "free parts": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/d0"}}},
        "$defs": chain(20, width=3)["$defs"],
    },
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_budgets_are_met_before_anything_grows(name: str) -> None:
    with pytest.raises(RequestTooLarge) as caught:
        parse_document(TOO_LARGE[name])
    assert len(caught.value.problems) == 1


def test_budgets_can_be_set() -> None:
    parse_document(nested(20), limits=Limits(depth=100))
    with pytest.raises(RequestTooLarge):
        parse_document(nested(20), limits=Limits(depth=10))


def test_shared_definitions_are_read_once() -> None:
    parse_document(chain(30, width=2))
    parse_document(chain(30, width=2, **{"x-factorspec": {}}) | {"x-factorspec": {"version": 1}})


def test_tables_around_shared_definitions_are_bounded() -> None:
    document = chain(30, width=2)
    for at in range(30):
        definition = document["$defs"][f"d{at}"]
        properties = {f"p{k}": {"$ref": f"#/$defs/e{at}{k}"} for k in range(2)}
        for k in range(2):
            document["$defs"][f"e{at}{k}"] = {
                "type": "object",
                "properties": {"next": {"$ref": f"#/$defs/d{at + 1}"}},
                "x-factorspec": {"tables": {"t": [[k]]}},
            }
        definition["properties"] = properties
    document["x-factorspec"] = {"version": 1}
    with pytest.raises(RequestTooLarge):
        parse_document(document)


def test_lookups_share_what_is_known_of_a_table() -> None:
    rows = [[i, i] for i in range(50_000)]
    lookup = {"op": "lookup", "table": "t", "key": [{"ref": "n"}]}
    expr = {"op": "eq", "args": [lookup, {"const": 1}]}
    relations = [
        {"kind": "intension", "name": f"r{k}", "expr": {"op": "and", "args": [expr] * 100}} for k in range(40)
    ]
    parse_document(with_relations(relations, tables={"t": rows}))


def test_many_misspelt_names_cost_no_more_than_few() -> None:
    properties = {f"property_{i}": RANGE for i in range(5000)}
    relations = [
        {"kind": "all_different", "name": str(i), "over": [f"propperty_{i}_{k}" for k in range(10)]}
        for i in range(1000)
    ]
    document = {
        "type": "object",
        "properties": properties,
        "x-factorspec": {"version": 1, "relations": relations},
    }
    with pytest.raises(FactorspecError) as caught:
        parse_document(document)
    assert caught.value.problems[-1].message == "and 9900 more problems"


def test_many_keys_that_stand_twice() -> None:
    text = "{" + ",".join(f'"{i}":1,"{i}":2' for i in range(30_000)) + "}"
    with pytest.raises(FactorspecError):
        parse_document(text)


def test_many_names_in_a_slide() -> None:
    slide = {
        "kind": "slide",
        "name": "x",
        "over": "ns",
        "as": [f"b{i}" for i in range(990)],
        "expr": {"const": True},
    }
    parse_document(with_relations([slide]))


@pytest.mark.parametrize(
    "text", ["null", "true", "1", '"x"', "[[]]", "{}", '{"x-factorspec": 1}', '{"$ref": 1}']
)
def test_small_odd_documents(text: str) -> None:
    with pytest.raises(FactorspecError):
        parse_document(text)


# -- random ------------------------------------------------------------------------------------------------

NAMES_OF_KEYS = """
    type properties required items enum const anyOf allOf $ref $defs minimum maximum multipleOf
    minItems maxItems minLength maxLength pattern format x-factorspec version order relations tables
    domain min max step kind name over expr op args ref key table in as body where if then value
    values index of weights additionalProperties default a b
"""
KEYS = st.sampled_from(NAMES_OF_KEYS.split())
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        [
            "object",
            "array",
            "string",
            "integer",
            "null",
            "#/$defs/Stop",
            "#/$defs/",
            "stops[*].city",
            "a.city",
            "$",
            "date",
            "^[a-z]$",
            "2026-05-01",
            "eq",
            "every",
            "lookup",
            "sum",
            "slide",
            "flights",
            "total",
        ]
    )
)
JSON = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), below, max_size=5)
    ),
    max_leaves=30,
)


def survives(document: Any) -> None:
    try:
        spec = parse_document(document)
    except FactorspecError as error:
        problems = error.problems
    else:
        assert parse_document(spec.document) == spec
        return
    assert problems
    assert all(problem.place == "" or problem.place.startswith("/") for problem in problems)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(JSON)
def test_no_json_value_crashes(document: Any) -> None:
    survives(document)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text() | st.binary())
def test_no_text_crashes(source: str | bytes) -> None:
    survives(source)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(NAMES), st.data())
def test_no_change_of_a_good_document_crashes(name: str, data: st.DataObject) -> None:
    document: Any = kept(name)
    for _ in range(data.draw(st.integers(1, 3))):
        document = _mutated(document, data)
    survives(document)


def _mutated(document: Any, data: st.DataObject) -> Any:
    places = list(_places(document, ()))
    path = data.draw(st.sampled_from(places))
    if not path:
        return data.draw(JSON)
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    match data.draw(st.sampled_from(["drop", "replace", "copy", "rename"])):
        case "drop":
            del holder[path[-1]]
        case "replace":
            holder[path[-1]] = data.draw(JSON)
        case "copy":
            other = data.draw(st.sampled_from(places))
            holder[path[-1]] = json.loads(json.dumps(_at(document, other)))
        case _ if isinstance(holder, dict):
            holder[data.draw(KEYS)] = holder.pop(path[-1])
        case _:
            holder.insert(0, holder[path[-1]])
    return document


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def _places(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield path
    steps = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for step, below in steps:
        yield from _places(below, (*path, step))

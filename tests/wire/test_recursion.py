"""Recursion: unbounded for the grammar library, or up to ``max_depth``, with relations at every node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError, EmptyDomain, FactorspecError, TooLarge, UnsupportedKeyword
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.reference import all_records
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.schema import FreeNode, NullableNode
from tests.differential.test_feasibility import compare_with_brute_force
from tests.wire.test_unions import integer, record

Json = dict[str, Any]
NODE: Json = {"$ref": "#/$defs/Node"}


def node(relation: Json | None = None, **below: Json) -> Json:
    made = record(value=integer(1, 3), **below)
    return made if relation is None else {**made, "x-factorspec": {"relations": [relation]}}


def document(definition: Json, depth: object = None, **more: Json) -> Json:
    vendor = {"version": 1} if depth is None else {"version": 1, "max_depth": depth}
    return {**record(tree=NODE), "$defs": {"Node": definition, **more}, "x-factorspec": vendor}


def less(one: str, other: str) -> Json:
    expr = {"op": "lt", "args": [{"ref": one}, {"ref": other}]}
    return {"name": "falls", "kind": "intension", "expr": expr}


CHAIN = node(next={"anyOf": [NODE, {"type": "null"}]})
FALLING = node(less("$.next.value", "$.value"), next={"anyOf": [NODE, {"type": "null"}]})
EACH = {"op": "every", "in": "$.below", "as": "b", "body": less("b.value", "$.value")["expr"]}
BUSH = node(
    {"name": "falls", "kind": "intension", "expr": EACH},
    below={"type": "array", "items": NODE, "maxItems": 2},
)


def depth_of(value: object) -> int:
    if isinstance(value, list):
        return max(map(depth_of, value), default=0)
    if not isinstance(value, dict):
        return 0
    return ("value" in value) + max(map(depth_of, value.values()))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("definition", [CHAIN, node(below={"type": "array", "items": NODE, "maxItems": 1})])
def test_records_nest_up_to_max_depth(definition: Json, depth: int) -> None:
    records = [json.loads(found.text) for found in all_records(parse_document(document(definition, depth)))]
    assert {depth_of(found) for found in records} == set(range(1, depth + 1))
    assert len(records) == sum(3**nested for nested in range(1, depth + 1))


def test_a_definition_that_the_root_repeats_counts_as_entered() -> None:
    """As Pydantic writes a recursive model: the root is written out, the definition stands beside it."""
    whole = {**CHAIN, "$defs": {"Node": CHAIN}, "x-factorspec": {"version": 1, "max_depth": 2}}
    records = [json.loads(found.text) for found in all_records(parse_document(whole))]
    assert {depth_of(found) for found in records} == {1, 2}
    reference = {**NODE, "$defs": {"Node": CHAIN}, "x-factorspec": {"version": 1, "max_depth": 2}}
    assert [json.loads(found.text) for found in all_records(parse_document(reference))] == records


@pytest.mark.parametrize("definition", [FALLING, BUSH])
def test_relations_of_a_recursive_definition_hold_at_every_node(definition: Json) -> None:
    for depth in (1, 2, 3):
        assert compare_with_brute_force(document(definition, depth)) > 0


def test_a_recursion_through_a_union_ends_by_the_other_branches() -> None:
    """An expression tree: numbers, and sums of two expressions."""
    expression = {
        "oneOf": [{"$ref": "#/$defs/Num"}, {"$ref": "#/$defs/Add"}],
        "discriminator": {"propertyName": "op", "mapping": {"num": "#/$defs/Num", "add": "#/$defs/Add"}},
    }
    definitions = {
        "Num": record(op={"const": "num"}, n=integer(1, 2)),
        "Add": record(op={"const": "add"}, left=expression, right=expression),
    }
    whole = {**record(e=expression), "$defs": definitions}
    counts = []
    for depth in (1, 2, 3):
        spec = parse_document({**whole, "x-factorspec": {"version": 1, "max_depth": depth}})
        counts.append(len(all_records(spec)))
    assert counts == [2 + 2 * 2, 2 + 6 * 6, 2 + 38 * 38]
    free: Any = parse_document(whole).root.properties[0].node
    assert isinstance(free.branches[1].properties[1].node.branches[1], FreeNode)


def test_definitions_that_lead_to_each_other_are_counted_one_by_one() -> None:
    one = record(value=integer(1, 1), two={"anyOf": [{"$ref": "#/$defs/Two"}, {"type": "null"}]})
    two = record(one={"anyOf": [NODE, {"type": "null"}]})
    records = all_records(parse_document(document(one, 2, Two=two)))
    texts = {found.text.count("value") for found in records}
    assert texts == {1, 2} and max(found.text.count("two") for found in records) == 2


@pytest.mark.parametrize(
    "definition", [node(next=NODE), node(next={"type": "array", "items": NODE, "minItems": 1, "maxItems": 2})]
)
def test_a_recursion_that_cannot_end_has_no_record(definition: Json) -> None:
    with pytest.raises(EmptyDomain, match="no record ends within max_depth"):
        parse_document(document(definition, 3))
    with pytest.raises(EmptyDomain, match="never ends"):
        parse_document(document(definition))


@pytest.mark.parametrize("depth", [0, -1, 61, True, 1.5, "2", None, [2], 10**30])
def test_max_depth_is_a_small_whole_number(depth: object) -> None:
    whole = document(CHAIN)
    whole["x-factorspec"]["max_depth"] = depth
    with pytest.raises(FactorspecError) as caught:
        parse_document(whole)
    assert caught.value.problems[0].place == "/x-factorspec/max_depth"


def test_max_depth_stands_at_the_root_only() -> None:
    whole = document({**CHAIN, "x-factorspec": {"max_depth": 2}}, 2)
    with pytest.raises(UnsupportedKeyword, match="at the root of a document only"):
        parse_document(whole)


def test_without_max_depth_a_recursion_is_free_and_relations_in_it_are_refused() -> None:
    tree = parse_document(document(CHAIN)).root.properties[0].node
    following = tree.properties[1].node  # type: ignore[union-attr]
    assert isinstance(following, NullableNode) and isinstance(following.inner, FreeNode)
    with pytest.raises(UnsupportedKeyword, match="max_depth") as caught:
        parse_document(document(FALLING))
    places = [problem.place for problem in caught.value.problems]
    assert places == [
        "/$defs/Node/x-factorspec/relations/0/expr/args/0/ref",
        "/$defs/Node/x-factorspec/relations/0",
    ]


def test_a_wrong_path_is_found_once_with_its_place() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(document(node(less("$.next.valu", "$.value"), next=CHAIN["properties"]["next"]), 3))
    assert [problem.hint for problem in caught.value.problems] == ["did you mean 'value'?"]


def test_a_tree_of_two_thousand_slots_compiles_and_a_wider_one_is_refused_with_its_place() -> None:
    def bush(width: int, depth: int) -> Json:
        below = {"type": "array", "items": NODE, "maxItems": width}
        return document(node({"name": "falls", "kind": "intension", "expr": EACH}, below=below), depth)

    assert len(compile_spec(parse_document(bush(10, 4))).program.slots) == 2 * 1111 - 1
    with pytest.raises(TooLarge) as caught:
        compile_spec(parse_document(bush(50, 4)))
    assert caught.value.problems[0].place.startswith("/$defs/Node/")
    assert "max_depth" in str(caught.value)


@pytest.mark.parametrize("depth", [1, 20, 60])
def test_deep_and_narrow_recursions_are_read_or_refused(depth: int) -> None:
    """Two references in each definition: read once per depth, not once per path."""
    wide = record(a={"anyOf": [NODE, {"type": "null"}]}, b={"anyOf": [NODE, {"type": "null"}]})
    if depth == 1:
        compile_spec(parse_document(document(wide, depth)))
        return
    with pytest.raises(FactorspecError) as caught:
        compile_spec(parse_document(document(wide, depth)))
    assert caught.value.code in ("too_large", "request_too_large")


def test_a_path_to_where_a_recursion_ends_names_nothing() -> None:
    """A definition that is only itself has no value; that is no fault of the path."""
    loop = {"Loop": {"$ref": "#/$defs/Loop"}, "Node": CHAIN}
    inner = {**record(y=integer(1, 2), x={"$ref": "#/$defs/Loop"}), "required": ["y"]}
    whole = {**record(a=inner), "$defs": loop}
    relation = {"name": "r", "kind": "intension", "expr": less("$.a.x", "$.a.y")["expr"]}
    spec = parse_document({**whole, "x-factorspec": {"version": 1, "max_depth": 2, "relations": [relation]}})
    assert [found.text for found in all_records(spec)] == ['{"a": {"y": 2}}', '{"a": {"y": 1}}']
    compile_spec(spec)

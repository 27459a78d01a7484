"""Unions as they are read: values, branches, what tells branches apart, where paths lead."""

from __future__ import annotations

from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError, FactorspecError, UnsupportedKeyword
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from factorspec_sdk.wire.fits import taken_branch
from factorspec_sdk.wire.schema import FiniteNode, NullableNode, SchemaNode, UnionNode

Json = dict[str, Any]
NULL: Json = {"type": "null"}


def integer(least: int, most: int) -> Json:
    return {"type": "integer", "minimum": least, "maximum": most}


def record(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


CARD = record(kind={"const": "card"}, number=integer(1, 9), limit=integer(1, 5))
CASH = record(kind={"const": "cash"}, number=integer(3, 12))
PAY = {"oneOf": [CARD, CASH]}


def node_of(schema: Json) -> SchemaNode:
    return parse_document(record(v=schema)).root.properties[0].node


def with_relation(schema: Json, expr: Json) -> Json:
    relation = {"name": "r", "kind": "intension", "expr": expr}
    return {**record(v=schema), "x-factorspec": {"version": 1, "relations": [relation]}}


def problems_of(document: Json) -> dict[str, str]:
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    return {problem.place: str(problem) for problem in caught.value.problems}


def equal(path: str, value: object) -> Json:
    return {"op": "eq", "args": [{"ref": path}, {"const": value}]}


def test_listed_values_of_all_branches_become_one_domain() -> None:
    node = node_of({"anyOf": [integer(2, 4), {"enum": ["a", 3]}, NULL, {"type": "boolean"}]})
    assert isinstance(node, FiniteNode)
    assert [node.domain.value(i) for i in range(len(node.domain))] == [2, 3, 4, "a", False, True, None]


def test_one_of_over_listed_values_leaves_those_of_one_list() -> None:
    node = node_of({"oneOf": [integer(1, 4), integer(3, 6), {"enum": ["a"]}]})
    assert isinstance(node, FiniteNode)
    assert [node.domain.value(i) for i in range(len(node.domain))] == [1, 2, 5, 6, "a"]


def test_null_joins_the_listed_values_or_stands_around_the_branches() -> None:
    joined = node_of({"anyOf": [{"enum": ["none"]}, CARD, NULL]})
    assert isinstance(joined, UnionNode)
    assert isinstance(joined.branches[0], FiniteNode) and joined.branches[0].domain.index(None) is not None
    around = node_of({"anyOf": [CARD, {"anyOf": [CASH, NULL]}]})
    assert isinstance(around, NullableNode) and isinstance(around.inner, UnionNode)


@pytest.mark.parametrize(
    "branches",
    [
        [CARD, CASH],
        [CARD, {"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        [record(a=integer(1, 2)), record(b=integer(1, 2))],
        [record(a=record(k={"const": 1})), record(a=record(k={"const": 2}))],
        [{"type": "array", "items": CARD, "minItems": 1, "maxItems": 2}, {**CARD}],
        [{"type": "array", "items": integer(1, 2), "minItems": 1, "maxItems": 2},
         {"type": "array", "items": CARD, "minItems": 1, "maxItems": 2}],
        [{"type": "array", "items": CARD, "maxItems": 1},
         {"type": "array", "items": CARD, "minItems": 2, "maxItems": 3}],
        [integer(0, 10**9), {"type": "boolean"}],
        [{"type": "number"}, {"enum": ["a"]}],
        [{"oneOf": [CARD, CASH]}, record(kind={"const": "cheque"})],
    ],
)  # fmt: skip
def test_one_of_is_enforced_where_branches_are_told_apart(branches: list[Json]) -> None:
    assert isinstance(node_of({"oneOf": branches}), UnionNode)


@pytest.mark.parametrize(
    "branches",
    [
        [{"type": "integer"}, {"type": "number"}],
        [{"type": "string"}, {"enum": ["auto"]}],
        [CARD, CARD],
        [{"anyOf": [CARD, NULL]}, {"anyOf": [CASH, NULL]}],
        [{"type": "array", "items": CARD, "maxItems": 2}, {"type": "array", "items": CASH, "maxItems": 2}],
        [{**CARD, "required": ["number"]}, {**CASH, "required": ["number"]}],
        [{"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "integer"}}],
    ],
)
def test_one_of_is_refused_where_two_branches_may_admit_a_value(branches: list[Json]) -> None:
    found = problems_of(record(v={"oneOf": branches}))
    assert list(found) == ["/properties/v/oneOf"]
    assert "two branches of oneOf may admit the same value" in found["/properties/v/oneOf"]


def test_one_of_over_wide_ranges_that_share_values_is_refused() -> None:
    found = problems_of(record(v={"oneOf": [integer(0, 10**9), integer(5, 10**8)]}))
    assert list(found) == ["/properties/v/oneOf"]


def test_any_of_may_share_values_where_no_relation_looks() -> None:
    shared = {"anyOf": [{"type": "string"}, {"enum": ["auto"]}]}
    assert isinstance(node_of(shared), UnionNode)
    found = problems_of(with_relation(shared, equal("$.v", "auto")))
    assert "whose branches may share values" in found["/x-factorspec/relations/0/expr/args/0/ref"]


def test_a_relation_in_a_branch_that_shares_values_is_refused() -> None:
    ruled = {**record(n=integer(1, 3)), "x-factorspec": {"relations": [
        {"name": "r", "kind": "intension", "expr": equal("$.n", 1)}
    ]}}  # fmt: skip
    document = {**record(v={"anyOf": [ruled, record(n=integer(2, 4))]}), "x-factorspec": {"version": 1}}
    found = problems_of(document)
    assert list(found) == ["/properties/v/anyOf/0/x-factorspec/relations/0"]


@pytest.mark.parametrize(
    ("discriminator", "place"),
    [
        ({}, "/properties/v/discriminator"),
        ("kind", "/properties/v/discriminator"),
        ({"propertyName": "number"}, "/properties/v/discriminator"),
        ({"propertyName": "kind", "mapping": {"card": "#/$defs/Card"}},
         "/properties/v/discriminator/mapping"),
        ({"propertyName": "kind", "mapping": {"card": "#/$defs/Cash", "cash": "#/$defs/Card"}},
         "/properties/v/discriminator/mapping"),
    ],
)  # fmt: skip
def test_a_discriminator_must_follow_from_the_branches(discriminator: object, place: str) -> None:
    references = [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}]
    schema = {"oneOf": references, "discriminator": discriminator}
    document = {**record(v=schema), "$defs": {"Card": CARD, "Cash": CASH}}
    assert list(problems_of(document)) == [place]
    mapping = {"card": "#/$defs/Card", "cash": "#/$defs/Cash"}
    document["properties"]["v"]["discriminator"] = {"propertyName": "kind", "mapping": mapping}
    assert isinstance(parse_document(document).root.properties[0].node, UnionNode)


def test_paths_lead_through_the_branches_that_have_the_field() -> None:
    parse_document(with_relation(PAY, {"op": "le", "args": [{"ref": "$.v.number"}, {"ref": "$.v.limit"}]}))
    found = problems_of(with_relation(PAY, equal("$.v.numbr", 1)))
    (text,) = found.values()
    assert "no branch of '$.v' has the field 'numbr'" in text and "did you mean 'number'?" in text
    found = problems_of(with_relation({"anyOf": [CARD, integer(1, 3)]}, equal("$.v[0]", 1)))
    assert "is a value or an object, not a list" in next(iter(found.values()))


def test_a_list_in_several_branches_is_refused_where_one_is_needed() -> None:
    numbers = {"type": "array", "items": integer(1, 3), "maxItems": 2}
    one, two = record(kind={"const": 1}, ns=numbers), record(kind={"const": 2}, ns=numbers)
    length = {"op": "eq", "args": [{"op": "len", "of": "$.v.ns"}, {"const": 1}]}
    found = problems_of(with_relation({"anyOf": [one, two]}, length))
    assert "this names lists in several branches of a union" in next(iter(found.values()))
    parse_document(with_relation({"anyOf": [one, record(kind={"const": 2})]}, length))


def test_free_text_in_a_branch_is_no_value() -> None:
    with pytest.raises(UnsupportedKeyword, match="free text has no finite domain"):
        parse_document(with_relation({"anyOf": [integer(1, 3), {"type": "string"}]}, equal("$.v", 1)))


@pytest.mark.parametrize("value", [[], {}, None, 1, "x", [1, None], {"propertyName": []}])
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "discriminator"])
def test_unions_of_anything_are_refused(keyword: str, value: object) -> None:
    with pytest.raises(FactorspecError) as caught:
        parse_document(record(v={"oneOf": [CARD, CASH], keyword: value}))
    assert all(problem.place.startswith("/properties/v") for problem in caught.value.problems)


def test_relations_of_a_branch_hold_where_it_is_taken() -> None:
    below = {"op": "lt", "args": [{"ref": "$.limit"}, {"ref": "$.number"}]}
    relation = {"name": "r", "kind": "intension", "expr": below}
    ruled = {**CARD, "x-factorspec": {"relations": [relation]}}
    spec = parse_document({**record(v={"anyOf": [CASH, ruled]}), "x-factorspec": {"version": 1}})
    assert check_spec(spec, {"v": {"kind": "cash", "number": 3}}) == []
    broken = check_spec(spec, {"v": {"kind": "card", "number": 2, "limit": 2}})
    assert [(verdict.name, verdict.outcome) for verdict in broken] == [("r", "broken")]


def test_the_taken_branch_is_found_through_parts_for_the_grammar_library() -> None:
    """Branches are told apart below a recursion and below a list of any length."""
    tree = {"anyOf": [NULL, {"$ref": "#/$defs/Tree"}]}
    document = {
        **record(v={"oneOf": [record(t={"$ref": "#/$defs/Tree"}), record(t=record(k={"const": 2}))]}),
        "$defs": {"Tree": record(k={"const": 1}, left=tree, right=tree)},
    }
    node = parse_document(document).root.properties[0].node
    assert isinstance(node, UnionNode)
    leaf = {"k": 1, "left": None, "right": None}
    assert taken_branch(node, {"t": {**leaf, "left": leaf}}) is node.branches[0]
    assert taken_branch(node, {"t": {"k": 2}}) is node.branches[1]
    assert taken_branch(node, {"t": {**leaf, "left": {"k": 2}}}) is None

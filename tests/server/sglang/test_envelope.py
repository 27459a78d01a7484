"""Which schemas are written by sessions, and how a request's options travel with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError
from factorspec_server.sglang.envelope import Envelope, RequestOptions, asks_for_relations, open_envelope

PLAIN: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
RELATIONS: dict[str, Any] = {**PLAIN, "x-factorspec": {"version": 1}}


@pytest.mark.parametrize(
    "schema",
    [
        {"uniqueItems": True},
        {"if": {}, "then": {}},
        {"not": {"const": 1}},
        {"contains": {"const": 1}},
        {"dependentRequired": {"a": ["b"]}},
        {"x-factorspec": {"domain": {"places": 2}}},
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        lambda schema: schema,
        lambda schema: {"properties": {"a": schema}},
        lambda schema: {"items": schema},
        lambda schema: {"prefixItems": [schema]},
        lambda schema: {"$defs": {"A": schema}},
        lambda schema: {"anyOf": [{"type": "null"}, {"additionalProperties": schema}]},
    ],
)
def test_keywords_that_xgrammar_would_pass_over_are_found_anywhere(schema: Any, around: Any) -> None:
    document = around(schema)
    assert asks_for_relations(document)
    envelope = open_envelope(json.dumps(document))
    assert envelope is not None
    assert envelope.document == document


@pytest.mark.parametrize(
    "schema",
    [
        PLAIN,
        {"uniqueItems": False},
        {"properties": {"not": {"type": "string"}, "x-factorspec": {"type": "null"}, "if": True}},
        {"enum": ["uniqueItems", {"not": 1}]},
        {"default": {"x-factorspec": 1}, "const": {"if": 1}},
    ],
)
def test_other_schemas_are_left_to_xgrammar(schema: Any) -> None:
    assert open_envelope(json.dumps(schema)) is None


@pytest.mark.parametrize("text", ['"x-factorspec"', '["not"]', '{"not": ', "$$ANY$$", "[" * 100_000])
def test_what_is_no_json_object_is_left_to_xgrammar(text: str) -> None:
    assert open_envelope(text) is None


def test_options_travel_with_the_document_and_leave_it_as_it_was() -> None:
    options = RequestOptions(id="7", token_limit=12, on_budget="abort")
    sent = json.dumps(Envelope(RELATIONS, options).as_document())
    assert open_envelope(sent) == Envelope(RELATIONS, options)
    assert json.loads(sent).keys() - RELATIONS.keys() == {"x-factorspec-request"}


def test_a_document_without_options_is_sent_as_it_is() -> None:
    assert Envelope(RELATIONS).as_document() is RELATIONS


def test_a_schema_without_relations_has_a_session_where_options_are_given() -> None:
    options = RequestOptions(token_limit=5)
    assert open_envelope(json.dumps(Envelope(PLAIN, options).as_document())) == Envelope(PLAIN, options)


@pytest.mark.parametrize("options", [{"token_limit": 0}, {"limit": 3}, [], {"on_budget": "stop"}])
def test_unknown_options_are_refused_with_their_place(options: Any) -> None:
    with pytest.raises(DocumentError) as caught:
        open_envelope(json.dumps({**RELATIONS, "x-factorspec-request": options or [1]}))
    assert all(problem.place.startswith("/x-factorspec-request") for problem in caught.value.problems)

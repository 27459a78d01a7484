"""Lengths of free texts in relations: declared on models, refused with a place, explained, repaired."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from factorspec_sdk.errors import FactorspecError, UnsupportedKeyword
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.wire import parse_document
from factorspec_server.commands.next_slot import Strayed, next_positions


@fs.intension(lambda r: fs.length(r.summary) <= r.limit, name="short")
@fs.intension(lambda r: fs.length(r.title) == fs.length(r.summary) // 2, name="half")
class Page(BaseModel):
    limit: Literal[4, 6, 9]
    summary: Annotated[str, Field(min_length=2, max_length=8)]
    title: Annotated[str, Field(max_length=20)]


def test_the_meaning_on_instances_counts_characters() -> None:
    assert Page.model_validate({"limit": 4, "summary": '😀é\n"', "title": "👍x"}).title == "👍x"
    with pytest.raises(ValidationError, match="short"):
        Page(limit=4, summary="abcde", title="ab")
    with pytest.raises(ValidationError, match="half"):
        Page(limit=9, summary="abcde", title="abc")


def test_the_nearest_record_keeps_texts_of_a_length_that_fits() -> None:
    whole = {"limit": 6, "summary": "abcdef", "title": "abc"}
    assert fs.nearest(Page, whole).record == whole
    found = fs.nearest(Page, {"limit": 4, "summary": "abcdef", "title": "abc"})
    assert found.proven
    assert [change.path for change in found.changes] == ["limit"]
    found = fs.nearest(Page, {"limit": 9, "summary": "abcdef", "title": "abcdef"})
    assert found.record == {"limit": 9, "summary": "abcdef", "title": "abc"}
    found = fs.nearest(Page, {"limit": 6, "summary": "abcdef" * 4, "title": "abc"})
    assert found.record == {"limit": 6, "summary": "abcdef", "title": "abc"}


def test_a_text_that_is_too_long_keeps_as_much_as_it_may() -> None:
    text = {"type": "string", "minLength": 2, "maxLength": 9}
    spec = parse_document(document(text))
    assert fs.nearest(spec, {"t": "a much longer text"}).record == {"t": "a m"}
    assert fs.nearest(spec, {"t": "a"}).record == {"t": "a?"}


def test_a_text_that_a_relation_rules_out_is_explained() -> None:
    answer = fs.why_not(Page, {"limit": 4}, "summary", "abcde")
    assert answer.allowed is False
    assert answer.relations == ("short",)
    assert fs.why_not(Page, {"limit": 4}, "summary", "abcd").allowed


def document(text: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
    length = {"op": "le", "args": [{"op": "len", "of": "$.t"}, {"const": 3}]}
    relations = [{"kind": "intension", "name": "short", "expr": length}, *more]
    vendor = {"version": 1, "relations": relations, "tables": {"given": [["abc"]]}}
    return {"type": "object", "properties": {"t": text}, "required": ["t"], "x-factorspec": vendor}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"type": "string"}, "up to 4096 characters"),
        ({"type": "string", "maxLength": 4097}, "up to 4096 characters"),
        ({"type": "string", "pattern": "^a*$"}, "rules of its own"),
        ({"type": "string", "format": "uuid"}, "rules of its own"),
        (
            {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "enum": [1]}]},
            "a list or a text",
        ),
    ],
)
def test_refused_with_a_place(text: dict[str, Any], message: str) -> None:
    with pytest.raises(FactorspecError) as caught:
        parse_document(document(text))
    assert message in str(caught.value)
    assert caught.value.problems[0].place == "/x-factorspec/relations/0/expr/args/0/of"


def test_the_length_of_a_piece_of_given_texts_is_refused() -> None:
    quote = {"kind": "substring_of", "name": "quote", "over": ["$.t"], "table": "given"}
    spec = parse_document(document({"type": "string", "maxLength": 9}, quote))
    with pytest.raises(UnsupportedKeyword, match="relations cannot read its length"):
        compile_spec(spec)


def test_where_a_text_ends_in_the_layout() -> None:
    compiled = compile_spec(parse_document(document({"type": "string", "maxLength": 9})))
    assert not isinstance(next_positions(compiled, '{"t": "abc"}'), Strayed)
    strayed = next_positions(compiled, '{"t": "abcd"}')
    assert isinstance(strayed, Strayed)
    assert strayed.expected == ("a feasible length(t); 4 leads to no valid record",)

"""Patterns and formats beside minLength and maxLength: which are taken, and which have no text."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from factorspec_sdk.errors import EmptyDomain, UnsupportedKeyword
from factorspec_sdk.wire.document import parse_document
from factorspec_sdk.wire.languages.lengths import lengths_of
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.schema import TextNode


def node_of(**schema: Any) -> object:
    document = {
        "type": "object",
        "properties": {"a": {"type": "string", **schema}},
        "required": ["a"],
        "additionalProperties": False,
        "x-factorspec": {"version": 1},
    }
    return parse_document(document).root.properties[0].node


@pytest.mark.parametrize(
    "pattern", ["^(ab)*$", "^(aa|bbb)*$", "^a{2,5}$", "^(aaa|bb)*a?$", "^a{7}(bbbb)*$|^b{3}$", "^[ab]*$"]
)
def test_lengths_are_those_of_all_texts(pattern: str) -> None:
    automaton = search(pattern)
    there = {n for n in range(13) if any(automaton.holds("".join(t)) for t in product("ab", repeat=n))}
    for most in (None, 12, 30):
        lengths = lengths_of(automaton, most)
        assert {n for n in range(13) if lengths.row(n) & 1} == there
        for least in range(13):
            for upto in range(least, 13):
                assert lengths.some(least, upto) == any(least <= n <= upto for n in there)
    endless = lengths_of(automaton, None)
    assert endless.some(1_000, None) == any(endless.row(n) & 1 for n in range(1_000, 1_100))


def test_lengths_far_out_are_told_exactly() -> None:
    for most in (None, 100_000):
        lengths = lengths_of(search("^(ab)*$"), most)
        assert lengths.some(99_999, 100_000)
        assert not lengths.some(99_999, 99_999)
        assert lengths_of(search("^(aa|bbb)*$"), most).some(99_999, 99_999)


def test_bounds_stand_beside_patterns_and_formats() -> None:
    for schema in (
        {"pattern": "^[a-z ]*$", "maxLength": 100_000},
        {"pattern": "x", "minLength": 3},
        {"format": "uri", "maxLength": 2_000},
        {"format": "date-time", "minLength": 20},
        {"pattern": "^h", "format": "uri", "maxLength": 90},
    ):
        node = node_of(**schema)
        assert isinstance(node, TextNode)
        assert (node.min_length, node.max_length) == (schema.get("minLength", 0), schema.get("maxLength"))


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(ab)*$", "minLength": 99_999, "maxLength": 99_999},
        {"pattern": "^a{3}$", "maxLength": 2},
        {"pattern": "^a{3}$", "minLength": 4},
        {"format": "uuid", "maxLength": 35},
        {"pattern": "^a", "format": "date", "maxLength": 10},
        {"pattern": "a", "minLength": 3, "maxLength": 2},
    ],
)
def test_bounds_that_no_text_keeps_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(EmptyDomain, match="no text of"):
        node_of(**schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "(?=a)", "maxLength": 9},
        {"format": "email", "maxLength": 9},
        {"pattern": "a", "maxLength": 100_001},
        {"pattern": "a{900}b{900}c{900}d{900}", "maxLength": 9},
        {"pattern": "^(" + "|".join(f"{chr(97 + n)}({'x' * n})*" for n in (2, 3, 5, 7, 11, 13, 17)) + ")$",
         "minLength": 9},
    ],
)  # fmt: skip
def test_what_cannot_be_enforced_is_refused_by_name(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedKeyword):
        node_of(**schema)


def test_large_bounds_inside_unbounded_lists_are_refused_by_name() -> None:
    items = {"type": "string", "maxLength": 100_000}
    document = {"type": "object", "properties": {"a": {"type": "array", "items": items}}, "required": ["a"]}
    with pytest.raises(UnsupportedKeyword, match="above 1000 characters in a list without maxItems"):
        parse_document({**document, "x-factorspec": {"version": 1}})
    items["maxLength"] = 1_000
    parse_document({**document, "x-factorspec": {"version": 1}})

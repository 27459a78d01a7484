"""Vendor fields of a request: where they belong, and what they need."""

from __future__ import annotations

from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError, UnsupportedKeyword
from factorspec_server.http.chat_request import read_chat_request

PLAIN: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
SCHEMA: dict[str, Any] = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("name", "value"), [("canonical_text", True), ("on_budget", "abort"), ("origins", True)]
)
def test_a_vendor_field_at_the_top_is_told_where_it_belongs(name: str, value: str | bool) -> None:
    with pytest.raises(UnsupportedKeyword) as caught:
        read_chat_request(PLAIN | {name: value})
    (problem,) = caught.value.problems
    assert (problem.place, problem.hint) == (f"/{name}", f"It belongs to /factorspec/{name}")


def test_a_field_that_nobody_knows_has_no_hint() -> None:
    with pytest.raises(UnsupportedKeyword) as caught:
        read_chat_request({**PLAIN, "canonical": True})
    assert [problem.hint for problem in caught.value.problems] == [None]


def test_canonical_text_needs_a_schema() -> None:
    wishes: dict[str, Any] = {"factorspec": {"canonical_text": True}}
    with pytest.raises(DocumentError, match="refused rather than ignored") as caught:
        read_chat_request({**PLAIN, **wishes})
    assert caught.value.place == "/factorspec/canonical_text"
    assert read_chat_request({**PLAIN, **wishes, "response_format": SCHEMA}).factorspec.canonical_text

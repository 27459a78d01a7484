"""Refusals cross SGLang as one text."""

from __future__ import annotations

import pytest

from factorspec_sdk.errors import DocumentError, Problem, TokenLimitTooSmall, Unsatisfiable
from factorspec_server.http.error_body import error_body
from factorspec_server.sglang.refusals import read_refusal, refusal_text

AT = "/response_format/json_schema/schema"
ERRORS = [
    DocumentError("no", [Problem("/properties/a", "is odd", "3", "write 4"), Problem("", "at the root")]),
    DocumentError("no", [Problem("stops[1].city", "a field's path")]),
    Unsatisfiable("none", [Problem("/x-factorspec/relations/0", "s")], conflict=("s",), minimal=True),
]


@pytest.mark.parametrize("error", ERRORS)
def test_the_answer_is_that_of_the_embedded_engine(error: DocumentError) -> None:
    text = f"Failed to compile json grammar: {refusal_text(error)}"
    assert read_refusal(text, AT) == (400, error_body(error, schema_pointer=AT))


def test_people_read_a_sentence_first() -> None:
    assert refusal_text(ERRORS[1]).startswith(f"{ERRORS[1]} [{ERRORS[1].code}]\n")


def test_an_error_without_places_is_about_the_schema() -> None:
    read = read_refusal(refusal_text(TokenLimitTooSmall("too small", token_limit=3, shortest=9)), AT)
    assert read is not None
    error = read[1]["error"]
    assert isinstance(error, dict)
    assert (error["param"], error["token_limit"], error["shortest"]) == (AT, 3, 9)


@pytest.mark.parametrize(
    "text", ["", "Failed", "x\nfactorspec: {", "x\nfactorspec: 3", 'x\nfactorspec: {"status": 1}']
)
def test_other_texts_are_none_of_ours(text: str) -> None:
    assert read_refusal(text, AT) is None

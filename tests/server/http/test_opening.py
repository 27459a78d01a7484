"""Sessions opened from JSON documents alone are those that the embedded server opens for the request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import DocumentError, TokenLimitTooSmall
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.http.answer_wish import AnswerWish, Form
from factorspec_server.http.call_format import CallFormat
from factorspec_server.http.chat_request import read_chat_request
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.opening import SessionOpener, SessionOptions
from tests.server.http.calling import TOOLS, vocabulary_of


class Words:
    """What a tokenizer says of its ids."""

    def __init__(self) -> None:
        self.vocabulary = vocabulary_of("smollm2")
        self.num_tokens = self.vocabulary.logit_width
        self.end_ids = self.vocabulary.end_ids

    def decode(self, token_ids: Sequence[int]) -> str:
        return self.vocabulary.decode(token_ids, errors="replace")


@pytest.fixture(scope="module")
def opener() -> SessionOpener:
    words = Words()
    canonical = Canonical(words.vocabulary)
    return SessionOpener(canonical, words, Compiler(canonical, max_entries=50, max_bytes=1 << 30))


def wish_of(**fields: Any) -> AnswerWish:
    """As it comes from another process."""
    tools = [{"type": "function", "function": {"name": n, "parameters": d}} for n, d in TOOLS.items()]
    body = {"model": "m", "messages": [{"role": "user", "content": "Go"}], "tools": tools} | fields
    wish = AnswerWish.of(read_chat_request(body), CallFormat(), 4)
    return AnswerWish.model_validate(json.loads(json.dumps(wish.model_dump())))


def test_a_document_opens_a_record(opener: SessionOpener) -> None:
    found = opener.open(TOOLS["later"], None, SessionOptions())
    assert isinstance(found.session, Session)
    assert opener.open(TOOLS["later"], None, SessionOptions()).was_cached


@pytest.mark.parametrize(
    ("fields", "text", "most_calls", "starts"),
    [
        ({}, True, 4, ""),
        ({"tool_choice": "auto", "parallel_tool_calls": False}, True, 1, ""),
        ({"tool_choice": "required"}, False, 4, "<tool_call>"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "away"}}},
            False,
            4,
            '<tool_call>\n{"name": "away"',
        ),
    ],
)
def test_every_choice_of_tools(
    opener: SessionOpener, fields: dict[str, Any], text: bool, most_calls: int, starts: str
) -> None:
    found = opener.open({}, wish_of(**fields), SessionOptions(token_limit=200))
    session = found.session
    assert isinstance(session, AnswerSession)
    assert (session.rules.text, session.rules.most_calls) == (text, most_calls)
    assert session.rules.cuts_text
    session.commit(session.plan().tokens)
    assert session.text.startswith(starts)


def test_a_record_or_a_call_or_a_refusal(opener: SessionOpener) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": TOOLS["later"]}}
    wish = wish_of(response_format=wanted, factorspec={"refusal": True})
    session = opener.open({}, wish, SessionOptions(token_limit=200)).session
    assert isinstance(session, AnswerSession)
    assert len(session.rules.records) == 2
    forced = wish_of(response_format=wanted, tool_choice="required")
    session = opener.open({}, forced, SessionOptions(token_limit=200)).session
    assert isinstance(session, AnswerSession)
    assert not session.rules.records


def test_the_limit_is_raised_to_what_the_shortest_answer_needs(opener: SessionOpener) -> None:
    wish = wish_of(tool_choice="required")
    with pytest.raises(TokenLimitTooSmall):
        opener.open({}, wish, SessionOptions(token_limit=3))
    session = opener.open({}, wish, SessionOptions(token_limit=3, most_tokens=90)).session
    assert session.token_limit == 90


def test_what_is_wrong_in_a_tool_has_a_place_in_the_request(opener: SessionOpener) -> None:
    wrong = {"type": "object", "x-factorspec": {"version": 1, "relations": [{"kind": "none"}]}}
    wish = wish_of()
    broken = wish.model_copy(
        update={"tools": [*wish.tools, wish.tools[0].model_copy(update={"document": wrong})]}
    )
    with pytest.raises(DocumentError) as caught:
        opener.open({}, broken, SessionOptions(token_limit=90))
    assert caught.value.problems[0].place.startswith("/tools/3/function/parameters/x-factorspec")


def test_answers_that_may_be_several_have_a_limit(opener: SessionOpener) -> None:
    with pytest.raises(DocumentError, match="token_limit"):
        opener.open({}, wish_of(), SessionOptions())


@pytest.mark.parametrize(
    "wrong",
    [
        {"tools": [{"name": "a"}]},
        {"tools": [{"name": "a", "document": {}}] * 129},
        {"more": 1},
        {"most_calls": 0},
        {"form": {"opener": "x" * 1000}},
    ],
)
def test_wishes_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AnswerWish.model_validate(wrong)


def test_forms_of_calls_are_told(opener: SessionOpener) -> None:
    form = Form(
        opener="[CALL]", before_name='{"name": ', before_arguments=', "args": ', closer="}", between=" "
    )
    wish = wish_of(tool_choice="required").model_copy(update={"form": form})
    session = opener.open({}, wish, SessionOptions(token_limit=200)).session
    session.commit(session.plan().tokens)
    assert session.text.startswith('[CALL]{"name": "')

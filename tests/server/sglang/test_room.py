"""A session is told how many tokens its request has room for."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_server.http.answer_wish import AnswerWish
from factorspec_server.sglang.envelope import Envelope, RequestOptions, open_envelope
from factorspec_server.sglang.envelopes import Envelopes
from factorspec_server.sglang.room import room_told, with_room

DOCUMENT: dict[str, Any] = {"type": "object", "properties": {}, "x-factorspec": {"version": 1}}


def sent(**options: Any) -> str:
    return json.dumps(Envelope(DOCUMENT, RequestOptions(**options)).as_document())


@pytest.mark.parametrize(
    ("options", "most", "found"),
    [
        ({"id": "r"}, 12, 12),
        ({"origins": True}, 12, 12),
        ({"token_limit": 9}, 12, 9),
        ({"token_limit": 90}, 12, 12),
    ],
)
def test_the_least_limit_counts(options: dict[str, Any], most: int, found: int) -> None:
    text = with_room(sent(**options), most)
    envelope = open_envelope(text)
    assert envelope is not None
    assert envelope == Envelope(DOCUMENT, RequestOptions(**{**options, "token_limit": found}))
    envelopes = Envelopes()
    assert envelopes.open(text) == envelopes.open(text) == envelope  # read, and looked up


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(DOCUMENT),
        json.dumps({"type": "object", "uniqueItems": False}),
        json.dumps({"type": "object", "description": '"x-factorspec": 1'}),
        json.dumps(Envelope({}, RequestOptions(id="r", answer=AnswerWish())).as_document()),
        '{"x-factorspec": 1',
        '{"x-factorspec-request": {}, "type": "object"}',
    ],
)
def test_all_else_is_left_as_it_is(text: str) -> None:
    assert with_room(text, 12) == text


@pytest.mark.parametrize(
    ("backend", "tokens", "limit"),
    [
        (SimpleNamespace(opens_records=True), 14, 12),
        (SimpleNamespace(opens_records=True), 1, 1),
        (SimpleNamespace(opens_records=True), 0, None),
        (SimpleNamespace(), 14, None),
        (None, 14, None),
    ],
)
def test_a_request_is_narrowed_before_the_backend_is_asked(
    backend: Any, tokens: int, limit: int | None
) -> None:
    params = SimpleNamespace(json_schema=sent(id="r"), max_new_tokens=tokens)
    room_told(SimpleNamespace(grammar_backend=backend), SimpleNamespace(sampling_params=params))
    envelope = open_envelope(params.json_schema)
    assert envelope is not None and envelope.options.token_limit == limit

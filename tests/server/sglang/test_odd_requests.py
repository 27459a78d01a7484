"""Requests that are legal and odd, or wrong in ways that SGLang passes over, through the middleware."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.responses import JSONResponse

from factorspec_sdk.wire import parse_document
from factorspec_server.http.gate import Gate
from factorspec_server.settings import ServerSettings
from factorspec_server.sglang.deaf_paths import DEAF_PATHS
from tests.server.http.serving import TRIP
from tests.server.sglang.answer_upstream import RECORD, TEXT, Post, Upstream, asked, event, events_of

MISSPELT = {name: value for name, value in TRIP.items() if name != "x-factorspec"}
TOTAL = (
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total"
    " of 4097 tokens: 35 tokens from the input messages and 4062 tokens for the completion. Please reduce the"
)


def wanted(kind: str, schema: Any = TRIP) -> Any:
    return {"type": kind, "json_schema": {"name": "trip", "schema": schema}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": wanted("json_object")}, "/response_format/type"),
        ({"response_format": wanted("text")}, "/response_format/type"),
        ({"response_format": {"type": "json_object", "schema": TRIP}}, "/response_format/type"),
        ({"n": "2"}, "/n"),
        ({"n": 0}, "/n"),
        ({"n": True}, "/n"),
        ({"n": 1000}, "/n"),
        ({"seed": "5"}, "/seed"),
        ({"seed": True}, "/seed"),
        ({"seed": 1 << 64}, "/seed"),
        ({"stream": "true"}, "/stream"),
        ({"stop": ""}, "/stop"),
        ({"no_stop_trim": True}, "/no_stop_trim"),
        ({"origins": True}, "/origins"),
        ({"on_budget": "abort"}, "/on_budget"),
        ({"factorspecs": {"origins": True}}, "/factorspecs"),
        ({"fact_orspec": {"origins": True}}, "/fact_orspec"),
    ],
)
def test_what_sglang_would_read_otherwise_is_refused(
    post: Post, upstream: Upstream, fields: Any, param: str
) -> None:
    answer = post(asked(**fields))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert upstream.seen == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"n": None, "stream": None, "stop": None},
        {"stop": [], "stop_token_ids": [], "min_tokens": 0, "no_stop_trim": False},
        {"seed": -1},
        {"factorspec": None},
        {"response_format": {"type": "json_schema", "schema": TRIP}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": TRIP}}},
    ],
)
def test_what_asks_for_nothing_is_served(post: Post, upstream: Upstream, fields: Any) -> None:
    assert post(asked(**fields)).json()["factorspec"]["spec_hash"] == parse_document(TRIP).hash
    assert upstream.seen.get("n", 1) == 1
    assert upstream.seen.get("stream", False) is False
    assert upstream.seen["response_format"]["json_schema"]["name"]


@pytest.mark.parametrize("key", ["x-factorspecs", "x_factorspec", "x-factor-spec"])
def test_a_misspelt_vendor_key_is_no_plain_schema(post: Post, upstream: Upstream, key: str) -> None:
    answer = post(asked(response_format=wanted("json_schema", MISSPELT | {key: TRIP["x-factorspec"]})))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unsupported_keyword")
    assert answer.json()["error"]["param"].endswith(key)
    assert upstream.seen == {}


def test_relations_in_structural_tags_are_refused(post: Post, upstream: Upstream) -> None:
    tag = {"begin": "<r>", "end": "</r>", "schema": TRIP}
    tags = {"type": "structural_tag", "structures": [tag], "triggers": ["<r>"]}
    answer = post(asked(response_format=tags))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "/response_format")
    assert upstream.seen == {}
    plain = tags | {"structures": [tag | {"schema": {"type": "object", "description": 'x-factorspec": 1'}}]}
    assert post(asked(response_format=plain)).status_code == 200


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"factorspec": {"orgins": True}}, "its fields are origins, on_budget, canonical_text, refusal"),
        ({"factorspec": {"origins": "yes"}}, "'yes'"),
        ({"factorspec": [1]}, "must be an object"),
        ({"origins": True}, "It belongs to /factorspec/origins"),
    ],
)
def test_mistakes_in_our_field_say_what_to_write(post: Post, given: Any, told: str) -> None:
    assert told in post(asked(**given)).json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "root_path"),
    [("/v1/chat/completions", "/llm"), ("/v1/chat/completions", "/a/b/"), ("/invocations", "")],
)
def test_other_names_of_the_path_are_served_alike(post: Post, path: str, root_path: str) -> None:
    assert "factorspec" in post(asked(), path, root_path.rstrip("/")).json()


@pytest.mark.parametrize("path", sorted(DEAF_PATHS))
def test_where_relations_would_be_passed_over_they_are_refused(
    post: Post, upstream: Upstream, path: str
) -> None:
    tool = {"name": "f", "input_schema": TRIP}
    answer = post({"messages": [], "tools": [tool]}, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unsupported_keyword")
    assert upstream.seen == {}
    body = {"messages": [{"role": "user", "content": '{"x-factorspec": 1}'}]}
    assert post(body, path).status_code == 200
    assert upstream.seen == body


def test_a_plain_schema_beside_our_field_is_written_by_sessions(post: Post, upstream: Upstream) -> None:
    schema = {"type": "object", "properties": {"first": {"type": "string"}}}
    said = asked(response_format=wanted("json_schema", schema))
    assert "factorspec" not in post(said).json()
    assert "spec_hash" in post(said | {"factorspec": {"origins": True}}).json()["factorspec"]


def test_our_field_is_checked_beside_free_text_too(post: Post, upstream: Upstream) -> None:
    said = {"model": "m", "messages": [{"role": "user", "content": "Go"}]}
    assert post(said | {"factorspec": {}}).status_code == 200
    answer = post(said | {"factorspec": {"orgins": True}})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "/factorspec/orgins")


@pytest.mark.parametrize(
    ("message", "needed", "reads"),
    [
        (TOTAL, 35 + 4060, 4094),
        (
            "max_completion_tokens is too large: 4098.This model supports at most 4096 completion tokens.",
            4096,
            4094,
        ),
        ("The input (4998 tokens) is longer than the model's context length (4096 tokens).", 4999, 4094),
        ("Input length (4094 tokens) exceeds the maximum allowed length (4090 tokens). Use a", 4095, 4088),
    ],
)
def test_what_is_too_long_is_told_in_the_numbers_of_the_request(
    post: Post, upstream: Upstream, message: str, needed: int, reads: int
) -> None:
    upstream.error = JSONResponse({"object": "error", "message": message, "code": 400}, 400)
    error = post(asked(max_tokens=4060)).json()["error"]
    assert (error["code"], error["param"]) == ("context_too_long", "/messages")
    assert (error["num_tokens"], error["max_positions"]) == (needed, reads)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_cannot_be_read_is_an_error_in_our_form(
    post: Post, upstream: Upstream, stream: bool
) -> None:
    text = f"{TEXT}<|im_end|>"
    upstream.texts = [text]
    upstream.events = [
        event(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": None}]),
        event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        "data: [DONE]\n\n",
    ]
    answer = post(asked(stream=stream))
    error = events_of(answer)[-1]["error"] if stream else answer.json()["error"]
    assert error["code"] == "server_error"


def test_escaped_keys_are_enforced_all_the_same(post: Post, upstream: Upstream) -> None:
    body = json.dumps(asked()).replace('"x-factorspec"', '"x\\u002dfactorspec"').encode()
    assert post(body).json()["choices"][0]["message"]["content"] == json.dumps(RECORD)
    assert "x-factorspec" in upstream.seen["response_format"]["json_schema"]["schema"]


def test_sockets_need_the_key_too() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    async def opened(key: str) -> list[str]:
        sent: list[str] = []

        async def send(message: Any) -> None:
            sent.append(message["type"])

        headers = [(b"authorization", f"Bearer {key}".encode()), (b"host", b"localhost")]
        scope = {"type": "websocket", "path": "/v1/realtime", "headers": headers}
        await Gate(app, ServerSettings(api_key="s3cret"))(scope, None, send)  # type: ignore[arg-type]
        return sent

    assert asyncio.run(opened("s3cret")) == ["websocket.accept"]
    assert asyncio.run(opened("wrong")) == ["websocket.close"]

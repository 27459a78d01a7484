"""Tool requests that are large, odd or abandoned: served, or refused by name, and nothing is left of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Scope

from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from factorspec_server.sglang.reports import ReportBoard
from tests.server.http.calling import AWAY, LATER
from tests.server.http.test_native_tools import PLAIN
from tests.server.sglang.tool_upstream import ToolUpstream, asked, message_of, tool

WIDE: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"enum": [f"{name}{at:05}" for at in range(2000)]} for name in ("a", "b")},
    "required": ["a", "b"],
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "apart", "kind": "all_different", "over": ["$.a", "$.b"]}],
    },
}
REFERRING: dict[str, Any] = {
    "$defs": {"Day": {"type": "integer", "minimum": 1, "maximum": 30}},
    **LATER,
    "properties": {"start": {"$ref": "#/$defs/Day"}, "end": {"$ref": "#/$defs/Day"}},
}


@pytest.fixture
def board() -> Iterator[ReportBoard]:
    made = ReportBoard()
    yield made
    made.close()


@pytest.fixture
def upstream(board: ReportBoard) -> ToolUpstream:
    made = ToolUpstream(board, "smollm2", PLAIN)
    made.handler.tokenizer_manager.context_len = made.handler.tokenizer_manager.max_req_input_len = 1 << 20
    return made


def test_as_many_tools_as_may_be(upstream: ToolUpstream) -> None:
    documents = {f"tool_{at}": AWAY if at % 2 else LATER for at in range(127)} | {"x" * 64: REFERRING}
    tools = [tool(name, document) for name, document in documents.items()]
    answer = upstream.post(asked(tools=tools, tool_choice="required", max_tokens=600))
    assert len(answer.json()["factorspec"]["tools"]) == 128
    calls = message_of(answer)["tool_calls"]
    for call in calls:
        function = call["function"]
        verdicts = check_spec(parse_document(documents[function["name"]]), json.loads(function["arguments"]))
        assert [verdict.outcome for verdict in verdicts] == ["holds"]


def test_wide_parameters(upstream: ToolUpstream) -> None:
    answer = upstream.post(
        asked(tools=[tool("wide", WIDE)], tool_choice="required", parallel_tool_calls=False)
    )
    (call,) = message_of(answer)["tool_calls"]
    found = json.loads(call["function"]["arguments"])
    assert found["a"] in WIDE["properties"]["a"]["enum"] and found["a"] != found["b"]


@pytest.mark.parametrize("document", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_tools_without_parameters_beside_one_with_relations(upstream: ToolUpstream, document: Any) -> None:
    tools = [tool("empty", document), tool("later", LATER)]
    named = {"type": "function", "function": {"name": "empty"}}
    body = asked(tools=tools, tool_choice=named, parallel_tool_calls=False)
    (call,) = message_of(upstream.post(body))["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == ("empty", "{}")


def test_references_are_followed(upstream: ToolUpstream) -> None:
    body = asked(tools=[tool("refers", REFERRING)], tool_choice="required", parallel_tool_calls=False)
    (call,) = message_of(upstream.post(body))["tool_calls"]
    found = json.loads(call["function"]["arguments"])
    assert 1 <= found["start"] < found["end"] <= 30


def test_a_prompt_that_is_too_long_is_told(upstream: ToolUpstream) -> None:
    upstream.handler.tokenizer_manager.context_len = 500
    answer = upstream.post(asked(tools=[tool("wide", WIDE)]))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "context_too_long", "/messages")
    assert upstream.seen == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"tools": [{"x-factorspec"',
        b'{"tools": ' + b"[" * 5000 + b'"x-factorspec"',
        b'{"tools": [], "tools": [], "factorspec": {}}',
        b'{"tools": [1], "factorspec": {}}',
        b'{"tools": {"x-factorspec": 1}, "factorspec": {}}',
        b'[{"tools": "x-factorspec"}]',
    ],
)
def test_what_is_no_request_is_a_400(upstream: ToolUpstream, body: bytes) -> None:
    answer = _post_raw(upstream, body)
    assert answer[0] == 400
    assert json.loads(answer[1])["error"]["code"] in ("document_error", "unsupported_keyword")
    assert upstream.seen == []


def test_a_client_that_is_gone_ends_its_answer_alone(upstream: ToolUpstream, board: ReportBoard) -> None:
    body = json.dumps(asked(tool_choice="required", stream=True)).encode()
    with pytest.raises((OSError, ClientDisconnect, BaseExceptionGroup)):
        _post_raw(upstream, body, breaks_after=2)
    assert not board._kept and not board._waiting
    assert message_of(upstream.post(asked(tool_choice="required")))["tool_calls"]


def _post_raw(upstream: ToolUpstream, body: bytes, breaks_after: int | None = None) -> tuple[int, bytes]:
    """Status and body; the client is gone after so many messages."""
    sent: list[Message] = []
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if breaks_after is not None and len(sent) >= breaks_after:
            raise OSError("gone")
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "raw_path": b"/v1/chat/completions",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())],
        "http_version": "1.1",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "server": ("x", 80),
        "client": ("y", 1),
        "scheme": "http",
        "root_path": "",
    }
    asyncio.run(upstream.app()(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

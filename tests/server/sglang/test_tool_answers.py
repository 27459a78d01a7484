"""Requests with tools whose parameters carry relations: rewritten for SGLang, and its answers read back."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_sdk.client import Client
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.wire import parse_document
from factorspec_server.sglang import compat
from factorspec_server.sglang.answers import Answers
from factorspec_server.sglang.reports import ReportBoard
from tests.server.http.calling import AWAY, LATER, TOOLS
from tests.server.http.test_native_tools import KNOWING, PAST, PLAIN
from tests.server.sglang.tool_upstream import (
    FREE,
    ToolUpstream,
    asked,
    check_calls,
    events_of,
    message_of,
    named,
    tool,
)

FAMILIES = ("smollm2", "tags")


@pytest.fixture
def board() -> Iterator[ReportBoard]:
    made = ReportBoard()
    yield made
    made.close()


@pytest.fixture(params=FAMILIES)
def upstream(request: pytest.FixtureRequest, board: ReportBoard) -> ToolUpstream:
    return ToolUpstream(board, request.param, PLAIN)


@pytest.fixture
def plain(board: ReportBoard) -> ToolUpstream:
    return ToolUpstream(board, "smollm2", PLAIN)


def test_required_calls_are_valid_and_reported(upstream: ToolUpstream) -> None:
    answer = upstream.post(asked(tool_choice="required", seed=3))
    body, message = answer.json(), message_of(answer)
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    assert message["content"] is None
    check_calls(message["tool_calls"])
    ids = [call["id"] for call in message["tool_calls"]]
    assert len(set(ids)) == len(ids)
    vendor = body["factorspec"]
    assert vendor["tools"] == {name: parse_document(document).hash for name, document in TOOLS.items()}
    report = vendor["report"]
    assert [call["name"] for call in report["calls"]] == [
        call["function"]["name"] for call in message["tool_calls"]
    ]
    assert all(one["outcome"] == "holds" for call in report["calls"] for one in call["relations"])
    assert (report["exact"], report["prompt_tokens"], report["reused"], report["seed"]) == (True, 7, 2, 3)
    assert not {"certificates", "digest", "error", "complete", "tool_certificates"} & report.keys()
    usage = body["usage"]
    assert usage["completion_tokens"] == report["tokens"]
    assert usage["total_tokens"] == 7 + report["tokens"]


def test_what_sglang_is_asked_for(plain: ToolUpstream) -> None:
    plain.post(asked(tool_choice=named("away"), temperature=0.5, n=2, priority=4))
    (seen,) = plain.seen
    assert len(seen["input_ids"]) == len(seen["sampling_params"]) == 2
    assert (seen["stream"], seen["require_reasoning"], seen["priority"]) == (False, False, 4)
    first, second = seen["sampling_params"]
    assert first["max_new_tokens"] == 202
    assert (first["temperature"], first["top_k"], first["top_p"]) == (0.5, 20, 1.0)  # 20: the model's own
    options = [json.loads(each["json_schema"])["x-factorspec-request"] for each in (first, second)]
    assert options[0].pop("id") != options[1].pop("id")
    assert options[0] == options[1]
    assert [each["name"] for each in options[0]["answer"]["tools"] if each.get("callable", True)] == ["away"]
    prompt = plain.vocabulary.decode_bytes(seen["input_ids"][0]).decode()
    assert "<tools>" in prompt and "all_different" in prompt and "x-factorspec" not in prompt


@pytest.mark.parametrize(
    ("salts", "key"),
    [
        ({"cache_salt": "a"}, "a"),
        ({"extra_key": "b"}, "b"),
        ({"cache_salt": "a", "extra_key": "b"}, "ab"),
        ({"cache_salt": None, "extra_key": None}, None),
        ({}, None),
    ],
)
def test_salts_are_joined_as_sglang_joins_them(plain: ToolUpstream, salts: Any, key: str | None) -> None:
    plain.post(asked(tool_choice="required", **salts))
    (seen,) = plain.seen
    assert seen.get("extra_key") == key


@pytest.mark.parametrize("name", [*TOOLS])
def test_a_named_tool_is_called(plain: ToolUpstream, name: str) -> None:
    calls = message_of(plain.post(asked(tool_choice=named(name), parallel_tool_calls=False)))["tool_calls"]
    assert [call["function"]["name"] for call in calls] == [name]
    check_calls(calls)


def test_allowed_tools_are_the_only_ones(plain: ToolUpstream) -> None:
    allowed = {"mode": "required", "tools": [named("a"), named("later")]}
    names = set()
    for plain.seed in range(8):
        message = message_of(
            plain.post(asked(tool_choice={"type": "allowed_tools", "allowed_tools": allowed}))
        )
        names |= {call["function"]["name"] for call in message["tool_calls"]}
    assert names == {"a", "later"}


def test_parallel_calls_are_bounded(plain: ToolUpstream) -> None:
    several = set()
    for plain.seed in range(6):
        several.add(len(message_of(plain.post(asked(tool_choice="required")))["tool_calls"]))
        one = message_of(plain.post(asked(tool_choice="required", parallel_tool_calls=False)))
        assert len(one["tool_calls"]) == 1
    assert len(several) > 1


def test_auto_is_text_that_may_turn_into_calls(upstream: ToolUpstream) -> None:
    upstream.told = ["So: <tool_call>"]
    answer = upstream.post(asked())
    message = message_of(answer)
    assert message["content"] == "So:"
    assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"
    check_calls(message["tool_calls"])
    upstream.told = ["Nothing."]
    answer = upstream.post(asked(max_tokens=8))
    choice = answer.json()["choices"][0]
    assert choice["finish_reason"] in ("length", "stop")
    assert choice["message"]["content"].startswith("Nothing.")
    assert "tool_calls" not in choice["message"]
    assert answer.json()["factorspec"]["report"]["calls"] == []
    assert answer.json()["usage"]["completion_tokens"] <= 8


def test_text_at_its_limit_has_ended_by_length(plain: ToolUpstream) -> None:
    text = "a b c d e f g h i j"
    plain.told = [text]
    limit = len(plain.vocabulary.encode_inside(text)) - 2
    plain.told = [plain.vocabulary.decode(plain.vocabulary.encode_inside(text)[:limit])]
    answer = plain.post(asked(max_tokens=limit)).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["choices"][0]["message"]["content"] == plain.told[0]
    assert answer["usage"]["completion_tokens"] == limit


def test_stop_strings_end_text(plain: ToolUpstream) -> None:
    plain.told = ["One STOP"]
    choice = plain.post(asked(stop="STOP")).json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("One ", "stop")


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_streamed_answers_are_the_whole_ones(upstream: ToolUpstream, incremental: bool, choice: str) -> None:
    upstream.incremental = incremental
    for upstream.seed in range(4):
        upstream.told = ["Well <tool_call>"] * 2 if choice == "auto" else []
        fields = asked(tool_choice=choice, n=2)
        whole = upstream.post(fields).json()
        events = events_of(
            upstream.post(fields | {"stream": True, "stream_options": {"include_usage": True}})
        )
        usage = events.pop()
        assert usage["choices"] == [] and usage["usage"] == whole["usage"]
        assert {event["id"] for event in events} == {events[0]["id"]}
        for index, want in enumerate(whole["choices"]):
            own = [event for event in events if event["choices"][0]["index"] == index]
            deltas = [event["choices"][0]["delta"] for event in own]
            assert deltas[0]["role"] == "assistant"
            content = "".join(delta.get("content") or "" for delta in deltas)
            assert content == (want["message"]["content"] or "")
            parts = [part for delta in deltas for part in delta.get("tool_calls", ())]
            calls: dict[int, list[str]] = {}
            for part in parts:
                assert ("id" in part) == (part["index"] not in calls) == ("name" in part["function"])
                known = calls.setdefault(part["index"], [part["function"].get("name", ""), ""])
                known[1] += part["function"]["arguments"]
            assert [*calls] == [*range(len(calls))]
            said = want["message"]["tool_calls"]
            wanted = [[call["function"]["name"], call["function"]["arguments"]] for call in said]
            assert [*calls.values()] == wanted
            reasons = [event["choices"][0]["finish_reason"] for event in own]
            assert reasons == [None] * (len(own) - 1) + [want["finish_reason"]]
            report = own[-1]["factorspec"]["report"]
            assert report["calls"] == whole["factorspec"]["reports"][index]["calls"]


def test_a_record_a_call_or_a_refusal(plain: ToolUpstream) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": AWAY}}
    fields = asked(response_format=wanted, factorspec={"refusal": True}, max_tokens=900)
    kinds = set()
    for plain.seed in range(14):
        answer = plain.post(fields)
        message, vendor = message_of(answer), answer.json()["factorspec"]
        assert answer.headers["x-factorspec-spec"] == vendor["spec_hash"] == parse_document(AWAY).hash
        if message.get("tool_calls"):
            kinds.add("call")
            check_calls(message["tool_calls"])
        elif message["refusal"] is not None:
            kinds.add("refusal")
            assert message["content"] is None
        else:
            kinds.add("record")
            found = json.loads(message["content"])
            assert found["from"] != found["to"]
            assert [one["name"] for one in vendor["report"]["relations"]] == ["away"]
    assert kinds == {"record", "call", "refusal"}


def test_a_refusal_beside_a_record_alone(plain: ToolUpstream) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": LATER}}
    refusals = set()
    for plain.seed in range(10):
        body = asked(tools=None, response_format=wanted, factorspec={"refusal": True}, max_tokens=900)
        answer = plain.post(body)
        refusals.add(message_of(answer)["refusal"] is not None)
        assert answer.json()["factorspec"]["spec_hash"] == parse_document(LATER).hash
    assert refusals == {True, False}


class Through:
    """A transport of the SDK's client."""

    def __init__(self, upstream: ToolUpstream) -> None:
        self._upstream = upstream

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        found: JsonObject = self._upstream.post(body).json()
        return found

    def stream(self, body: JsonObject, *, timeout_s: float) -> Generator[JsonObject]:
        yield from events_of(self._upstream.post(body))

    def model_name(self, *, timeout_s: float) -> str:
        return "m"

    def close(self) -> None:
        pass


def test_answers_are_those_of_the_client_too(plain: ToolUpstream) -> None:
    """The SDK's client takes the answer for enforced."""
    from pydantic import BaseModel, Field

    import factorspec_sdk as fs

    @fs.gt("high", "low")
    class Range(BaseModel):
        low: int = Field(ge=0, le=9)
        high: int = Field(ge=0, le=9)

    with Client(engine=Through(plain)) as client:
        answer = client.call_tools([Range], "A range.", tool_choice="required", max_tokens=300)
    assert answer.calls
    for call in answer.calls:
        assert isinstance(call.arguments, Range)
        assert call.arguments.high > call.arguments.low


@pytest.mark.parametrize(
    "body",
    [
        asked(tools=[tool("free", FREE)]),
        asked(tools=[tool("free", None)], tool_choice="required"),
        asked(tools=[tool("free", FREE)], tool_choice="none", note="x-factorspec"),
        asked(tools=None),
        asked(tools="x-factorspec"),
        asked(tools=[3, {"function": 4}, {"function": {"parameters": "x-factorspec"}}]),
        asked(tool_choice="none"),
        asked(
            tool_choice="none", ignore_eos=True, messages=[{"role": "user", "content": [{"type": "image"}]}]
        ),
    ],
)
def test_requests_without_relations_in_their_tools_pass_as_they_are(plain: ToolUpstream, body: Any) -> None:
    assert plain.post(body).json() == {"passed": True, "choices": []}
    assert plain.seen == [body]


def test_the_vendor_field_asks_for_tools_without_relations_too(plain: ToolUpstream) -> None:
    answer = plain.post(asked(tools=[tool("free", FREE)], tool_choice="required", factorspec={}))
    assert "free" in answer.json()["factorspec"]["tools"]
    assert isinstance(json.loads(message_of(answer)["tool_calls"][0]["function"]["arguments"]), dict)


def test_where_no_tool_may_be_called_earlier_calls_are_told_as_text(plain: ToolUpstream) -> None:
    plain.post(asked(messages=PAST, tool_choice="none"))
    (seen,) = plain.seen
    assert "tools" not in seen and "tool_choice" not in seen
    assert [turn["role"] for turn in seen["messages"]] == ["user", "assistant", "user"]
    assert "<tool_call>" in seen["messages"][1]["content"]


def test_a_template_that_knows_tools_tells_them(board: ReportBoard) -> None:
    knowing = ToolUpstream(board, "tags", KNOWING)
    body = asked(messages=PAST, tool_choice="none")
    knowing.post(body)
    assert knowing.seen.pop() == body
    assert message_of(knowing.post(asked(tool_choice="required", messages=PAST)))["tool_calls"]
    prompt = knowing.vocabulary.decode_bytes(knowing.seen[0]["input_ids"][0]).decode()
    assert prompt.startswith("|system|{") and prompt.endswith("|tool|gone twice<|end|>\n|assistant|")


def test_template_options_reach_the_template(board: ReportBoard) -> None:
    upstream = ToolUpstream(board, "smollm2", "{{ mood }}" + PLAIN)
    upstream.handler.default_chat_template_kwargs = {"mood": "calm"}
    upstream.post(asked(tool_choice="required"))
    upstream.post(asked(tool_choice="required", chat_template_kwargs={"mood": "wild"}))
    texts = [upstream.vocabulary.decode_bytes(seen["input_ids"][0]).decode() for seen in upstream.seen]
    assert [text[:4] for text in texts] == ["calm", "wild"]


def test_the_tokenizer_is_made_ready_when_the_server_starts(plain: ToolUpstream) -> None:
    app, sent = plain.app(), []
    given: list[Any] = [{"type": "lifespan.shutdown"}, {"type": "lifespan.startup"}]

    async def receive() -> Any:
        return given.pop()

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    for thread in threading.enumerate():
        if thread.name == "factorspec-chat":
            thread.join(20)
    answers = next(each for each in _layers(app) if isinstance(each, Answers))
    served = answers._answers._served
    assert served is not None and "_watch" in vars(served)


def _layers(app: Any) -> Iterator[Any]:
    layer = app.middleware_stack
    while layer is not None:
        yield layer
        layer = getattr(layer, "app", None) or getattr(layer, "_app", None)


def test_thinking_is_told_apart(board: ReportBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = ToolUpstream(board, "tags", PLAIN)
    end_id = upstream.vocabulary.encode_inside("~")[-1]
    detector = SimpleNamespace(think_start_token="<think>", think_end_token="~")
    monkeypatch.setitem(vars(compat), "ReasoningParser", lambda **_: SimpleNamespace(detector=detector))
    upstream.handler.reasoning_parser = "any"
    upstream.handler._get_reasoning_from_request = lambda request: request.chat_template_kwargs.get(
        "deep", True
    )
    upstream.thinks = (*upstream.vocabulary.encode_inside("<think>Hm, <tool_call>"), end_id)
    answer = upstream.post(asked(tool_choice="required"))
    assert upstream.seen[0]["require_reasoning"] is True
    message = message_of(answer)
    assert message["reasoning_content"] == "Hm, <tool_call>"
    check_calls(message["tool_calls"])
    usage = answer.json()["usage"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == len(upstream.thinks)
    assert (
        usage["completion_tokens"] == len(upstream.thinks) + answer.json()["factorspec"]["report"]["tokens"]
    )
    events = events_of(upstream.post(asked(tool_choice="required", stream=True)))
    thought = "".join(event["choices"][0]["delta"].get("reasoning_content", "") for event in events)
    assert thought == "Hm, <tool_call>"
    upstream.thinks = ()
    shallow = upstream.post(asked(tool_choice="required", chat_template_kwargs={"deep": False}))
    assert upstream.seen[-1]["require_reasoning"] is False
    assert "reasoning_content" not in message_of(shallow)

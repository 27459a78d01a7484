"""Tool calls of the unmodified ``openai`` package: requests, answers, streams and refusals."""

from __future__ import annotations

import copy
import json
from typing import Any

import openai
import pytest

from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from tests.server.http.serving import TRIP, body

PLAN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "start": {"type": "integer", "minimum": 1, "maximum": 20},
        "end": {"type": "integer", "minimum": 1, "maximum": 20},
    },
    "required": ["start", "end"],
    "x-factorspec": {
        "version": 1,
        "relations": [
            {
                "name": "forwards",
                "kind": "intension",
                "expr": {"op": "lt", "args": [{"ref": "$.start"}, {"ref": "$.end"}]},
            }
        ],
    },
}
DOCUMENTS = {"book-trip": TRIP, "plan": PLAN, "nothing": None}


def tool(name: str, parameters: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    function = {"name": name, "description": f"To {name}.", **fields}
    return {
        "type": "function",
        "function": function if parameters is None else function | {"parameters": parameters},
    }


TOOLS = [tool(name, document) for name, document in DOCUMENTS.items()]
NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def asked(**fields: Any) -> dict[str, Any]:
    wanted = {"temperature": 1, "tools": TOOLS, "tool_choice": "required"}
    return body(schema=None, **wanted | fields)


def answer(client: openai.OpenAI, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.chat.completions.create(**asked(**fields)).model_dump()
    return found


def calls_of(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    calls = answer["choices"][0]["message"]["tool_calls"]
    assert len({call["id"] for call in calls}) == len(calls)
    assert all(call["type"] == "function" for call in calls)
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


def is_valid(name: str, arguments: Any) -> bool:
    document = DOCUMENTS[name] or NO_PARAMETERS
    spec = parse_document(document)
    assert list(arguments) == document.get("required", [])
    return all(verdict.outcome == "holds" for verdict in check_spec(spec, arguments))


def test_required_calls_satisfy_schema_and_relations(client: openai.OpenAI) -> None:
    names = set()
    for seed in range(25):
        found = answer(client, seed=seed)
        choice = found["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] is None
        calls = calls_of(found)
        assert 1 <= len(calls) <= 16
        assert all(is_valid(*call) for call in calls)
        names |= {name for name, _ in calls}
    assert names == set(DOCUMENTS)


def test_a_named_tool_is_called_once_where_calls_are_not_parallel(client: openai.OpenAI) -> None:
    for seed in range(10):
        found = answer(client, seed=seed, tool_choice=named("plan"), parallel_tool_calls=False)
        ((name, arguments),) = calls_of(found)
        assert name == "plan"
        assert arguments["start"] < arguments["end"]


def test_allowed_tools_are_the_only_ones_called(client: openai.OpenAI) -> None:
    choice = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [named("plan"), named("nothing")]},
    }
    names = set()
    for seed in range(10):
        names |= {name for name, _ in calls_of(answer(client, seed=seed, tool_choice=choice))}
    assert names == {"plan", "nothing"}


def test_the_answer_echoes_each_tools_hash_and_reports_each_call(client: openai.OpenAI) -> None:
    found = answer(client, seed=4, tool_choice=named("plan"), extra_body={"factorspec": {"origins": True}})
    vendor = found["factorspec"]
    assert vendor["spec_hash"] is None
    assert vendor["tools"] == {
        name: parse_document(document or NO_PARAMETERS).hash for name, document in DOCUMENTS.items()
    }
    report = vendor["report"]
    calls = calls_of(found)
    assert [(one["name"], one["spec_hash"]) for one in report["calls"]] == [
        (name, vendor["tools"][name]) for name, _ in calls
    ]
    for one in report["calls"]:
        assert [(each["name"], each["outcome"]) for each in one["relations"]] == [("forwards", "holds")]
    assert report["certain"] + report["chosen"] + report["free"] == report["tokens"]
    assert report["tokens"] == found["usage"]["completion_tokens"] == len(report["origins"])
    assert report["model_steps"] <= report["choice_points"] + 1


def test_tools_that_are_not_to_be_called_are_not_told(client: openai.OpenAI) -> None:
    plain = client.chat.completions.create(**body(schema=None, max_tokens=5))
    found = answer(client, tool_choice="none", max_tokens=5, temperature=0)
    assert found["usage"]["prompt_tokens"] == plain.usage.prompt_tokens
    assert found["choices"][0]["message"]["tool_calls"] is None
    assert found["choices"][0]["message"]["content"]


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("choice", ["required", "auto", named("book-trip")])
def test_streamed_and_whole_answers_are_equal(client: openai.OpenAI, choice: Any, parallel: bool) -> None:
    for seed in range(4):
        fields = {"seed": seed, "tool_choice": choice, "parallel_tool_calls": parallel, "max_tokens": 600}
        whole = answer(client, **fields)
        chunks = list(
            client.chat.completions.create(
                **asked(**fields, stream=True, stream_options={"include_usage": True})
            )
        )
        message, reason = joined(chunks)
        expected = whole["choices"][0]
        assert reason == expected["finish_reason"]
        assert message["content"] == (expected["message"]["content"] or "")
        made = [one["function"] for one in expected["message"]["tool_calls"] or []]
        assert message["calls"] == [(one["name"], one["arguments"]) for one in made]
        *_, last, usage = chunks
        assert usage.usage is not None and usage.usage.model_dump() == whole["usage"]
        assert last.model_dump()["factorspec"]["tools"] == whole["factorspec"]["tools"]


def joined(chunks: list[Any]) -> tuple[dict[str, Any], str | None]:
    """A stream's message; checks that calls come as the package's own helpers expect them."""
    content, calls, reason = "", list[tuple[str, str]](), None
    for chunk in chunks:
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            content += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                if part.index == len(calls):
                    assert part.id and part.type == "function" and part.function.arguments == ""
                    calls.append((part.function.name, ""))
                else:
                    assert part.index == len(calls) - 1
                    assert part.id is None and part.function.name is None
                    name, arguments = calls[-1]
                    calls[-1] = name, arguments + part.function.arguments
    return {"content": content, "calls": calls}, reason


def test_the_packages_stream_helper_takes_calls(client: openai.OpenAI) -> None:
    fields = asked(seed=2, tools=[tool("plan", PLAN)])
    with client.chat.completions.stream(**fields) as stream:
        finished = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    calls = final.choices[0].message.tool_calls or []
    assert [call.function.name for call in calls] == ["plan"] * len(finished)


def test_a_conversation_with_calls_goes_on(client: openai.OpenAI) -> None:
    first = client.chat.completions.create(**asked(seed=1))
    calls = first.choices[0].message.tool_calls or []
    messages: list[Any] = [
        {"role": "user", "content": "A trip, please."},
        first.choices[0].message,
        *({"role": "tool", "tool_call_id": call.id, "content": f"done {call.id}"} for call in calls),
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "user", "content": "Another."},
    ]
    found = answer(client, messages=messages, seed=3)
    assert all(is_valid(*call) for call in calls_of(found))
    parts: Any = [{"type": "text", "text": "do"}, {"type": "text", "text": "ne"}]
    past = {"id": "a", "type": "function", "function": {"name": "gone", "arguments": "{not json"}}
    messages = [
        {"role": "user", "content": "A trip, please."},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "tool_calls": [past]},
        {"role": "tool", "tool_call_id": "a", "content": parts},
    ]
    assert answer(client, messages=messages, tools=[], tool_choice=None, max_tokens=3)["choices"]


def test_an_answer_may_be_a_record_or_calls(client: openai.OpenAI) -> None:
    kinds = set()
    wanted = {"type": "json_schema", "json_schema": {"name": "trip", "schema": TRIP}}
    for seed in range(12):
        found = answer(client, seed=seed, tool_choice="auto", response_format=wanted)
        message = found["choices"][0]["message"]
        assert found["factorspec"]["spec_hash"] == parse_document(TRIP).hash
        if message["tool_calls"]:
            assert all(is_valid(*call) for call in calls_of(found))
            assert message["content"] is None
        else:
            assert is_valid("book-trip", json.loads(message["content"]))
            (verdict,) = found["factorspec"]["report"]["relations"]
            assert verdict["outcome"] == "holds"
        kinds.add(bool(message["tool_calls"]))
    assert kinds == {True, False}


@pytest.mark.parametrize("fields", [{}, {"tools": None, "tool_choice": None, "schema": TRIP}])
def test_the_model_may_decline_where_it_is_allowed_to(client: openai.OpenAI, fields: dict[str, Any]) -> None:
    schema = fields.get("schema")
    wanted = (
        None if schema is None else {"type": "json_schema", "json_schema": {"name": "t", "schema": schema}}
    )
    declined = 0
    for seed in (5, 6, 9, 17):
        sent = {name: value for name, value in fields.items() if name != "schema"}
        sent |= {"seed": seed, "response_format": wanted, "extra_body": {"factorspec": {"refusal": True}}}
        found = answer(client, **sent)
        choice = found["choices"][0]
        chunks = client.chat.completions.create(**asked(**sent, stream=True))
        refusals = [chunk.choices[0].delta.refusal for chunk in chunks if chunk.choices]
        assert "".join(filter(None, refusals)) == (choice["message"]["refusal"] or "")
        if choice["message"]["refusal"] is not None:
            declined += 1
            assert choice["message"]["content"] is None
            assert choice["message"]["tool_calls"] is None
            assert choice["finish_reason"] == "stop"
            assert len(choice["message"]["refusal"]) <= 400
    assert 0 < declined < 4


def test_a_limit_that_holds_no_call_is_refused_at_once(client: openai.OpenAI) -> None:
    shortest = len('<tool_call>\n{"name": "plan", "arguments": {"start": 1, "end": 2}}\n</tool_call>')
    chosen = {"tool_choice": named("plan")}
    with pytest.raises(openai.BadRequestError) as caught:
        answer(client, **chosen, max_tokens=shortest - 1)
    assert caught.value.code == "token_limit_too_small"
    assert caught.value.param == "/max_tokens"
    error: Any = caught.value.body
    assert error["shortest"] == shortest
    for seed in range(5):
        found = answer(client, **chosen, max_tokens=shortest, seed=seed)
        ((_, arguments),) = calls_of(found)
        assert arguments["start"] < arguments["end"] <= 9
        assert found["usage"]["completion_tokens"] == shortest


def broken(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(PLAN), **changes}


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a keyword that cannot be enforced": (
        {
            "tools": [
                TOOLS[0],
                tool("x", {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}),
            ]
        },
        "unsupported_keyword",
        "/tools/1/function/parameters/properties/a",
    ),
    "relations that contradict each other": (
        {
            "tools": [
                tool(
                    "x",
                    broken(properties={name: {"type": "integer", "enum": [3]} for name in ("start", "end")}),
                )
            ]
        },
        "unsatisfiable",
        "/tools/0/function/parameters/x-factorspec/relations/0",
    ),
    "parameters that are no object": (
        {"tools": [tool("x", {"type": "string"})]},
        "unsupported_keyword",
        "/tools/0/function/parameters",
    ),
    "two tools of one name": ({"tools": [TOOLS[0], TOOLS[0]]}, "document_error", "/tools/1/function/name"),
    "a name with a space": ({"tools": [tool("a b", None)]}, "document_error", "/tools/0/function/name"),
    "a name of 65 characters": (
        {"tools": [tool("a" * 65, None)]},
        "document_error",
        "/tools/0/function/name",
    ),
    "129 tools": ({"tools": [tool(f"t{n}", None) for n in range(129)]}, "document_error", "/tools"),
    "a tool of another type": (
        {"tools": [{"type": "custom", "custom": {"name": "x"}}]},
        "unsupported_keyword",
        "/tools/0/type",
    ),
    "an unknown field": (
        {"tools": [tool("x", None, examples=[])]},
        "unsupported_keyword",
        "/tools/0/function/examples",
    ),
    "a choice of no tool": ({"tool_choice": named("y")}, "document_error", "/tool_choice"),
    "a choice of another kind": ({"tool_choice": "any"}, "document_error", "/tool_choice"),
    "a choice without tools": ({"tools": []}, "document_error", "/tool_choice"),
    "an allowed tool that is not there": (
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("y")]}}},
        "document_error",
        "/tool_choice",
    ),
    "no allowed tool": (
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
        "document_error",
        "/tool_choice",
    ),
    "a way to decline where text is allowed": (
        {"tool_choice": "auto", "extra_body": {"factorspec": {"refusal": True}}},
        "document_error",
        "/factorspec/refusal",
    ),
    "a stop string where a call must be": ({"stop": ["x"]}, "document_error", "/stop"),
    "old functions": ({"extra_body": {"functions": [{"name": "x"}]}}, "unsupported_keyword", "/functions"),
    "an old choice": (
        {"extra_body": {"function_call": {"name": "x"}}},
        "unsupported_keyword",
        "/function_call",
    ),
    "an answer to no call": (
        {"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]},
        "document_error",
        "/messages/0/tool_call_id",
    ),
    "an answer without an id": (
        {"messages": [{"role": "tool", "content": "y"}]},
        "document_error",
        "/messages/0",
    ),
    "a message without content": ({"messages": [{"role": "user"}]}, "document_error", "/messages/0"),
    "calls of the user": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": "x",
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "x", "arguments": ""}}
                    ],
                }
            ]
        },
        "document_error",
        "/messages/0",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_done_is_refused_by_name(client: openai.OpenAI, what: str) -> None:
    fields, code, param = REFUSED[what]
    with pytest.raises(openai.BadRequestError) as caught:
        answer(client, **fields)
    assert caught.value.code == code, caught.value.message
    assert (caught.value.param or "").startswith(param)
    assert param in caught.value.message


def test_old_functions_are_told_what_to_send(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="send tools"):
        answer(client, extra_body={"functions": [{"name": "x"}]})


def test_several_choices_have_calls_of_their_own(client: openai.OpenAI) -> None:
    found = answer(client, n=3, seed=1)
    ids = [call["id"] for choice in found["choices"] for call in choice["message"]["tool_calls"]]
    assert len(ids) == len(set(ids)) >= 3
    assert len(found["factorspec"]["reports"]) == 3


def test_the_model_tells_that_it_calls_tools(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    facts = model.model_dump()["factorspec"]
    assert facts["enforced"]["tools"] is True
    assert {"auto", "required", "allowed_tools"} <= set(facts["enforced"]["tool_choices"])
    assert facts["limits"]["tools"] == 128
    assert facts["limits"]["parallel_calls"] == 16

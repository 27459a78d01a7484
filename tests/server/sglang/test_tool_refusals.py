"""Requests with tools that cannot be served, or fail in the middle: told by name, with their places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from factorspec_sdk.errors import BudgetSpent
from factorspec_server.http.error_body import error_body, status_of
from factorspec_server.sglang.reports import ReportBoard
from tests.server.http.calling import AWAY, LATER
from tests.server.http.test_native_tools import PLAIN
from tests.server.sglang.tool_upstream import (
    FREE,
    ToolUpstream,
    asked,
    events_of,
    named,
    tool,
)


@pytest.fixture
def board() -> Iterator[ReportBoard]:
    made = ReportBoard()
    yield made
    made.close()


@pytest.fixture
def plain(board: ReportBoard) -> ToolUpstream:
    return ToolUpstream(board, "smollm2", PLAIN)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tool_choice": named("fly")}, "/tool_choice"),
        ({"tool_choice": "perhaps"}, "/tool_choice"),
        ({"tools": [tool("a", AWAY), tool("a", LATER)]}, "/tools/1/function/name"),
        ({"tools": [tool(f"t{at}", AWAY) for at in range(129)]}, "/tools"),
        ({"tools": [tool("söme", AWAY)]}, "/tools/0/function/name"),
        ({"tools": [tool('"}', AWAY)]}, "/tools/0/function/name"),
        ({"tools": [{"type": "custom", "function": {"name": "a", "parameters": AWAY}}]}, "/tools/0/type"),
        ({"logprobs": True}, "/logprobs"),
        ({"stop": ["x"], "tool_choice": "required"}, "/stop"),
        ({"regex": "a"}, "/regex"),
        ({"ignore_eos": True}, "/ignore_eos"),
        ({"n": 99}, "/n"),
        ({"factorspec": {"canonical_text": True}}, "/factorspec/canonical_text"),
        ({"factorspec": {"refusal": True}}, "/factorspec/refusal"),
        ({"chat_template_kwargs": {"tokenize": True}}, "/chat_template_kwargs/tokenize"),
        ({"chat_template_kwargs": 3}, "/chat_template_kwargs"),
        ({"priority": "high"}, "/priority"),
        ({"extra_key": ["one"]}, "/extra_key"),
        ({"extra_key": ""}, "/extra_key"),
        ({"cache_salt": "x" * 1025}, "/cache_salt"),
        ({"max_tokens": 5000}, "/messages"),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}, "/messages/0/tool_call_id"),
        ({"tools": [tool("a", {"type": "object", "x-factorspec": {"version": 9}})]},
         "/tools/0/function/parameters/x-factorspec/version"),
        ({"tools": [tool("free", FREE), tool("a", {"$ref": "#/$defs/none", "x-factorspec": {"version": 1}})]},
         "/tools/1/function/parameters/$ref"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_refused_by_name(plain: ToolUpstream, fields: Any, param: str) -> None:
    answer = plain.post(asked(**fields))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), answer.text
    assert plain.seen == []


def test_adapters_are_refused_by_name(plain: ToolUpstream) -> None:
    assert plain.post(asked(model="m:adapter", tool_choice="required")).status_code == 200
    plain.handler.tokenizer_manager.server_args.enable_lora = True
    assert plain.post(asked(model="m:adapter")).json()["error"]["param"] == "/model"


def test_a_server_with_a_template_of_another_kind_says_so(plain: ToolUpstream) -> None:
    plain.handler.template_manager.chat_template_name = "chatml"
    error = plain.post(asked()).json()["error"]
    assert (error["param"], "chatml" in error["message"]) == ("/tools", True)


@pytest.mark.parametrize("stream", [False, True])
def test_tools_that_nothing_satisfies_are_told_with_their_place(plain: ToolUpstream, stream: bool) -> None:
    never = {
        **LATER,
        "properties": {name: {"type": "integer", "minimum": 1, "maximum": 1} for name in ("start", "end")},
    }
    answer = plain.post(asked(tools=[tool("a", AWAY), tool("never", never)], stream=stream))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "unsatisfiable")
    assert error["conflict"] == ["later"]
    assert error["param"].startswith("/tools/1/function/parameters")


@pytest.mark.parametrize("stream", [False, True])
def test_a_limit_below_the_shortest_call(plain: ToolUpstream, stream: bool) -> None:
    answer = plain.post(asked(tool_choice="required", max_tokens=3, stream=stream))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (
        400,
        "token_limit_too_small",
        "/max_tokens",
    )
    assert error["token_limit"] == 3


def test_the_default_limit_is_raised_for_long_calls(plain: ToolUpstream) -> None:
    long = {"type": "object", "properties": {"t": {"type": "string", "minLength": 2200, "maxLength": 2300}},
            "required": ["t"], "x-factorspec": {"version": 1}}  # fmt: skip
    answer = plain.post(asked(tools=[tool("long", long)], tool_choice="required", max_tokens=None))
    assert answer.status_code in (200, 400)
    (seen,) = plain.seen
    options = json.loads(seen["sampling_params"][0]["json_schema"])["x-factorspec-request"]
    assert options["token_limit"] == 2048 < options["most_tokens"]


@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_sglang_itself_are_told(plain: ToolUpstream, stream: bool) -> None:
    plain.breaks = {"type": "abort", "message": "Abort in waiting queue", "status_code": 503}
    plain.reports = False
    answer = plain.post(asked(tool_choice="required", stream=stream))
    body = answer.json() if not (stream and answer.status_code == 200) else events_of(answer)[-1]
    assert body["error"]["message"] == "Abort in waiting queue"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_without_its_report_is_not_handed_out(
    plain: ToolUpstream, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("factorspec_server.sglang.answer_chunks.DEADLINE_S", 0.05)
    plain.reports = False
    answer = plain.post(asked(tool_choice="required", stream=stream))
    body = events_of(answer)[-1] if stream else answer.json()
    assert body["error"]["code"] == "server_error"


def test_a_session_that_gave_up_says_why(plain: ToolUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = BudgetSpent("the budget ended", partial="{")
    plain.breaks = {"type": "abort", "message": "gave up", "status_code": 500}
    note = plain.board._note
    told = {"status": status_of(spent), **error_body(spent)}
    monkeypatch.setattr(plain.board, "_note", lambda name, report: note(name, report | {"error": told}))
    answer = plain.post(asked(tool_choice="required"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status_of(spent), "budget_spent")

"""Tool calls through the package: by hand, by its ``parse`` and by its ``stream``."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from tests.conformance.openai_package.callers import Caller
from tests.conformance.openai_package.records import Line, Stay

pytestmark = pytest.mark.needs("tools")

BOOK = openai.pydantic_function_tool(Stay, name="book", description="Books a stay.")
BUY = openai.pydantic_function_tool(Line, name="buy", description="Buys something.")


@pytest.fixture
def asked(chat: dict[str, Any]) -> dict[str, Any]:
    return chat | {"max_tokens": 400, "tools": [BOOK, BUY], "tool_choice": "required"}


def call_of(message: Any) -> Any:
    """The only call of a message."""
    assert message.content is None
    (call,) = message.tool_calls
    assert call.type == "function" and call.id
    return call


@pytest.mark.needs("relations")
def test_a_named_tool_gets_arguments_that_agree(call: Caller, asked: dict[str, Any]) -> None:
    named = {"type": "function", "function": {"name": "book"}}
    answer = call.create(**asked | {"tool_choice": named, "parallel_tool_calls": False})
    (choice,) = answer.choices
    assert choice.finish_reason in ("tool_calls", "stop")
    found = call_of(choice.message)
    assert found.function.name == "book"
    stay = Stay.model_validate_json(found.function.arguments)
    assert stay.start != stay.end
    assert stay.leave - stay.arrive == stay.nights


@pytest.mark.real
def test_parse_gives_instances(call: Caller, asked: dict[str, Any]) -> None:
    (choice,) = call.parse(**asked, parallel_tool_calls=False).choices
    found = call_of(choice.message)
    wanted = {"book": Stay, "buy": Line}[found.function.name]
    assert isinstance(found.function.parsed_arguments, wanted)


@pytest.mark.needs("seed")
def test_streamed_and_whole_calls_are_equal(call: Caller, asked: dict[str, Any]) -> None:
    fields = asked | {"parallel_tool_calls": False}
    whole = call_of(call.create(**fields).choices[0].message)
    choices = [choice for chunk in call.chunks(**fields) for choice in chunk.choices]
    parts = [part for choice in choices for part in choice.delta.tool_calls or ()]
    assert {part.index for part in parts} == {0}
    assert [part.id for part in parts if part.id] == [parts[0].id]
    assert "".join(part.function.name or "" for part in parts if part.function) == whole.function.name
    arguments = "".join(part.function.arguments or "" for part in parts if part.function)
    assert arguments == whole.function.arguments
    events, final = call.events(**fields)
    assert call_of(final.choices[0].message).function.arguments == whole.function.arguments
    assert any(event.type == "tool_calls.function.arguments.done" for event in events)


def test_several_calls_and_their_answers(call: Caller, asked: dict[str, Any]) -> None:
    message = call.create(**asked).choices[0].message
    calls: Any = message.tool_calls
    assert calls
    for each in calls:
        json.loads(each.function.arguments)
    results = [{"role": "tool", "tool_call_id": each.id, "content": "done"} for each in calls]
    messages = [*asked["messages"], message, *results]
    fields = asked | {"messages": messages, "tool_choice": "none", "max_tokens": 5}
    answer = call.create(**fields).choices[0]
    assert answer.message.tool_calls is None
    assert isinstance(answer.message.content, str)


def test_auto_is_text_or_calls(call: Caller, asked: dict[str, Any]) -> None:
    (choice,) = call.create(**asked | {"tool_choice": "auto", "max_tokens": 60}).choices
    assert choice.message.tool_calls or choice.message.content is not None


@pytest.mark.needs("refusals")
def test_a_tool_that_there_is_not(call: Caller, asked: dict[str, Any]) -> None:
    named = {"type": "function", "function": {"name": "fly"}}
    with pytest.raises(openai.BadRequestError, match="fly"):
        call.create(**asked | {"tool_choice": named})

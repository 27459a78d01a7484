"""Several choices for one prompt: ``n``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.openai_package.callers import Caller
from tests.conformance.openai_package.records import Order

pytestmark = pytest.mark.needs("n")


@pytest.mark.needs("chat", "seed")
def test_choices_differ_and_come_again(call: Caller, chat: dict[str, Any]) -> None:
    first, again = (call.create(**chat, n=3) for _ in range(2))
    texts = [choice.message.content for choice in first.choices]
    assert [choice.index for choice in first.choices] == [0, 1, 2]
    assert len(set(texts)) > 1
    assert texts == [choice.message.content for choice in again.choices]
    assert texts[0] == call.create(**chat).choices[0].message.content


@pytest.mark.needs("chat")
def test_usage_counts_the_prompt_once(call: Caller, chat: dict[str, Any]) -> None:
    one, three = call.create(**chat).usage, call.create(**chat, n=3).usage
    assert one is not None and three is not None
    assert three.prompt_tokens == one.prompt_tokens
    assert three.completion_tokens >= one.completion_tokens
    assert three.total_tokens == three.prompt_tokens + three.completion_tokens


@pytest.mark.real
@pytest.mark.needs("chat", "seed")
def test_streamed_and_whole_choices_are_equal(call: Caller, chat: dict[str, Any]) -> None:
    whole = call.create(**chat, n=3)
    chunks = call.chunks(**chat, n=3, stream_options={"include_usage": True})
    for wanted in whole.choices:
        parts = [part for chunk in chunks for part in chunk.choices if part.index == wanted.index]
        assert parts[0].delta.role == "assistant"
        assert "".join(part.delta.content or "" for part in parts) == wanted.message.content
        assert [part.finish_reason for part in parts if part.finish_reason] == [wanted.finish_reason]
        assert parts[-1].finish_reason == wanted.finish_reason
    usage = chunks[-1].usage
    assert usage is not None and whole.usage is not None and not chunks[-1].choices
    assert usage.completion_tokens == whole.usage.completion_tokens


@pytest.mark.needs("record")
def test_parse_gives_an_instance_for_each_choice(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"max_tokens": 300}
    answer = call.parse(**fields, n=4, response_format=Order)
    assert len(answer.choices) == 4
    assert all(isinstance(choice.message.parsed, Order) for choice in answer.choices)
    events, final = call.events(**fields, n=4, response_format=Order)
    assert [type(choice.message.parsed) for choice in final.choices] == [Order] * 4
    assert len([event for event in events if event.type == "content.done"]) == 4

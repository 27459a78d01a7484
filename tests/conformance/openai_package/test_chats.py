"""Ordinary chats: whole and streamed, usage, seeds, stop strings."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.conformance.openai_package.callers import Caller

pytestmark = pytest.mark.needs("chat")


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_an_answer_has_the_fields_that_the_package_declares(call: Caller, chat: dict[str, Any]) -> None:
    answer = call.create(**chat)
    (choice,) = answer.choices
    assert answer.id
    assert answer.created > 0
    assert answer.model == chat["model"]
    assert (choice.index, choice.message.role) == (0, "assistant")
    assert isinstance(choice.message.content, str)
    assert choice.finish_reason in ("stop", "length")
    usage = answer.usage
    assert usage is not None and 1 <= usage.completion_tokens <= 12
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


@pytest.mark.needs("seed")
@pytest.mark.real
def test_streamed_and_whole_answers_are_equal(call: Caller, chat: dict[str, Any]) -> None:
    whole = call.create(**chat)
    chunks = call.chunks(**chat, stream_options={"include_usage": True})
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    assert text_of(chunks) == whole.choices[0].message.content
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices]
    assert reasons[-1] == whole.choices[0].finish_reason
    assert not any(reasons[:-1])
    assert not chunks[-1].choices and chunks[-1].usage is not None and whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert all(chunk.usage is None for chunk in chunks[:-1])


@pytest.mark.needs("seed")
def test_equal_seeds_give_equal_answers(call: Caller, chat: dict[str, Any]) -> None:
    texts = [call.create(**chat | {"seed": seed}).choices[0].message.content for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.needs("seed")
def test_greedy_answers_are_equal_whatever_the_seed(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"temperature": 0}
    texts = {call.create(**fields | {"seed": seed}).choices[0].message.content for seed in (1, 2)}
    assert len(texts) == 1


@pytest.mark.needs("seed", "stop")
def test_a_stop_string_ends_the_answer_before_itself(call: Caller, chat: dict[str, Any]) -> None:
    whole = call.create(**chat).choices[0].message.content or ""
    stop = whole[2:5]
    assert len(stop) == 3, "the answer is too short for this test"
    want = whole[: whole.index(stop)]
    for fields in (chat | {"stop": stop}, chat | {"stop": ["\0never", stop]}):
        choice = call.create(**fields).choices[0]
        assert (choice.message.content, choice.finish_reason) == (want, "stop")
        chunks = call.chunks(**fields)
        assert text_of(chunks) == want
        assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_conversation_with_parts_and_an_earlier_answer(call: Caller, chat: dict[str, Any]) -> None:
    earlier = call.create(**chat).choices[0].message
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Name "}, {"type": "text", "text": "one."}]},
        earlier,
        {"role": "user", "content": "Another."},
    ]
    assert call.create(**chat | {"messages": messages}).choices[0].finish_reason in ("stop", "length")


def test_the_model_is_listed(call: Caller, model: str) -> None:
    assert model in call.models()


@pytest.mark.needs("seed", "stop")
def test_the_packages_stream_helper_reads_a_chat(call: Caller, chat: dict[str, Any]) -> None:
    text = call.create(**chat).choices[0].message.content or ""
    fields = chat | {"stop": [text[2:5]]}
    whole = call.create(**fields).choices[0].message.content
    events, final = call.events(**fields)
    assert final.choices[0].message.content == whole
    assert "".join(event.delta for event in events if event.type == "content.delta") == whole


@pytest.mark.needs("seed")
def test_the_packages_helpers_tell_of_the_limit(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"max_tokens": 2}
    assert call.create(**fields).choices[0].finish_reason == "length"
    for ask in (call.parse, call.events):
        with pytest.raises(openai.LengthFinishReasonError):
            ask(**fields)

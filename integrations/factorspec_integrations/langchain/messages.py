"""LangChain's messages as the bodies of chat completions, and answers as messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    convert_to_openai_messages,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import EngineError

PROVIDER = "factorspec"


def turns_of(messages: Sequence[BaseMessage]) -> list[JsonObject]:
    """The conversation as a request sends it.

    Raises:
        ValueError: a message has content of a kind that no chat completion takes.
    """
    return [turn for message in messages for turn in _turns(message)]


def _turns(message: BaseMessage) -> list[JsonObject]:
    if isinstance(message, AIMessage):
        return [_assistant_turn(message)]
    return cast("list[JsonObject]", convert_to_openai_messages([message]))


def _assistant_turn(message: AIMessage) -> JsonObject:
    """Text and calls alone: what else an earlier answer brought is not for the model to read."""
    turn: JsonObject = {"role": "assistant", "content": str(message.text)}
    calls = [
        *((call, json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls),
        *((call, call["args"] or "") for call in message.invalid_tool_calls),
    ]
    if calls:
        turn["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": text}}
            for call, text in calls
        ]
    return turn | ({"name": message.name} if message.name else {})


def result_of(answer: JsonObject) -> ChatResult:
    """All choices of an answer.

    Raises:
        EngineError: it is no chat completion.
    """
    usage = usage_of(answer)
    generations = [
        ChatGeneration(message=_message(choice, answer, usage if at == 0 else None))
        for at, choice in enumerate(_choices(answer))
    ]
    return ChatResult(
        generations=generations,
        llm_output={"model_name": answer.get("model"), "token_usage": answer.get("usage")},
    )


def message_of(answer: JsonObject) -> AIMessage:
    """The first choice of an answer. Raises as ``result_of``."""
    return _message(_choices(answer)[0], answer, usage_of(answer))


def _choices(answer: JsonObject) -> list[Mapping[str, Any]]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not all(_is_choice(choice) for choice in choices):
        raise EngineError("the server's answer holds no message; is base_url an OpenAI-compatible API?")
    return cast("list[Mapping[str, Any]]", choices)


def _is_choice(choice: object) -> bool:
    return isinstance(choice, dict) and isinstance(choice.get("message"), dict)


def _message(choice: Mapping[str, Any], answer: JsonObject, usage: UsageMetadata | None) -> AIMessage:
    said = choice["message"]
    calls, invalid = _tool_calls(said.get("tool_calls") or ())
    return AIMessage(
        content=said.get("content") or "",
        additional_kwargs={"refusal": said["refusal"]} if said.get("refusal") else {},
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=usage,
        response_metadata=_metadata(choice, answer),
        id=cast("str | None", answer.get("id")),
    )


def _tool_calls(listed: Sequence[dict[str, Any]]) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    calls, invalid = list[ToolCall](), list[InvalidToolCall]()
    for raw in listed:
        try:
            calls.append(cast(ToolCall, parse_tool_call(raw, return_id=True)))
        except OutputParserException as error:
            invalid.append(make_invalid_tool_call(raw, str(error)))
    return calls, invalid


def _metadata(choice: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer says of itself; ``factorspec`` is the server's report and echo."""
    found = {
        "model_provider": PROVIDER,
        "model_name": answer.get("model"),
        "system_fingerprint": answer.get("system_fingerprint"),
        "finish_reason": choice.get("finish_reason"),
        "logprobs": choice.get("logprobs"),
        "factorspec": answer.get("factorspec"),
    }
    return {name: value for name, value in found.items() if value is not None}


def usage_of(answer: Mapping[str, Any]) -> UsageMetadata | None:
    """Token counts as LangChain has them; None where the answer has none."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    found = UsageMetadata(
        input_tokens=read, output_tokens=written, total_tokens=usage.get("total_tokens") or read + written
    )
    reused = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    if reused is not None:
        found["input_token_details"] = {"cache_read": reused}
    return found


def chunks_of(part: JsonObject) -> Iterator[ChatGenerationChunk]:
    """What one chunk of a stream brings: none, a piece of a choice, or the token counts."""
    for choice in cast("list[Mapping[str, Any]]", part.get("choices") or []):
        yield _chunk(choice, part)
    if not part.get("choices") and (usage := usage_of(part)) is not None:
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def _chunk(choice: Mapping[str, Any], part: JsonObject) -> ChatGenerationChunk:
    said = choice.get("delta") or {}
    message = AIMessageChunk(
        content=said.get("content") or "",
        additional_kwargs={"refusal": said["refusal"]} if said.get("refusal") else {},
        tool_call_chunks=[_call_chunk(call) for call in said.get("tool_calls") or ()],
        id=cast("str | None", part.get("id")),
    )
    if choice.get("finish_reason") is None:
        logprobs = choice.get("logprobs")
        return ChatGenerationChunk(
            message=message, generation_info={"logprobs": logprobs} if logprobs else None
        )
    return ChatGenerationChunk(message=message, generation_info=_metadata(choice, part))


def _call_chunk(call: Mapping[str, Any]) -> ToolCallChunk:
    function = call.get("function") or {}
    return tool_call_chunk(
        name=function.get("name"), args=function.get("arguments"), id=call.get("id"), index=call.get("index")
    )


def answer_of(message: AIMessage) -> JsonObject:
    """The answer that a message was made of, as far as strategies read it."""
    told = message.response_metadata
    said: JsonObject = {"role": "assistant", "content": str(message.text)}
    if refusal := message.additional_kwargs.get("refusal"):
        said["refusal"] = refusal
    choice: JsonObject = {"index": 0, "message": said, "finish_reason": told.get("finish_reason")}
    body: JsonObject = {"id": message.id, "model": told.get("model_name"), "choices": [choice]}
    if (usage := message.usage_metadata) is not None:
        body["usage"] = {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
        }
    return body | ({"factorspec": told["factorspec"]} if "factorspec" in told else {})

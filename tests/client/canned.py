"""Transports that answer with what they were given, and the records that tests ask them for."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from factorspec_sdk import records
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import FactorspecError


@records.le("first", "last", name="in order", why="a stay does not end before it begins")
@records.all_different("cities[*]", name="each once")
class Stay(BaseModel):
    """A stay in some cities."""

    cities: Annotated[
        list[Annotated[str, records.In(["Oslo", "Rome", "Köln"])]], Field(min_length=1, max_length=3)
    ]
    first: Annotated[int, Field(ge=1, le=30)]
    last: Annotated[int, Field(ge=1, le=30)]
    note: str = ""


GOOD: dict[str, Any] = {"cities": ["Oslo", "Rome"], "first": 2, "last": 5, "note": "{ok}"}
BAD: dict[str, Any] = {**GOOD, "cities": ["Oslo", "Oslo"], "first": 9}


def completion(text: str, finish_reason: str = "stop", **more: Any) -> JsonObject:
    """An answer of an OpenAI-compatible server; 10 tokens of prompt, 5 of answer."""
    message = {"role": "assistant", "content": text}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        **more,
    }


def as_text(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def chunks_of(answer: JsonObject, size: int = 3) -> Iterator[JsonObject]:
    """The answer as a stream, a few characters a chunk."""
    rest: Any = dict(answer)
    choice = rest.pop("choices")[0]
    usage, message = rest.pop("usage", None), choice["message"]
    text = message["content"]
    for at in range(0, len(text), size):
        yield {"choices": [{"index": 0, "delta": {"content": text[at : at + size]}, "finish_reason": None}]}
    for delta in _more(message):
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}], **rest}
    yield {"choices": [], "usage": usage}


def _more(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a message has beside its text: calls with their arguments in two pieces, a refusal."""
    for index, call in enumerate(message.get("tool_calls") or ()):
        given = call["function"]["arguments"]
        for at, piece in enumerate((given[:3], given[3:])):
            head = {**call, "function": {**call["function"], "arguments": piece}} if at == 0 else {}
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}, **head}]}
    if message.get("refusal"):
        yield {"refusal": message["refusal"]}


class Canned:
    """A transport that gives its answers in turn, and raises those that are errors."""

    def __init__(self, *answers: JsonObject | FactorspecError | str) -> None:
        self.answers = list(answers)
        self.bodies: list[JsonObject] = []

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        self.bodies.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, FactorspecError):
            raise answer
        return completion(answer) if isinstance(answer, str) else answer

    def stream(self, body: JsonObject, *, timeout_s: float) -> Generator[JsonObject]:
        yield from chunks_of(self.complete(body, timeout_s=timeout_s))

    def model_name(self, *, timeout_s: float) -> str:
        return "canned"

    def close(self) -> None:
        """Nothing to close."""

    def said(self, at: int) -> Sequence[Any]:
        """Messages of one request."""
        messages = self.bodies[at]["messages"]
        assert isinstance(messages, list)
        return messages


class AsyncCanned:
    """``Canned`` for asyncio."""

    def __init__(self, *answers: JsonObject | FactorspecError | str) -> None:
        self.inner = Canned(*answers)

    async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        return self.inner.complete(body, timeout_s=timeout_s)

    async def stream(self, body: JsonObject, *, timeout_s: float) -> AsyncGenerator[JsonObject]:
        for chunk in self.inner.stream(body, timeout_s=timeout_s):
            yield chunk

    async def model_name(self, *, timeout_s: float) -> str:
        return "canned"

    async def close(self) -> None:
        """Nothing to close."""

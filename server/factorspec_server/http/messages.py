"""The messages of a conversation as OpenAI's API has them, tool calls and their answers included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from factorspec_sdk.errors import Problem, shown


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: str
    text: str = ""
    refusal: str = ""

    @field_validator("type")
    @classmethod
    def _is_text(cls, value: str) -> str:
        if value not in ("text", "refusal"):
            raise ValueError(f"content of type {value!r} is not supported; this model reads text only")
        return value


class _CalledFunction(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1)]
    arguments: str


class PastCall(BaseModel):
    """A tool call that an earlier answer made. ``index`` is what clients keep of a stream."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: Annotated[str, Field(min_length=1)]
    type: Literal["function"] = "function"
    function: _CalledFunction
    index: int | None = None

    def for_template(self) -> dict[str, object]:
        """The call as chat templates read it: arguments as an object, if they are one."""
        function = {"name": self.function.name, "arguments": _object_of(self.function.arguments)}
        return {"id": self.id, "type": "function", "function": function}


class Message(BaseModel):
    """One turn of the conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: list[_Part] | None = None
    name: str | None = None
    tool_calls: list[PastCall] = []
    tool_call_id: str | None = None
    refusal: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _as_parts(cls, value: object) -> object:
        return [{"type": "text", "text": value}] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _says_something(self) -> Message:
        if self.role != "assistant" and (self.tool_calls or self.refusal is not None):
            raise ValueError("only the assistant's messages have tool_calls or a refusal")
        if (self.role == "tool") != (self.tool_call_id is not None):
            raise ValueError("messages of role 'tool', and only these, have a tool_call_id")
        if self.content is None and not self.tool_calls and self.refusal is None:
            raise ValueError("content is missing")
        return self

    @property
    def text(self) -> str:
        """What the message says; of a refusal, that."""
        said = "".join(part.text or part.refusal for part in self.content or ())
        return said or self.refusal or ""

    def for_template(self, names: dict[str, str]) -> dict[str, object]:
        """The message as chat templates read it; ``names``: of the tools that were called, by id."""
        role = "system" if self.role == "developer" else self.role
        turn: dict[str, object] = {"role": role, "content": self.text}
        name = self.name or names.get(self.tool_call_id or "")
        if name:
            turn["name"] = name
        if self.tool_calls:
            turn["tool_calls"] = [call.for_template() for call in self.tool_calls]
        if self.tool_call_id is not None:
            turn["tool_call_id"] = self.tool_call_id
        return turn


def turns_of(messages: Sequence[Message]) -> list[dict[str, object]]:
    """The conversation as chat templates read it."""
    names = {call.id: call.function.name for message in messages for call in message.tool_calls}
    return [message.for_template(names) for message in messages]


def unanswerable(messages: Sequence[Message]) -> Iterator[Problem]:
    """Messages of role 'tool' that answer no call made before."""
    made: set[str] = set()
    for at, message in enumerate(messages):
        if message.tool_call_id is not None and message.tool_call_id not in made:
            text = "no assistant message before has a tool call of this id"
            hint = "send the assistant's message with its tool_calls too"
            yield Problem(f"/messages/{at}/tool_call_id", text, shown(message.tool_call_id), hint)
        made.update(call.id for call in message.tool_calls)


def _object_of(text: str) -> object:
    """The object that a JSON text holds; the text itself where it holds none."""
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text

"""For people who stay on the ``openai`` package: plain functions around its own calls.

::

    from openai import OpenAI
    from factorspec_sdk.openai import parse, response_format, tool, tool_calls

    client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")
    answer = client.chat.completions.create(model=..., messages=..., response_format=response_format(Trip))
    trip = parse(Trip, answer)

    answer = client.chat.completions.create(model=..., messages=..., tools=[tool(Book), tool(Cancel)])
    for call in tool_calls([Book, Cancel], answer):
        print(call.name, call.arguments)

The same dictionaries go into ``create``, ``parse`` and ``stream`` of both clients; nothing here imports the
package. Where the package itself shall make the typed object, give its ``parse`` the class
``factorspec_integrations.with_relations(Trip)``, and its answer to ``parse`` here, which checks the echo.

Answers are checked as ``fs.Client`` checks them: the server has to say that it enforced the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer
from factorspec_sdk.client.enforcement import confirm_record, confirm_tools
from factorspec_sdk.client.exchange import json_or_none, record_name
from factorspec_sdk.client.reading import problem_of
from factorspec_sdk.client.tool_calls import ToolCall
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DocumentError, EngineError, JsonValue, Problem, shown
from factorspec_sdk.records import spec

T = TypeVar("T", bound=BaseModel)

#: an answer of the package, the same as JSON, or what ``gather`` makes of a stream
Answer = BaseModel | Mapping[str, Any]
#: models that stand for tools: each under its own name, or under names of one's own
Tools = Sequence[type[BaseModel]] | Mapping[str, type[BaseModel]]


def response_format(model: type[BaseModel], *, name: str | None = None) -> dict[str, Any]:
    """What a request's ``response_format`` has to be for a record.

    Args:
        model: bound if it has parameters.
        name: letters, digits, ``-`` and ``_``; None takes the model's.

    Raises:
        DeclarationError: the model cannot be sent.
    """
    schema = {"name": name or record_name(model), "strict": True, "schema": spec(model).document}
    return {"type": "json_schema", "json_schema": schema}


def tool(
    model: type[BaseModel], *, name: str | None = None, description: str | None = None
) -> dict[str, Any]:
    """One entry of a request's ``tools``, whose arguments are a record.

    Args:
        model: of the arguments; bound if it has parameters.
        name: None takes the model's.
        description: what the tool is for; None takes the model's docstring.

    Raises:
        DeclarationError: the model cannot be sent.
    """
    document = spec(model).document
    told = description or document.get("description")
    about = {} if told is None else {"description": told}
    function = {"name": name or record_name(model), **about, "strict": True, "parameters": document}
    return {"type": "function", "function": function}


def parse(model: type[T], answer: Answer, *, choice: int = 0) -> T:
    """The record of an answer.

    Args:
        model: the one that the request's ``response_format`` was made of.
        answer: of ``create``, ``parse`` or ``with_raw_response``'s body; for streams see ``gather``.
        choice: where the request asks for several.

    Raises:
        NotEnforced: the server did not say that it enforced the model's spec.
        Incomplete: the answer ended before the record was complete.
        RecordError: the model declined or called a tool instead, or the record does not pass the model's own
            validation.
        EngineError: this is no answer.
    """
    body = _plain(answer)
    message, reason = _message(body, choice)
    confirm_record(body, spec(model).hash)
    text = message.get("content")
    if isinstance(message.get("refusal"), str):
        raise _invalid(f"the model declined: {message['refusal']}", body)
    if reason == "length" or reason == "content_filter":
        told = f"the answer ended ({reason}) before the record was complete; allow more tokens"
        raise IncompleteAnswer(told, partial=str(text or ""), raw=body)
    if not isinstance(text, str) or not text:
        raise _invalid("the answer holds no record", body)
    return _validated(model, text, body)


def tool_calls(tools: Tools, answer: Answer, *, choice: int = 0) -> list[ToolCall]:
    """The calls of an answer, in order; none where the model wrote text instead.

    Args:
        tools: the models that the request's ``tools`` were made of.
        answer: as for ``parse``.
        choice: where the request asks for several.

    Raises:
        NotEnforced: the server did not say that it enforced the arguments of all of them.
        Incomplete: the answer ended in mid-call.
        RecordError: a call names another tool, or its arguments do not pass their model's own validation.
        EngineError: this is no answer.
    """
    named = dict(tools) if isinstance(tools, Mapping) else {record_name(model): model for model in tools}
    body = _plain(answer)
    message, reason = _message(body, choice)
    confirm_tools(body, {name: spec(model).hash for name, model in named.items()})
    listed = message.get("tool_calls")
    calls = cast("list[Any]", listed) if isinstance(listed, list) else []
    if calls and reason == "length":
        told = "the answer ended (length) before its calls were complete; allow more tokens"
        raise IncompleteAnswer(told, partial=str(calls[-1]["function"]["arguments"]), raw=body)
    return [_call(named, call, body) for call in calls]


def gather(parts: Iterable[object]) -> JsonObject:
    """The answer that a stream's parts come to, for ``parse`` and ``tool_calls``.

    Args:
        parts: all chunks of ``create(stream=True)``, or all events of ``stream()``; of an asynchronous stream
            a list of them. The package's own ``get_final_completion`` loses what the server says of the spec.

    Raises:
        EngineError: these are no parts of an answer.
    """
    body: JsonObject = {}
    choices: dict[int, _Choice] = {}
    for part in parts:
        chunk = getattr(part, "chunk", part)
        if chunk is part and not isinstance(part, Mapping) and not hasattr(part, "choices"):
            continue  # an event that tells of chunks
        plain = _plain(chunk)
        body |= {name: value for name, value in plain.items() if name != "choices" and value is not None}
        for one in cast("list[Any]", plain.get("choices") or []):
            choices.setdefault(one["index"], _Choice()).add(one)
    gathered: list[JsonValue] = [choices[at].whole(at) for at in sorted(choices)]
    return {**body, "object": "chat.completion", "choices": gathered}


@dataclass(slots=True)
class _Choice:
    """One choice of a stream, as far as it has come."""

    said: dict[str, str] = field(default_factory=dict)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    reason: JsonValue = None

    def add(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or {}
        for name in ("content", "refusal"):
            if delta.get(name) is not None:
                self.said[name] = self.said.get(name, "") + delta[name]
        for call in delta.get("tool_calls") or ():
            made = self.calls.setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
            made["id"] = call.get("id") or made["id"]
            function = call.get("function") or {}
            made["name"] = function.get("name") or made["name"]
            made["arguments"] += function.get("arguments") or ""
        self.reason = choice.get("finish_reason") or self.reason

    def whole(self, index: int) -> JsonObject:
        calls: list[JsonValue] = [
            {
                "id": one["id"],
                "type": "function",
                "function": {"name": one["name"], "arguments": one["arguments"]},
            }
            for _, one in sorted(self.calls.items())
        ]
        message: JsonObject = {"role": "assistant", "content": self.said.get("content")}
        message |= {"refusal": self.said.get("refusal"), **({"tool_calls": calls} if calls else {})}
        return {"index": index, "message": message, "finish_reason": self.reason}


def _call(named: Mapping[str, type[BaseModel]], call: Any, body: JsonObject) -> ToolCall:
    function = call["function"]
    model = named.get(function["name"])
    if model is None:
        raise _invalid(f"the answer calls {function['name']!r}; the tools are {', '.join(named)}", body)
    text = function["arguments"]
    return ToolCall(call["id"], function["name"], _validated(model, text, body), text)


def _validated(model: type[T], text: str, body: JsonObject) -> T:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        problems = [problem_of(item) for item in error.errors(include_url=False, include_context=False)]
        message = f"the record does not pass the validation of {model.__name__}"
        raise InvalidAnswer(message, problems, text=text, value=json_or_none(text), raw=body) from error


def _invalid(message: str, body: JsonObject) -> InvalidAnswer:
    return InvalidAnswer(message, (), text="", value=None, raw=body)


def _plain(answer: object) -> JsonObject:
    """An answer or a chunk as JSON, with the fields that the package does not know."""
    if isinstance(answer, BaseModel):
        return answer.model_dump(mode="json", by_alias=True, warnings=False)
    if isinstance(answer, Mapping):
        return dict(answer)
    hint = "give what create(...) returns; collect a stream with gather(...)"
    raise DocumentError("this is no answer", [Problem("answer", "cannot be read", shown(answer), hint)])


def _message(body: JsonObject, choice: int) -> tuple[Mapping[str, JsonValue], JsonValue]:
    """The message of a choice, and why it ended."""
    choices = body.get("choices")
    found = choices[choice] if isinstance(choices, list) and 0 <= choice < len(choices) else None
    message = found.get("message") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(message, dict):
        raise EngineError(f"the answer has no choices[{choice}] with a message")
    return message, found.get("finish_reason")

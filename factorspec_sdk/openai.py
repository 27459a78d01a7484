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
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer
from factorspec_sdk.client.enforcement import confirm_record, confirm_tools
from factorspec_sdk.client.exchange import json_or_none, record_name
from factorspec_sdk.client.reading import problem_of
from factorspec_sdk.client.tool_calls import SentCall, ToolCall, is_list
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DeclarationError, DocumentError, EngineError, JsonValue, Problem, shown
from factorspec_sdk.records import spec

T = TypeVar("T", bound=BaseModel)

_NO_TOOLS = "the calls of these tools cannot be read"

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
    document = spec(model).document
    schema = {"name": name or record_name(model), "strict": True, "schema": document}
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
        DeclarationError: these are no tools, or two have one name.
        NotEnforced: the server did not say that it enforced the arguments of all of them.
        Incomplete: the answer ended in mid-call.
        RecordError: a call names another tool, or its arguments do not pass their model's own validation.
        EngineError: this is no answer.
    """
    named = _named(tools)
    body = _plain(answer)
    message, reason = _message(body, choice)
    confirm_tools(body, {name: spec(model).hash for name, model in named.items()})
    calls = _read(_CALLS, message.get("tool_calls") or [], "the answer's tool_calls")
    if calls and reason == "length":
        told = "the answer ended (length) before its calls were complete; allow more tokens"
        raise IncompleteAnswer(told, partial=calls[-1].function.arguments, raw=body)
    return [_call(named, call, body) for call in calls]


def gather(parts: Iterable[object]) -> JsonObject:
    """The answer that a stream's parts come to, for ``parse`` and ``tool_calls``.

    Args:
        parts: all chunks of ``create(stream=True)``, or all events of ``stream()``; of an asynchronous stream
            a list of them. The package's own ``get_final_completion`` loses what the server says of the spec.

    Raises:
        EngineError: these are no parts of an answer, or one tells of an error.
    """
    body: JsonObject = {}
    choices: dict[int, _Choice] = {}
    for part in parts if _is_iterable(parts) else ():
        chunk = getattr(part, "chunk", part)
        if chunk is part and not isinstance(part, Mapping) and not hasattr(part, "choices"):
            continue  # an event that tells of chunks
        plain = _plain(chunk)
        body |= {name: value for name, value in plain.items() if name != "choices" and value is not None}
        for one in _read(_PIECES, plain.get("choices") or [], "a chunk's choices"):
            choices.setdefault(one.index, _Choice()).add(one)
    if not choices:
        told = f"error {shown(body['error'])}" if "error" in body else "no chunk with a choice"
        raise EngineError(f"the stream holds {told}; gather takes all parts of one, in order")
    gathered: list[JsonValue] = [choices[at].whole(at) for at in sorted(choices)]
    return {**body, "object": "chat.completion", "choices": gathered}


class _FunctionPiece(BaseModel):
    name: str | None = None
    arguments: str | None = None


class _CallPiece(BaseModel):
    index: int
    id: str | None = None
    function: _FunctionPiece | None = None


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None


class _ChoicePiece(BaseModel):
    index: int
    delta: _Delta | None = None
    finish_reason: str | None = None


_CALLS = TypeAdapter(list[SentCall])
_PIECES = TypeAdapter(list[_ChoicePiece])
_R = TypeVar("_R")


def _read(wanted: TypeAdapter[_R], value: object, place: str) -> _R:
    """A part of an answer. Raises EngineError where it is none."""
    try:
        return wanted.validate_python(value)
    except ValidationError as error:
        problems = [problem_of(item) for item in error.errors(include_url=False, include_context=False)]
        raise EngineError(f"{place} cannot be read", problems) from error


@dataclass(slots=True)
class _Choice:
    """One choice of a stream, as far as it has come."""

    said: dict[str, str] = field(default_factory=dict)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    reason: JsonValue = None

    def add(self, choice: _ChoicePiece) -> None:
        delta = choice.delta or _Delta()
        for name, text in (("content", delta.content), ("refusal", delta.refusal)):
            if text is not None:
                self.said[name] = self.said.get(name, "") + text
        for call in delta.tool_calls or ():
            made = self.calls.setdefault(call.index, {"id": "", "name": "", "arguments": ""})
            made["id"] = call.id or made["id"]
            function = call.function or _FunctionPiece()
            made["name"] = function.name or made["name"]
            made["arguments"] += function.arguments or ""
        self.reason = choice.finish_reason or self.reason

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


def _is_iterable(parts: object) -> bool:
    return isinstance(parts, Iterable)


def _named(tools: Tools) -> dict[str, type[BaseModel]]:
    """The models by their tools' names. Raises DeclarationError."""
    if isinstance(tools, Mapping):
        return dict(tools)
    if not is_list(tools):
        problem = Problem("tools", "are no models", shown(tools), "give a list of models, or models by name")
        raise DeclarationError(_NO_TOOLS, [problem])
    named: dict[str, type[BaseModel]] = {}
    for at, model in enumerate(tools):
        if not isinstance(model, type):
            raise DeclarationError(_NO_TOOLS, [Problem(f"tools[{at}]", "is no model", shown(model))])
        name = record_name(model)
        if name in named:
            hint = "give models by name"
            problem = Problem(f"tools[{at}]", "another tool has this name", shown(name), hint)
            raise DeclarationError(_NO_TOOLS, [problem])
        named[name] = model
    return named


def _call(named: Mapping[str, type[BaseModel]], call: SentCall, body: JsonObject) -> ToolCall:
    name, text = call.function.name, call.function.arguments
    model = named.get(name)
    if model is None:
        raise _invalid(f"the answer calls {name!r}; the tools are {', '.join(named)}", body)
    return ToolCall(call.id, name, _validated(model, text, body), text)


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

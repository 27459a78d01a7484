"""Asking a model to call tools: Pydantic models as the tools' parameters, typed calls as the answer::

answer = client.call_tools([BookTrip, PlanMeeting], "Book Oslo for three days.")
for call in answer.calls:
match call.arguments:
case BookTrip() as trip: ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Literal, TypedDict

from pydantic import BaseModel, ValidationError

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer
from factorspec_sdk.client.conversation import turns_of
from factorspec_sdk.client.enforcement import confirm_tools
from factorspec_sdk.client.exchange import Options, record_name
from factorspec_sdk.client.reading import problem_of, usage_of
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DeclarationError, EngineError, JsonValue, Problem, Usage, shown
from factorspec_sdk.records import spec as spec_of
from factorspec_sdk.wire import Spec

#: text or calls as the model likes, calls in any case, or of one tool by its model
ToolChoice = Literal["auto", "required"] | type[BaseModel]
#: a message of the conversation; an answer's ``message`` and answers to its calls are such messages too
ToolMessage = Mapping[str, JsonValue]

_CANNOT = "the tools cannot be asked for like this"


class ToolWishes(TypedDict, total=False):
    """How tools are asked for; see ``Client.call_tools``. All may be left out."""

    tool_choice: ToolChoice
    parallel: bool
    refusal: bool
    max_tokens: int | None
    temperature: float
    top_p: float
    seed: int | None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model wants made.

    Attributes:
        id: to answer it by.
        name: of the tool.
        arguments: the tool's model, validated.
        text: the arguments as JSON text.
    """

    id: str
    name: str
    arguments: BaseModel
    text: str

    def answered(self, content: str) -> ToolMessage:
        """The message that tells the model what the call came to."""
        return {"role": "tool", "tool_call_id": self.id, "content": content}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the model said.

    Attributes:
        calls: the calls that it wants made, in order; none if it answered in text or declined.
        content: text, None where there is none.
        refusal: why it declined, where it was allowed to.
        usage: token counts.
        message: the assistant's message, for a conversation that goes on.
        raw: the whole answer.
    """

    calls: tuple[ToolCall, ...]
    content: str | None
    refusal: str | None
    usage: Usage
    message: ToolMessage
    raw: JsonObject


class _Function(BaseModel):
    name: str
    arguments: str


class SentCall(BaseModel):
    """A call as answers hold it."""

    id: str
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[SentCall] | None = None


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """Tools asked for: what is sent, and what comes back of it.

    Attributes:
        tools: the models by name.
        specs: their specs, likewise.
        turns: the conversation.
        options: how it is asked.
        wishes: which tools may or must be called.
    """

    tools: Mapping[str, type[BaseModel]]
    specs: Mapping[str, Spec]
    turns: tuple[JsonObject, ...]
    options: Options
    wishes: ToolWishes

    @classmethod
    def of(
        cls,
        tools: Sequence[type[BaseModel]],
        messages: str | Sequence[ToolMessage],
        model: str,
        wishes: ToolWishes,
    ) -> ToolExchange:
        """The exchange for some tools.

        Raises:
            DeclarationError: a model or the conversation cannot be sent, or an option is none, or has a
                value that it cannot have.
        """
        if not is_list(tools):
            problem = Problem(
                "tools", "are no list of models", shown(tools), "give Pydantic models in a list"
            )
            raise DeclarationError(_CANNOT, [problem])
        documents = [spec_of(tool) for tool in tools]
        problems = list(_wrong(tools, wishes))
        if problems:
            raise DeclarationError(_CANNOT, problems)
        options = Options(
            model=model,
            max_tokens=wishes.get("max_tokens"),
            temperature=wishes.get("temperature", 0.0),
            top_p=wishes.get("top_p", 1.0),
            seed=wishes.get("seed"),
        )
        named = {record_name(tool): tool for tool in tools}
        specs = dict(zip(named, documents, strict=True))
        return cls(named, specs, tuple(turns_of(messages)), options, wishes)

    @property
    def body(self) -> JsonObject:
        """The request."""
        options, wishes = self.options, self.wishes
        choice = wishes.get("tool_choice", "auto")
        body: JsonObject = {
            "model": options.model,
            "messages": [*self.turns],
            "temperature": options.temperature,
            "top_p": options.top_p,
            "tools": [*self._tools()],
            "tool_choice": choice if isinstance(choice, str) else _named(record_name(choice)),
            "parallel_tool_calls": wishes.get("parallel", True),
        }
        if options.max_tokens is not None:
            body["max_tokens"] = options.max_tokens
        if options.seed is not None:
            body["seed"] = options.seed
        if wishes.get("refusal", False):
            body["factorspec"] = {"refusal": True}
        return body

    def _tools(self) -> Iterator[JsonObject]:
        for name, tool in self.tools.items():
            function: JsonObject = {"name": name, "parameters": self.specs[name].document, "strict": True}
            said = tool.__doc__
            if said:
                function["description"] = cleandoc(said)
            yield {"type": "function", "function": function}

    def answer(self, raw: JsonObject) -> ToolAnswer:
        """What the server's answer says.

        Raises:
            NotEnforced: the server did not confirm the tools' specs.
            Incomplete: the answer ended before it was complete.
            RecordError: a call's arguments do not pass their model's validation.
            EngineError: the answer is no chat completion.
        """
        confirm_tools(raw, {name: spec.hash for name, spec in self.specs.items()})
        message, finish_reason = _message_of(raw)
        usage = usage_of(raw)
        if usage is None:
            raise EngineError(f"the server's token counts cannot be read: {shown(raw.get('usage'))}")
        if finish_reason == "length":
            text = "the answer ended (length) before it was complete; allow more tokens"
            raise IncompleteAnswer(text, partial=message.content or "", raw=raw)
        calls = tuple(self._call(call, raw) for call in message.tool_calls or ())
        said: dict[str, JsonValue] = {"role": "assistant", "content": message.content}
        if calls:
            said["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for call in calls
            ]
        if message.refusal is not None:
            said["refusal"] = message.refusal
        return ToolAnswer(calls, message.content, message.refusal, usage, said, raw)

    def _call(self, call: SentCall, raw: JsonObject) -> ToolCall:
        name, text = call.function.name, call.function.arguments
        tool = self.tools.get(name)
        if tool is None:
            raise EngineError(f"the server called {shown(name)}, which is none of the tools")
        try:
            return ToolCall(call.id, name, tool.model_validate_json(text), text)
        except ValidationError as error:
            problems = [problem_of(item) for item in error.errors(include_url=False, include_context=False)]
            message = f"the arguments of {name} do not pass its validation"
            raise InvalidAnswer(message, problems, text=text, value=None, raw=raw) from error


def _message_of(raw: JsonObject) -> tuple[_Message, object]:
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise EngineError("the server's answer holds no message; is base_url an OpenAI-compatible API?")
    try:
        return _Message.model_validate(choice.get("message")), choice.get("finish_reason")
    except ValidationError as error:
        raise EngineError(f"the server's message cannot be read: {error}") from error


def is_list(tools: object) -> bool:
    """Whether these may be models, one after the other."""
    return isinstance(tools, Sequence) and not isinstance(tools, str)


def _named(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _wrong(tools: Sequence[type[BaseModel]], wishes: ToolWishes) -> Iterator[Problem]:
    """What is wrong with the tools and the choice among them."""
    if not tools:
        yield Problem("tools", "there are none", hint="give at least one Pydantic model")
    for at, tool in enumerate(tools):
        if any(record_name(tool) == record_name(other) for other in tools[:at]):
            yield Problem(f"tools[{at}]", "another tool has this name", shown(record_name(tool)))
    choice = wishes.get("tool_choice", "auto")
    if not (choice in ("auto", "required") if isinstance(choice, str) else choice in tools):
        hint = "take 'auto', 'required' or one of the tools"
        yield Problem("tool_choice", "is none that there is", shown(choice), hint)
    for name in wishes:
        if name not in ToolWishes.__annotations__:
            hint = f"there are {', '.join(ToolWishes.__annotations__)}"
            yield Problem(name, "is no option of tool calls", shown(wishes.get(name)), hint)
    for name in ("parallel", "refusal"):
        if not isinstance(wishes.get(name, False), bool):
            yield Problem(name, "must be True or False", shown(wishes.get(name)))

"""A chat completion request: what is understood, what is harmless, and what is refused by name.

A field that would change the answer and is not supported is an error, never ignored (P4). Null means absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic import JsonValue as AnyJson

from factorspec_sdk.errors import DocumentError, JsonValue, Problem, UnsupportedKeyword, reason_of, shown
from factorspec_server.http.messages import Message, unanswerable
from factorspec_server.http.tool_request import Tool, ToolChoice, wrong_tools
from factorspec_server.salts import MOST_CHARS

SCHEMA_POINTER = "/response_format/json_schema/schema"

_HARMLESS = frozenset({
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
    "prompt_cache_retention",
})  # fmt: skip

# Fields that change the answer, and the values that ask for nothing.
_NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
}

_HINTS: Mapping[str, str] = {"functions": "send tools", "function_call": "send tool_choice"}

# In messages as clients send them back after an answer.
_EMPTY_IN_MESSAGES = ("refusal", "audio", "annotations", "tool_calls", "function_call", "reasoning_content")


class _JsonSchema(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = "record"
    description: str | None = None
    schema_: Annotated[dict[str, AnyJson], Field(alias="schema")]
    strict: bool | None = None


class _ResponseFormat(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: Literal["text", "json_schema"]
    json_schema: _JsonSchema | None = None


class _StreamOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    include_usage: bool = False
    include_obfuscation: bool = False


class Wishes(BaseModel):
    """The vendor field ``factorspec`` of a request.

    Attributes:
        origins: the report says where each token came from.
        on_budget: where a budget ends in mid-record, go on among proven values, or abort with an error.
        canonical_text: free text is written in the tokenizer's own tokens too, at a cost for each token.
        refusal: the model may decline, with a reason, instead of writing the record or a call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    origins: bool = False
    on_budget: Literal["narrow", "abort"] = "narrow"
    canonical_text: bool = False
    refusal: bool = False


_Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
_Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]
_StopString = Annotated[str, Field(min_length=1, max_length=1000)]
_TOKEN_ID = re.compile(r"0|[1-9][0-9]{0,9}")


class ChatRequest(BaseModel):
    """The fields that are understood. Temperature and top_p default as OpenAI's do."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[Message], Field(min_length=1)]
    response_format: _ResponseFormat | None = None
    tools: list[Tool] = []
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool = True
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None
    temperature: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int | None, Field(ge=1)] = None
    min_p: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    frequency_penalty: _Penalty = 0.0
    presence_penalty: _Penalty = 0.0
    repetition_penalty: Annotated[float, Field(gt=0, le=2, allow_inf_nan=False)] = 1.0
    logit_bias: Annotated[dict[str, _Bias], Field(max_length=1024)] = {}
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] = 0
    seed: Annotated[int | None, Field(ge=-(1 << 63), lt=1 << 64)] = None
    cache_salt: Annotated[str | None, Field(min_length=1, max_length=MOST_CHARS)] = None
    n: Annotated[int, Field(ge=1)] = 1
    stop: Annotated[list[_StopString], Field(max_length=16)] = []
    stream: bool = False
    stream_options: _StreamOptions = _StreamOptions()
    factorspec: Wishes = Wishes()

    @field_validator("stop", mode="before")
    @classmethod
    def _as_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("logit_bias")
    @classmethod
    def _keys_are_tokens(cls, value: dict[str, float]) -> dict[str, float]:
        wrong = [key for key in value if not _TOKEN_ID.fullmatch(key)]
        if wrong:
            raise ValueError(f"keys must be token ids in digits, got {shown(wrong[0])}")
        return value

    @property
    def schema_document(self) -> dict[str, JsonValue] | None:
        """The document to enforce, or None for an ordinary chat."""
        wanted = self.response_format
        return None if wanted is None or wanted.json_schema is None else wanted.json_schema.schema_

    @property
    def offered_tools(self) -> list[Tool]:
        """The tools that the model is told of: none where it must not call any."""
        return [] if self.tool_choice is not None and self.tool_choice.mode == "none" else self.tools

    @property
    def callable_tools(self) -> list[Tool]:
        """Those of them that the answer may call."""
        names = None if self.tool_choice is None else self.tool_choice.names
        return [tool for tool in self.offered_tools if names is None or tool.name in names]

    @property
    def must_call(self) -> bool:
        """True if the answer must be calls."""
        return self.tool_choice is not None and self.tool_choice.mode == "required"

    @property
    def is_text(self) -> bool:
        """True if the answer is text, or text that may turn into calls: nothing has to be written."""
        return self.schema_document is None and not self.must_call

    @property
    def token_limit(self) -> int | None:
        """Most tokens of the completion, where the request says so."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit is not None]
        return min(limits, default=None)

    @property
    def token_limit_field(self) -> str:
        """JSON pointer of the field that limits the completion."""
        return "/max_completion_tokens" if self.max_completion_tokens is not None else "/max_tokens"


def read_chat_request(
    body: Mapping[str, JsonValue], *, most_choices: int = 1, num_tokens: int | None = None
) -> ChatRequest:
    """The request that a JSON body holds.

    Args:
        body: the request.
        most_choices: that one request may ask for.
        num_tokens: token ids that the model has; None: not known.

    Raises:
        UnsupportedKeyword: a field asks for what this server does not do.
        DocumentError: a field is missing or malformed. Both name all problems, each with a JSON pointer.
    """
    present = {name: value for name, value in body.items() if value is not None and name not in _HARMLESS}
    refused = [_unsupported(name, present.pop(name)) for name in list(present) if name in _NEUTRAL]
    problems = [problem for problem in refused if problem is not None]
    unsupported = bool(problems)
    request: ChatRequest | None = None
    try:
        request = ChatRequest.model_validate(_without_empty(present), by_alias=True)
    except ValidationError as error:
        problems += _problems_of(error)
        unsupported = unsupported or any(item["type"] == "extra_forbidden" for item in error.errors())
    else:
        problems += _contradictions(request)
        problems += _beyond_the_server(request, most_choices, num_tokens)
    if problems or request is None:
        kind = UnsupportedKeyword if unsupported else DocumentError
        raise kind("the request cannot be served", problems)
    return request


def _unsupported(name: str, value: JsonValue) -> Problem | None:
    # compared by type as well: True is no count, 1 is no flag
    neutral = _NEUTRAL[name]
    if any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in neutral):
        return None
    hint = f"leave it out or send {neutral[0]!r}" if neutral else "leave it out"
    hint = _HINTS.get(name, hint)
    return Problem(f"/{name}", f"{name} is not supported and would change the answer", shown(value), hint)


def _without_empty(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The body without fields that say nothing."""
    found = dict(body)
    messages = found.get("messages")
    if isinstance(messages, list):
        found["messages"] = [_message(one) for one in messages]
    for name in ("response_format", "stream_options"):
        part = found.get(name)
        if isinstance(part, dict):
            found[name] = {key: value for key, value in part.items() if value is not None}
    return found


def _message(message: JsonValue) -> JsonValue:
    if not isinstance(message, dict):
        return message
    empty = {name for name in _EMPTY_IN_MESSAGES if name in message and not message[name]}
    return {key: value for key, value in message.items() if key not in empty}


def read_wishes(given: JsonValue) -> tuple[Wishes, list[Problem]]:
    """What a request's vendor field asks for, null for nothing, and what is wrong with it."""
    try:
        return Wishes.model_validate({} if given is None else given), []
    except ValidationError as error:
        return Wishes(), _problems_of(error, "/factorspec")


def _problems_of(error: ValidationError, within: str = "") -> list[Problem]:
    problems = []
    for item in error.errors(include_url=False):
        pointer = within + "".join(f"/{_escaped(str(step))}" for step in item["loc"])
        if item["type"] == "extra_forbidden":
            message = "unknown field; refused rather than ignored"
        elif item["type"] == "model_type":
            message = "must be an object"
        elif pointer == "/response_format/type":
            message = "must be 'json_schema' or 'text'; for any JSON, send the JSON Schema of what you need"
        else:
            message = reason_of(item["msg"])
        value = None if item["type"] == "missing" else shown(item["input"])
        problems.append(Problem(pointer, message, value, _hint(pointer, item["type"])))
    return problems


def _hint(pointer: str, kind: str) -> str | None:
    """Where a field of ours belongs, or which there are."""
    parent, _, name = pointer.rpartition("/")
    if kind != "extra_forbidden":
        return None
    if parent == "/factorspec":
        return f"its fields are {', '.join(Wishes.model_fields)}"
    return f"It belongs to /factorspec/{name}" if not parent and name in Wishes.model_fields else None


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _contradictions(request: ChatRequest) -> list[Problem]:
    wanted = request.response_format
    problems = []
    if wanted is not None and (wanted.type == "json_schema") != (wanted.json_schema is not None):
        message = "is missing" if wanted.json_schema is None else "stands beside type 'text'"
        problems.append(Problem("/response_format/json_schema", message, None, "send both or neither"))
    if request.is_text and not request.callable_tools and request.factorspec.canonical_text:
        message = "only the text of a record can be held to it, and no schema is asked for"
        hint = "leave it out or send a response_format; refused rather than ignored"
        problems.append(Problem("/factorspec/canonical_text", message, "True", hint))
    if request.is_text and request.factorspec.refusal:
        message = "the model may answer in text here, so it needs no other way to decline"
        hint = "leave it out, or send a response_format or tool_choice 'required'"
        problems.append(Problem("/factorspec/refusal", message, "True", hint))
    if not request.is_text and request.stop:
        message = "a record ends where it is complete; a stop string could only cut it short of that"
        problems.append(Problem("/stop", message, shown(request.stop), "leave it out"))
    if request.top_logprobs and not request.logprobs:
        message = "asks for alternatives of log-probabilities that are not asked for"
        problems.append(Problem("/top_logprobs", message, shown(request.top_logprobs), "send logprobs: true"))
    if request.logprobs and (request.offered_tools or request.factorspec.refusal):
        message = "is not supported beside tools or a refusal: calls and refusals have no place in it"
        problems.append(Problem("/logprobs", message, "True", "leave out one of them"))
    problems += wrong_tools(request.tools, request.tool_choice)
    return [*problems, *unanswerable(request.messages)]


def _beyond_the_server(request: ChatRequest, most_choices: int, num_tokens: int | None) -> list[Problem]:
    """What another server, or this one with another model, might take."""
    problems = []
    if request.n > most_choices:
        message = f"n must be at most {most_choices} on this server"
        problems.append(Problem("/n", message, shown(request.n), "send several requests"))
    unknown = [key for key in request.logit_bias if num_tokens is not None and int(key) >= num_tokens]
    if unknown:
        message = f"the model's token ids end at {num_tokens and num_tokens - 1}"
        problems.append(Problem(f"/logit_bias/{unknown[0]}", message, shown(unknown[0]), "leave it out"))
    return problems

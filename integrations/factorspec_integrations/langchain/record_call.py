"""How a record is asked for through a chat model: requests as arguments of its call, messages as answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel

from factorspec_integrations.langchain.messages import answer_of, turns_of
from factorspec_integrations.langchain.refusals import raise_for_refusal
from factorspec_integrations.langchain.schemas import Wanted
from factorspec_sdk.client.exchange import Exchange, Options, Wishes
from factorspec_sdk.client.result import Result
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DeclarationError, Problem, shown

Method = Literal["json_schema", "function_calling", "json_mode"]

_ASKED = ("response_format", "factorspec")
_CANNOT = "the record cannot be asked for like this"


@dataclass(frozen=True, slots=True)
class RecordCall:
    """How a record is asked for.

    Attributes:
        wanted: the record.
        options: as the SDK has them.
        given: names of the options that the caller gave; others are the chat model's.
        method: how the request asks for it.
        include_raw: whether messages and errors are given beside the record.
        may_decline: whether the model may refuse, with a reason.
    """

    wanted: Wanted
    options: Options
    given: frozenset[str]
    method: Method
    include_raw: bool
    may_decline: bool = False

    @classmethod
    def of(
        cls,
        schema: dict[str, Any] | type,
        *,
        method: Method,
        include_raw: bool,
        wishes: Mapping[str, Any],
    ) -> RecordCall:
        """How a schema is asked for.

        Raises:
            DeclarationError: the schema cannot be sent, or an option is none, or has a value that it cannot
                have.
        """
        _check(method, wishes)
        wanted = Wanted.of(schema)
        made = cls(wanted, Options(model="", **wishes), frozenset(wishes), method, include_raw)
        if wanted.is_plain and made.is_checked:
            hint = "declare it as a Pydantic model"
            problem = Problem("schema", "only a model's own validation can check answers", None, hint)
            raise DeclarationError(_CANNOT, [problem])
        return made

    @property
    def is_checked(self) -> bool:
        """Whether answers may be taken back, so that no part of them can be shown early."""
        return self.options.strategy in ("retry", "repair") or self.options.fallback is not None

    def exchange(self, given: LanguageModelInput) -> Exchange[BaseModel]:
        """The exchange for one conversation. Raises DeclarationError."""
        turns = cast("list[Mapping[str, str]]", turns_of(_messages(given)))
        return Exchange.of(self.wanted.model, turns, self.options, spec=self.wanted.spec)

    def fields(self, body: JsonObject) -> dict[str, Any]:
        """A request body as arguments of the chat model's call; its model and messages are left out."""
        fields: dict[str, Any] = {
            name: value for name, value in body.items() if name in _ASKED or name in self.given
        }
        if self.may_decline and "response_format" in fields:
            fields["factorspec"] = {**fields.get("factorspec", {}), "refusal": True}
        if self.method == "function_calling" and "response_format" in fields:
            fields |= _as_tool(fields.pop("response_format")["json_schema"])
        shown_in_traces = {"kwargs": {"method": self.method}, "schema": self.wanted.given}
        return {**fields, "require_enforced": False, "ls_structured_output_format": shown_in_traces}

    def answer(self, message: AIMessage) -> JsonObject:
        """A message as the answer that strategies read. Raises ModelRefusalError for a refusal."""
        raise_for_refusal(message)
        return (
            _of_call(message)
            if self.method == "function_calling" and message.tool_calls
            else answer_of(message)
        )

    def piece(self, chunk: AIMessageChunk) -> str:
        """The record's text that a chunk brings."""
        if self.method == "function_calling":
            return "".join(call["args"] or "" for call in chunk.tool_call_chunks)
        return str(chunk.text)

    def _told(self, message: AIMessage) -> dict[str, Any]:
        """Echo and report of the record, wherever the answer has them."""
        vendor: dict[str, Any] = message.response_metadata.get("factorspec", {})
        if vendor and self.method == "function_calling" and message.tool_calls:
            return _report_of_call(vendor, message.tool_calls[0]["name"])
        return vendor

    def output(self, raw: AIMessage | None, result: Result[BaseModel]) -> object:
        """What the caller gets."""
        value = self.wanted.value_of(result.value)
        if not self.include_raw:
            return value
        message = AIMessage(result.text) if raw is None else raw
        told = {**self._told(message), "route": result.route}
        if result.changes:
            told["changes"] = [str(change) for change in result.changes]
        metadata = {**message.response_metadata, "factorspec": told}
        seen = message.model_copy(update={"response_metadata": metadata})
        return {"raw": seen, "parsed": value, "parsing_error": None}


def _messages(given: LanguageModelInput) -> list[BaseMessage]:
    if isinstance(given, PromptValue):
        return given.to_messages()
    if isinstance(given, str):
        return [HumanMessage(given)]
    if not _is_listed(given):
        problem = Problem(
            "input", "is no prompt", shown(given), "give a text, a prompt or a list of messages"
        )
        raise DeclarationError(_CANNOT, [problem])
    return convert_to_messages(given)


def _is_listed(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, bytes)


def _as_tool(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A response format as the one tool that has to be called."""
    schema = entry["schema"]
    function = {
        "name": entry["name"],
        "description": schema.get("description", ""),
        "parameters": schema,
        "strict": True,
    }
    choice = {"type": "function", "function": {"name": entry["name"]}}
    return {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": choice,
        "parallel_tool_calls": False,
    }


def _of_call(message: AIMessage) -> JsonObject:
    """A call of that tool as the record it stands for."""
    call = message.tool_calls[0]
    answer = answer_of(message)
    choice: JsonObject = {
        "index": 0,
        "message": {"role": "assistant", "content": json.dumps(call["args"], ensure_ascii=False)},
        "finish_reason": "stop",
    }
    vendor: Any = answer.get("factorspec")
    told = {"factorspec": _report_of_call(vendor, call["name"])} if isinstance(vendor, dict) else {}
    return {**answer, **told, "choices": [choice]}


def _report_of_call(vendor: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The echo and the report of the first call, as they would stand for a record."""
    report = vendor.get("report") or {}
    first = (report.get("calls") or [{}])[0]
    verdicts = {part: first[part] for part in ("relations", "objective") if part in first}
    echoed = (vendor.get("tools") or {}).get(name)
    return {**vendor, "spec_hash": echoed, "report": report | verdicts}


def _check(method: str, wishes: Mapping[str, Any]) -> None:
    """Raises DeclarationError for what ``with_structured_output`` does not take."""
    methods, known = get_args(Method), Wishes.__annotations__
    unknown = [name for name in wishes if name not in known]
    problems = [Problem(name, "is no option of a record", shown(wishes[name])) for name in unknown]
    if method not in methods:
        problems.append(Problem("method", f"must be one of {', '.join(map(repr, methods))}", shown(method)))
    if problems:
        raise DeclarationError(_CANNOT, problems)

"""Tools as requests send them: with their relations, where they have some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, cast, get_args

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from factorspec_integrations.langchain.enforced import VENDOR
from factorspec_sdk.client.tool_calls import is_list
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DeclarationError, JsonValue, Problem, UnsupportedField, shown
from factorspec_sdk.records import AsNumber, Between, In, document
from factorspec_sdk.records.objectives import goals_of
from factorspec_sdk.records.reach import models_in
from factorspec_sdk.records.registry import resolve
from factorspec_sdk.records.shapes import keys_of

#: whatever LangChain takes for a tool
ToolLike = dict[str, Any] | type | Callable[..., Any] | BaseTool
ToolChoice = dict[str, Any] | str | bool | None


def tool_entry(tool: ToolLike, *, strict: bool | None = None) -> JsonObject:
    """One entry of a request's ``tools``.

    Raises:
        FactorspecError: its arguments have relations or domains, and they cannot be written as a document.
    """
    entry = cast(JsonObject, convert_to_openai_tool(cast(Any, tool)))
    function = entry.get("function")
    if not isinstance(function, dict):
        return entry
    whole = _document_of(tool)
    more: JsonObject = {} if whole is None else {"parameters": whole}
    return {**entry, "function": {**function, **more, **({} if strict is None else {"strict": strict})}}


def tool_entries(tools: Sequence[ToolLike], *, strict: bool | None = None) -> list[JsonObject]:
    """A request's ``tools``. Raises DeclarationError for what is no list, and as ``tool_entry``."""
    if not is_list(tools):
        problem = Problem("tools", "are no list of tools", shown(tools), "give tools in a list")
        raise DeclarationError("the tools cannot be bound", [problem])
    return [tool_entry(tool, strict=strict) for tool in tools]


def _document_of(tool: ToolLike) -> JsonObject | None:
    """The arguments' document, where it says more than LangChain's conversion keeps."""
    taken = tool.tool_call_schema if isinstance(tool, BaseTool) else tool
    if isinstance(taken, dict):
        function = taken.get("function", taken)
        given = function.get("parameters", function)
        return cast(JsonObject, given) if VENDOR in given else None
    model = tool.args_schema if isinstance(tool, BaseTool) else tool
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        return None
    if not says_more(model):
        return None if isinstance(tool, BaseTool) else _document_of_amounts(model)
    problems = [*_unsendable(model, taken)] if isinstance(tool, BaseTool) else []
    if problems:
        raise DeclarationError(f"the arguments of {model.__name__} cannot be sent", problems)
    return document(model)


def _document_of_amounts(model: type[BaseModel]) -> JsonObject | None:
    """The document of a model with decimals, whose places and bounds the conversion loses, if it has one."""
    fields = (field for place in models_in(model) for field in place.model.model_fields.values())
    if not any(_mentions_decimals(field.annotation) for field in fields):
        return None
    try:
        return document(model)
    except UnsupportedField:
        return None


def _mentions_decimals(annotation: object) -> bool:
    return annotation is Decimal or any(map(_mentions_decimals, get_args(annotation)))


def _unsendable(model: type[BaseModel], taken: object) -> Iterator[Problem]:
    """Fields that LangChain gives the tool in another way than the model writes them."""
    written = getattr(taken, "model_fields", model.model_fields)
    for name, key in keys_of(model).items():
        if name not in written:
            message = "the model does not write it, so relations cannot be held among the arguments"
            yield Problem(name, message, None, "declare it outside the model")
        elif name != key:
            yield Problem(name, "LangChain gives tools their arguments by name", shown(key), "drop the alias")


def says_more(model: type[BaseModel]) -> bool:
    """Whether a model has relations, domains or goals, which Pydantic's JSON Schema leaves out."""
    return bool(goals_of(model)) or any(
        resolve(place.model) or any(_is_ours(field) for field in place.model.model_fields.values())
        for place in models_in(model)
    )


def _is_ours(field: FieldInfo) -> bool:
    return any(isinstance(one, In | Between | AsNumber) for one in field.metadata)


def choice_entry(choice: ToolChoice, tools: Sequence[JsonObject]) -> JsonValue:
    """A request's ``tool_choice``; None where it says nothing.

    Raises:
        DeclarationError: it names a tool that is not there.
    """
    if not choice:
        return None
    if choice in (True, "any", "required"):
        return "required"
    if isinstance(choice, dict) or choice in ("auto", "none"):
        return cast(JsonValue, choice)
    names = [cast(JsonObject, tool["function"])["name"] for tool in tools if "function" in tool]
    if choice not in names:
        hint = f"the tools are {', '.join(map(repr, names))}; or 'auto', 'any', 'none'"
        raise DeclarationError(
            "the tools cannot be bound", [Problem("tool_choice", "names no tool", shown(choice), hint)]
        )
    return {"type": "function", "function": {"name": cast(str, choice)}}

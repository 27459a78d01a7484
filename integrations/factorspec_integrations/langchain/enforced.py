"""What a request asks a server to enforce, and whether its answer says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from factorspec_sdk.client.enforcement import confirm_record, confirm_tools
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import ConnectionLost
from factorspec_sdk.wire import parse_document

VENDOR = "x-factorspec"


@dataclass(frozen=True, slots=True)
class Enforced:
    """Hashes of the specs that a request holds.

    Attributes:
        record: of the response format; None where there is none.
        tools: of the parameters with relations or domains, by the tool's name. What other tools take is plain
            JSON Schema, which any server may check in its own way.
    """

    record: str | None = None
    tools: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: JsonObject) -> Enforced:
        """Raises DocumentError for a document that cannot be enforced."""
        wanted: Any = body.get("response_format")
        schema = wanted.get("json_schema", {}).get("schema") if isinstance(wanted, dict) else None
        return cls(None if schema is None else parse_document(schema).hash, _tools_of(body))

    def confirm(self, answer: JsonObject) -> None:
        """Raise NotEnforced unless the answer echoes every hash."""
        if self.record is not None and not _has_calls(answer):
            confirm_record(answer, self.record)
        if self.tools:
            confirm_tools(answer, self.tools)


def _tools_of(body: JsonObject) -> dict[str, str]:
    if body.get("tool_choice") == "none":
        return {}
    listed = cast("list[Mapping[str, Any]]", body.get("tools") or [])
    functions = [tool["function"] for tool in listed if isinstance(tool.get("function"), dict)]
    return {
        str(function.get("name")): parse_document(function["parameters"]).hash
        for function in functions
        if VENDOR in (function.get("parameters") or {})
    }


def _has_calls(answer: JsonObject) -> bool:
    """Where a model may call tools or write a record, calls are no record."""
    choices: Any = answer.get("choices") or []
    return any(
        isinstance(choice, dict) and (choice.get("message") or {}).get("tool_calls") for choice in choices
    )


class StreamWatch:
    """Confirms an answer that comes in chunks, at its end."""

    def __init__(self, enforced: Enforced) -> None:
        self._enforced = enforced
        self._told: JsonObject = {}
        self._calls = False
        self._finished = False

    def see(self, part: JsonObject) -> None:
        """Take one chunk."""
        self._told |= {name: value for name, value in part.items() if name != "choices" and value is not None}
        choices: Any = part.get("choices") or []
        for choice in choices:
            self._calls = self._calls or bool((choice.get("delta") or {}).get("tool_calls"))
            self._finished = self._finished or choice.get("finish_reason") is not None

    def end(self) -> None:
        """All chunks have come.

        Raises:
            NotEnforced: the server did not confirm what was asked for.
            ConnectionLost: the stream broke off.
        """
        if not self._finished:
            raise ConnectionLost("the stream ended before the answer did; is the server still running?")
        message: JsonObject = {"tool_calls": [{}]} if self._calls else {}
        self._enforced.confirm({**self._told, "choices": [{"message": message}]})

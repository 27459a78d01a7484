"""Tools for the real server, and one request among many that has to call one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.client import AsyncClient
from factorspec_sdk.records import spec


class Range(BaseModel):
    """Picks two numbers."""

    low: Annotated[int, Field(ge=0, le=99)]
    high: Annotated[int, Field(ge=0, le=99)]

    @fs.relation("in order")
    def in_order(self) -> bool:
        return self.low < self.high


def tool_of(model: type[BaseModel], name: str) -> dict[str, Any]:
    """A tool as the openai package sends it."""
    return {"type": "function", "function": {"name": name, "parameters": spec(model).document}}


async def tool_call(client: AsyncClient, tools: Sequence[type[BaseModel]], **wishes: Any) -> str:
    """One call, of one of the tools."""
    tools = [*tools, Range]
    answer = await client.call_tools(tools, "Use a tool.", tool_choice="required", parallel=False, **wishes)
    (call,) = answer.calls
    assert type(call.arguments) in tools
    assert type(call.arguments).model_validate_json(call.text) == call.arguments
    vendor: Any = answer.raw["factorspec"]
    assert vendor["report"]["exact"]
    (told,) = vendor["report"]["calls"]
    assert all(one["outcome"] == "holds" for one in told["relations"])
    assert answer.usage.completion_tokens == vendor["report"]["tokens"]
    return "tool call"

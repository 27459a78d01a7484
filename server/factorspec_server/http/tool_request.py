"""The tools of a request, and which of them the answer may or must call.

``function.parameters`` is a relation document: JSON Schema and ``x-factorspec``. It is enforced whether
``strict`` is set or not. No parameters means an object without properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic import JsonValue as AnyJson

from factorspec_sdk.errors import JsonValue, Problem, shown

#: most tools of one request, as OpenAI has it
MOST_TOOLS = 128
_NO_PARAMETERS: Mapping[str, JsonValue] = {"type": "object", "properties": {}, "additionalProperties": False}


class _Function(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, AnyJson] | None = None
    strict: bool | None = None


class Tool(BaseModel):
    """A function that the model may call."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: str
    function: _Function

    @field_validator("type")
    @classmethod
    def _is_function(cls, value: str) -> str:
        if value != "function":
            raise ValueError(f"tools of type {value!r} are not supported; send functions with parameters")
        return value

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    @property
    def document(self) -> dict[str, JsonValue]:
        """The document that its arguments have to satisfy."""
        found: dict[str, JsonValue] = dict(self.function.parameters or _NO_PARAMETERS)
        return found


class ToolChoice(BaseModel):
    """Which tools the answer may or must call.

    Attributes:
        mode: ``none``: no call; ``auto``: text or calls; ``required``: calls.
        names: of the tools that may be called; None: all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    mode: Literal["none", "auto", "required"]
    names: tuple[str, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_sent(cls, value: object) -> object:
        if isinstance(value, str) and value in ("none", "auto", "required"):
            return {"mode": value}
        match value:
            case {"type": "function", "function": {"name": str() as name}}:
                return {"mode": "required", "names": (name,)}
            case {
                "type": "allowed_tools",
                "allowed_tools": {"mode": ("auto" | "required") as mode, "tools": list() as tools},
            }:
                return {"mode": mode, "names": tuple(map(_name_of, tools))}
            case _:
                raise ValueError(
                    "must be 'none', 'auto', 'required', a function "
                    '({"type": "function", "function": {"name": ...}}) or allowed_tools'
                )


def _name_of(tool: object) -> str:
    match tool:
        case {"type": "function", "function": {"name": str() as name}} | {
            "type": "function",
            "name": str() as name,
        }:
            return name
        case _:
            raise ValueError(f"allowed_tools must list functions by name, got {shown(tool)}")


def wrong_tools(tools: Sequence[Tool], choice: ToolChoice | None) -> Iterator[Problem]:
    """What is wrong with the tools together, and with the choice among them."""
    if len(tools) > MOST_TOOLS:
        yield Problem("/tools", f"more than {MOST_TOOLS} tools", str(len(tools)))
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        if tool.name in seen:
            yield Problem(f"/tools/{at}/function/name", "another tool has this name", shown(tool.name))
        seen.add(tool.name)
    if choice is None:
        return
    if not tools and choice.mode == "required":
        yield Problem("/tool_choice", "there are no tools to choose from", hint="send tools")
    for name in choice.names or ():
        if tools and name not in seen:
            hint = f"there are {', '.join(sorted(seen))}" if len(seen) <= 8 else None
            yield Problem("/tool_choice", "no tool has this name", shown(name), hint)
    if choice.names is not None and not choice.names:
        yield Problem("/tool_choice", "allows no tool", hint="send 'none' for that")

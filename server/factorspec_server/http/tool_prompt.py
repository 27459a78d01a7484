"""Tools, calls and their answers as the prompt tells them.

A chat template that knows tools, and spells calls in a form that can be enforced, gets them as they are.
Everywhere else they are told in one form, in turns that any template takes::

    system      …                                   its text, then the tools and how a call is written
    user        …
    assistant   <tool_call>\\n{"name": "book", "arguments": {"days": 3}}\\n</tool_call>
    user        <tool_response>\\n{"booked": true}\\n</tool_response>      a turn for all answers in a row
    assistant   …

A tool's parameters are told without ``x-factorspec``; its relations follow the description, in words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from factorspec_sdk.client.prompting import plain_schema, relations_in_words
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire import Spec
from factorspec_server.engines.errors import TemplateRefused
from factorspec_server.http.call_format import REASON, REFUSAL_CLOSER, REFUSAL_OPENER, CallFormat
from factorspec_server.http.served_model import ChatTemplate
from factorspec_server.http.tool_request import Tool

Turn = Mapping[str, object]
ToldTool = dict[str, JsonValue]

_TOOLS = """# Tools

These functions can be called. Each is described by a JSON object with the JSON Schema of its arguments:
<tools>
{tools}
</tools>

To call a function, answer with its name and arguments as a JSON object within <tool_call></tool_call> tags:
{call}"""
_REFUSAL = "If what is asked for cannot be done, answer instead with the reason: {refusal}"


class ToolPrompt(Protocol):
    """Turns conversations with tools into prompts.

    ``form`` is how the model writes calls then.
    """

    form: CallFormat

    def encode(self, turns: Sequence[Turn], tools: Sequence[ToldTool]) -> tuple[int, ...]:
        """Tokens of a conversation up to where the answer begins."""


class WrittenTools:
    """Tools in the documented form, for any template."""

    def __init__(self, template: ChatTemplate, form: CallFormat) -> None:
        self.form = form
        self._template = template

    def encode(self, turns: Sequence[Turn], tools: Sequence[ToldTool]) -> tuple[int, ...]:
        """Tokens of a conversation up to where the answer begins."""
        plain = plain_turns(turns, self.form)
        if not tools:
            return self._template.encode_chat(plain)
        told = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
        call = self.form.call("NAME", "<object>").replace('"NAME"', "<name>")
        text = _TOOLS.format(tools=told, call=call)
        try:
            return self._template.encode_chat(with_system(plain, text))
        except TemplateRefused:
            if not plain or plain[0]["role"] != "user":
                raise
            # it takes no system turn: the first turn of the user tells
            first = {**plain[0], "content": f"{text}\n\n{plain[0]['content']}"}
            return self._template.encode_chat([first, *plain[1:]])


def plain_turns(turns: Sequence[Turn], form: CallFormat) -> list[Turn]:
    """The turns, calls and answers to them as text of the assistant's and the user's.

    What the user says behind answers joins their turn, since templates may insist on turns that alternate.
    """
    found: list[Turn] = []
    for turn in turns:
        said = str(turn["content"])
        calls = turn.get("tool_calls")
        follows = bool(found) and found[-1].get("answers")
        if turn["role"] == "tool" or (turn["role"] == "user" and follows):
            is_answer = turn["role"] == "tool"
            answer = f"<tool_response>\n{said}\n</tool_response>" if is_answer else said
            if follows:
                answer = f"{found.pop()['content']}\n{answer}"
            found.append({"role": "user", "content": answer, "answers": is_answer})
        elif isinstance(calls, list):
            texts = [said] if said else []
            found.append({"role": "assistant", "content": "\n".join([*texts, *map(form.spelled, calls)])})
        else:
            found.append(turn)
    return [{name: value for name, value in turn.items() if name != "answers"} for turn in found]


def with_system(turns: Sequence[Turn], text: str) -> list[Turn]:
    """The turns with a text at the end of their system turn, which is added where there is none."""
    if turns and turns[0]["role"] == "system":
        return [{**turns[0], "content": f"{turns[0]['content']}\n\n{text}"}, *turns[1:]]
    return [{"role": "system", "content": text}, *turns]


def with_refusal(turns: Sequence[Turn]) -> list[Turn]:
    """The turns, the system turn telling how to decline."""
    refusal = f'{REFUSAL_OPENER}{{"{REASON}": "..."}}{REFUSAL_CLOSER}'
    return with_system(turns, _REFUSAL.format(refusal=refusal))


def told_tool(tool: Tool, spec: Spec) -> ToldTool:
    """A tool as the model reads it."""
    said = [tool.function.description or "", *relations_in_words(spec)]
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": "\n".join(filter(None, said)),
        "parameters": plain_schema(spec.document),
    }
    return {"type": "function", "function": function}

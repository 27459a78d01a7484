"""Chat templates that know tools: how they spell a call is read off what they make of one.

A conversation with two calls is rendered, and what stands around names and arguments is the format::

    …\\n<tool_call>\\n{"name": "first", "arguments": {"zq": 1}}\\n</tool_call>\\n<tool_call>\\n{"name": …
        opener     before_name      before_arguments   closer            between

A template whose calls do not begin with a tag (so that text could not be told from a call) counts as one that
knows no tools, and so does one that leaves tools or answers out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.http.call_format import CallFormat
from factorspec_server.http.tool_prompt import ToldTool, Turn

_FIRST, _SECOND, _SAID = "zq_first", "zq_second", "zq said"
_CALL = re.compile(
    rf'(?P<opener><[^<>\s]+>|\[[A-Z_]+\])(?P<gap>\s*)\{{"name": "{_FIRST}"'
    r'(?P<before>, "\w+": )\{"zq": 1\}(?P<rest>\}.*)',
    re.DOTALL,
)


class NativeTools:
    """Tools as the model's own template tells them."""

    def __init__(self, chat: ChatTokenizer, form: CallFormat) -> None:
        self.form = form
        self._chat = chat

    def encode(self, turns: Sequence[Turn], tools: Sequence[ToldTool]) -> tuple[int, ...]:
        """Tokens of a conversation up to where the answer begins."""
        return self._chat.encode_chat(turns, tools)


def native_form(chat: ChatTokenizer) -> CallFormat | None:
    """How the template spells calls; None if it does not, or not in a way that can be enforced."""
    from jinja2 import TemplateError

    if not chat.has_template:
        return None
    try:
        one, two = (
            chat.render_chat(_turns(names), [_tool(_FIRST)]) for names in ([_FIRST], [_FIRST, _SECOND])
        )
    # templates raise what they like for what they do not know
    except (TemplateError, TypeError, ValueError, KeyError, AttributeError):
        return None
    found, longer = _CALL.search(one), _CALL.search(two)
    told = one.split("Hi there", 1)[0]
    if found is None or longer is None or _FIRST not in told or _SAID not in found["rest"]:
        return None
    again = longer["rest"].find(f'{found["opener"]}{found["gap"]}{{"name": "{_SECOND}"')
    if again < 0:
        return None
    behind = longer["rest"][:again]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(behind, found["rest"], strict=False))
    closer = "".join(character for character, _ in same).rstrip()
    return CallFormat(
        opener=found["opener"],
        before_name=f'{found["gap"]}{{"name": ',
        before_arguments=found["before"],
        closer=closer,
        between=behind[len(closer) :],
    )


def _turns(names: Sequence[str]) -> list[Mapping[str, object]]:
    """A conversation in which these tools were called, and answered."""
    calls = [
        {"id": f"call{name}"[:9], "type": "function", "function": {"name": name, "arguments": {"zq": 1}}}
        for name in names
    ]
    answers = [
        {"role": "tool", "name": name, "tool_call_id": f"call{name}"[:9], "content": _SAID} for name in names
    ]
    asked = {"role": "user", "content": "Hi there"}
    return [asked, {"role": "assistant", "content": "", "tool_calls": calls}, *answers]


def _tool(name: str) -> ToldTool:
    parameters: ToldTool = {"type": "object", "properties": {"zq": {"type": "integer"}}}
    return {"type": "function", "function": {"name": name, "description": "x", "parameters": parameters}}

"""How an answer spells a tool call, and a refusal.

::

    <tool_call>\\n{"name": "book", "arguments": {"days": 3}}\\n</tool_call>\\n<tool_call>…
    opener     before_name  before_arguments           closer             between

That form, of Hermes and Qwen, is used wherever the chat template has none of its own. White space is as the
template has it, since a model writes what it was trained on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from factorspec_sdk.errors import EngineError
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.call_decoders import CallTokens, opener_of
from factorspec_server.engines.opener_watch import Opener

#: around the record with the reason, where the model declines, and that record's field
REFUSAL_OPENER, REFUSAL_CLOSER = "<refusal>", "</refusal>"
REASON = "reason"


@dataclass(frozen=True, slots=True)
class CallFormat:
    """The text around a call's name and arguments."""

    opener: str = "<tool_call>"
    before_name: str = '\n{"name": '
    before_arguments: str = ', "arguments": '
    closer: str = "}\n</tool_call>"
    between: str = "\n"

    def call(self, name: str, arguments: str) -> str:
        """A whole call."""
        begun = f"{self.opener}{self.before_name}{json.dumps(name)}"
        return f"{begun}{self.before_arguments}{arguments}{self.closer}"

    def spelled(self, call: Mapping[str, Mapping[str, object]]) -> str:
        """A call that was made earlier; arguments that are no object stand as they were sent."""
        function = call["function"]
        arguments = function["arguments"]
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return self.call(str(function["name"]), text)


@dataclass(frozen=True, slots=True)
class SpelledCalls:
    """A format as one vocabulary spells it.

    Attributes:
        format: the format.
        before_name: text of a call's record before the name.
        closer: text of its record behind the arguments.
        tokens: what stands around the record.
    """

    format: CallFormat
    before_name: str
    closer: str
    tokens: CallTokens

    @classmethod
    def of(cls, wanted: CallFormat, vocabulary: Vocabulary) -> SpelledCalls:
        """The format; without line breaks where the tokenizer takes those for tokens of their own.

        Raises:
            EngineError: the tokenizer cannot write the tags.
        """
        try:
            return cls._of(wanted, vocabulary)
        except EngineError:
            return cls._of(_on_one_line(wanted), vocabulary)

    @classmethod
    def writes(cls, wanted: CallFormat, vocabulary: Vocabulary) -> bool:
        """True if the tokenizer can write exactly this format."""
        try:
            return cls._of(wanted, vocabulary).format == wanted
        except EngineError:
            return False

    @classmethod
    def _of(cls, wanted: CallFormat, vocabulary: Vocabulary) -> SpelledCalls:
        added = {vocabulary.token_bytes(token).decode(): token for token in vocabulary.added_ids}
        opening = (added[wanted.opener],) if wanted.opener in added else ()
        tags = [tag for tag in added if wanted.closer.endswith(tag)]
        tag = max(tags, key=len, default="")
        tokens = CallTokens(
            opening=opening,
            closing=(added[tag],) if tag else (),
            between=vocabulary.encode_inside(wanted.between),
        )
        before = wanted.before_name if opening else wanted.opener + wanted.before_name
        closer = wanted.closer[: len(wanted.closer) - len(tag)]
        for text in (before, wanted.before_arguments, closer):
            vocabulary.escape(text)  # raises where the text holds an added token
        return cls(wanted, before, closer, tokens)

    def opener(self, vocabulary: Vocabulary) -> Opener:
        """What begins a call within text, under the vocabulary that spells it."""
        return opener_of(vocabulary, self.tokens, self.format.opener, self.begun)

    @property
    def begun(self) -> str:
        """The text with which the record of every call begins, up to the name's first quote."""
        return f'{self.before_name}"'

    def around(self, name: str) -> tuple[str, str]:
        """The text of a call's record before and behind the arguments of a tool."""
        return f"{self.before_name}{json.dumps(name)}{self.format.before_arguments}", self.closer


def _on_one_line(wanted: CallFormat) -> CallFormat:
    return replace(
        wanted,
        before_name=wanted.before_name.replace("\n", ""),
        closer=wanted.closer.replace("\n", ""),
        between="",
    )

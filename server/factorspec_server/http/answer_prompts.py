"""Prompts of one model's conversations, with tools told as its chat template tells them, or in our form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.wire import Spec
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.http.call_format import CallFormat, SpelledCalls
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.messages import turns_of
from factorspec_server.http.native_tools import NativeTools, native_form
from factorspec_server.http.served_model import ChatTemplate
from factorspec_server.http.tool_prompt import ToolPrompt, Turn, WrittenTools, told_tool, with_refusal


class AnswerPrompts:
    """Makes prompts for one model. Methods may be called from any thread."""

    def __init__(self, template: ChatTemplate, vocabulary: Vocabulary) -> None:
        self._template = template
        self._vocabulary = vocabulary

    @cached_property
    def is_native(self) -> bool:
        """The template tells tools itself, and the tokenizer can write its calls. Found out once."""
        return self._native is not None

    @cached_property
    def spelled(self) -> SpelledCalls:
        """How calls are written.

        Raises:
            EngineError: the tokenizer cannot write calls.
        """
        return SpelledCalls.of(self._native or CallFormat(), self._vocabulary)

    @cached_property
    def _native(self) -> CallFormat | None:
        template = self._template
        form = native_form(template) if isinstance(template, ChatTokenizer) else None
        return form if form is not None and SpelledCalls.writes(form, self._vocabulary) else None

    @property
    def form(self) -> CallFormat:
        """How calls are written."""
        return self.spelled.format

    def prompt_ids(
        self, chat: ChatRequest, specs: Mapping[str, Spec], template: ChatTemplate | None = None
    ) -> tuple[int, ...]:
        """The prompt's tokens.

        Args:
            chat: the request.
            specs: of the tools that it offers, by name.
            template: stands in for the model's own, with other options.

        Raises:
            TemplateRefused: the template does not take this conversation.
        """
        template = template or self._template
        turns: Sequence[Turn] = turns_of(chat.messages)
        if chat.factorspec.refusal:
            turns = with_refusal(turns)
        tools = [told_tool(tool, specs[tool.name]) for tool in chat.offered_tools]
        if tools or any(message.tool_calls or message.role == "tool" for message in chat.messages):
            return self._tool_prompt(template).encode(turns, tools)
        return template.encode_chat(turns)

    def _tool_prompt(self, template: ChatTemplate) -> ToolPrompt:
        if self.is_native:
            assert isinstance(template, ChatTokenizer)
            return NativeTools(template, self.form)
        return WrittenTools(template, self.form)

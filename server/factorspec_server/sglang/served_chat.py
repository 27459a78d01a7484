"""What the HTTP process knows of the served model: its tokens, how it is told of tools, how it writes calls.

The tokenizer is a copy: SGLang's own is used on another thread, and takes it ill when somebody else encodes
meanwhile. Copying it stops the process for a second, so it is done when the server starts (``prepare``).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from factorspec_sdk.errors import DocumentError, EngineError, JsonValue, Problem, UnsupportedKeyword
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines import ContextTooLong
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.chat_vocabulary import chat_vocabulary
from factorspec_server.engines.opener_watch import OpenerWatch
from factorspec_server.http.answer_prompts import AnswerPrompts
from factorspec_server.http.answer_reader import Reading
from factorspec_server.http.chat_request import ChatRequest, read_chat_request
from factorspec_server.http.messages import turns_of
from factorspec_server.http.tool_prompt import plain_turns
from factorspec_server.sglang import compat
from factorspec_server.sglang.answer_asked import AnswerAsked
from factorspec_server.sglang.relations import end_ids_of
from factorspec_server.sglang.room import ROOM

#: the scheduler's own reserve beside a request, at most
_RESERVE = 8
_DEFAULTS: Mapping[str, float] = {
    "temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0
}  # fmt: skip


class Thinking:
    """How a model's thinking ends: by a token of its own; ``start``: the text with which it may begin."""

    def __init__(self, end_id: int, start: str) -> None:
        self.end_id = end_id
        self.start = start


class ServedChat:
    """The served model. Methods may be called from any thread."""

    def __init__(self, handler: Any) -> None:
        """``handler``: SGLang's of chat completions."""
        self._handler = handler
        self._manager = handler.tokenizer_manager

    def prepare(self) -> None:
        """Make what the first request would wait for, and others with it: seconds. Raises as ``words``."""
        self._watch  # noqa: B018

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self._manager.served_model_name)

    @cached_property
    def words(self) -> ChatTokenizer:
        """The tokenizer.

        Raises:
            EngineError: it is of a kind whose tokens cannot be predicted exactly.
        """
        tokenizer = copy.deepcopy(self._manager.tokenizer)
        given = getattr(self._manager.model_config, "hf_eos_token_id", None) or ()
        return ChatTokenizer(tokenizer, end_ids=end_ids_of(tokenizer, given))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens; takes seconds. Raises as ``words``."""
        return chat_vocabulary(self.words, int(self._manager.model_config.vocab_size), name=self.name)

    @cached_property
    def prompts(self) -> AnswerPrompts:
        """Makes prompts. Raises as ``words``."""
        return AnswerPrompts(self.words, self.vocabulary)

    @cached_property
    def _watch(self) -> OpenerWatch:
        return OpenerWatch(
            self.prompts.spelled.opener(self.vocabulary), self.vocabulary, self.words.num_tokens
        )

    def reading(self, chat: ChatRequest) -> Reading:
        """How answers to a request are read."""
        watch = self._watch if chat.is_text else None
        return Reading(self.vocabulary, self.words, self.prompts.form, watch, tuple(chat.stop))

    @cached_property
    def thinking(self) -> Thinking | None:
        """How thinking ends; None: the server tells it from the answer nowhere."""
        parser = self._handler.reasoning_parser
        if not parser:
            return None
        detector = compat.ReasoningParser(model_type=parser, stream_reasoning=False).detector
        end_ids = self.words.backend.encode(detector.think_end_token, add_special_tokens=False).ids
        if len(end_ids) != 1:  # SGLang refuses such a parser when it starts
            raise EngineError(
                f"thinking must end with one token, {detector.think_end_token!r} has {len(end_ids)}"
            )
        return Thinking(end_ids[0], detector.think_start_token)

    def thinks(self, asked: AnswerAsked) -> bool:
        """True if the model thinks before it answers this request, as SGLang decides it."""
        if self.thinking is None:
            return False
        return compat.requires_reasoning(self._handler, self._options(asked.template_options))

    def prompt_ids(self, asked: AnswerAsked) -> tuple[int, ...]:
        """The prompt's tokens.

        Raises:
            UnsupportedKeyword: the server has a chat template that is not the tokenizer's, or the model is an
            adapter.
            TemplateRefused: the template does not take this conversation.
            DocumentError: it does not take the request's options.
        """
        self._check_template()
        self._check_model(asked.chat.model)
        options = self._options(asked.template_options)
        try:
            return self.prompts.prompt_ids(asked.chat, asked.specs, self.words.with_options(options))
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            problem = Problem("/chat_template_kwargs", f"the model's chat template says: {error}")
            raise DocumentError("the model does not take this conversation", [problem]) from error

    def plain_messages(self, messages: JsonValue) -> list[Mapping[str, object]] | None:
        """The conversation for SGLang's own prompt where no tool may be called; None: as it is.

        Earlier calls become text where the template knows none. Raises as ``read_chat_request``.
        """
        chat = read_chat_request({"model": self.name, "messages": messages})
        has_calls = any(message.tool_calls or message.role == "tool" for message in chat.messages)
        if not has_calls or self.prompts.is_native:
            return None
        return plain_turns(turns_of(chat.messages), self.prompts.form)

    def _options(self, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {**(getattr(self._handler, "default_chat_template_kwargs", None) or {}), **given}

    def _check_template(self) -> None:
        name = self._handler.template_manager.chat_template_name
        own = getattr(self._handler, "chat_encoding_spec", None)
        if name is not None or own is not None:
            problem = Problem("/tools", f"the server's chat template {name or own!r} is none in Jinja",
                              hint="start it with --chat-template FILE.jinja")  # fmt: skip
            raise UnsupportedKeyword("tools with relations cannot be told of", [problem])

    def _check_model(self, name: str) -> None:
        if ":" in name and getattr(self._manager.server_args, "enable_lora", False):
            problem = Problem(
                "/model", "adapters do not write tool calls", repr(name), "name the model alone"
            )
            raise UnsupportedKeyword("tools with relations cannot be served", [problem])

    def limits(self, prompt_ids: Sequence[int], chat: ChatRequest, default_tokens: int) -> tuple[int, int]:
        """Most tokens of an answer, and what it may have where the shortest one needs more.

        Raises:
            ContextTooLong: prompt and token limit do not fit into the model's context.
        """
        manager, given = self._manager, chat.token_limit
        context = int(manager.context_len) - int(getattr(manager, "num_reserved_tokens", 0) or 0) - ROOM
        if len(prompt_ids) + (given or 1) > context:
            raise ContextTooLong(num_tokens=len(prompt_ids) + (given or 1), max_positions=context)
        if given is not None:
            return given, given
        input_limit = getattr(manager, "max_req_input_len", None)
        whole = min(context, input_limit - ROOM) if isinstance(input_limit, int) else context
        room = max(1, whole - len(prompt_ids) - _RESERVE)
        return min(room, default_tokens), room

    def sampling(self, chat: ChatRequest) -> dict[str, JsonValue]:
        """How tokens are drawn, by SGLang's names; what the request leaves open is the model's default."""
        model = self._handler.default_sampling_params or {}
        said = chat.model_fields_set
        found: dict[str, JsonValue] = {
            name: getattr(chat, name)
            if name in said and getattr(chat, name) is not None
            else model.get(name, value)
            for name, value in _DEFAULTS.items()
        }
        found["presence_penalty"], found["frequency_penalty"] = chat.presence_penalty, chat.frequency_penalty
        if chat.logit_bias:
            found["logit_bias"] = dict(chat.logit_bias)
        return found

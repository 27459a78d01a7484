"""A model's tokenizer with its chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

from factorspec_sdk.errors import Problem
from factorspec_server.engines.errors import ModelUnsupported, TemplateRefused


class ChatTokenizer:
    """Tokens of conversations and text of tokens.

    Attributes:
        backend: the ``tokenizers.Tokenizer``; what a vocabulary is built from.
        end_ids: tokens that end an answer, the model's own and those of its generation config.
    """

    def __init__(self, tokenizer: Any, *, end_ids: Sequence[int]) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ModelUnsupported(
                f"tokenizer {type(tokenizer).__name__} has no tokenizer.json; convert it to a fast tokenizer"
            )
        self.backend = backend
        self.end_ids = tuple(end_ids)
        self._tokenizer = tokenizer
        self._options: Mapping[str, object] = {}

    def with_options(self, options: Mapping[str, object]) -> ChatTokenizer:
        """The same tokenizer, its template given further variables, such as ``enable_thinking``."""
        twin = copy(self)
        vars(twin).update(_options={**self._options, **options})
        return twin

    @cached_property
    def num_tokens(self) -> int:
        """One more than the largest id, added tokens included; below it some may have no token (gpt-4o)."""
        return 1 + max(cast("dict[str, int]", self.backend.get_vocab(with_added_tokens=True)).values())

    @property
    def has_template(self) -> bool:
        """True if the tokenizer brings a chat template."""
        return bool(self._tokenizer.chat_template)

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of a plain prompt, with what the tokenizer itself puts in front."""
        return tuple(self._tokenizer(text)["input_ids"])

    def encode_chat(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> tuple[int, ...]:
        """Tokens of a conversation up to where the answer begins.

        Args:
            messages: each with ``role`` and ``content``.
            tools: functions that may be called, for a template that knows them.

        Raises:
            ModelUnsupported: if the tokenizer has no chat template.
            TemplateRefused: the template does not take this conversation.
        """
        from jinja2 import TemplateError

        if not self.has_template:
            raise ModelUnsupported("the model has no chat template; use a model made for conversations")
        try:
            text = self.render_chat(messages, tools)
        except TemplateError as error:
            problem = Problem("/messages", f"the model's chat template says: {error}")
            raise TemplateRefused("the model does not take this conversation", [problem]) from error
        # the template writes the special tokens itself
        return tuple(self.backend.encode(text, add_special_tokens=False).ids)

    def render_chat(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> str:
        """The text of a conversation up to where the answer begins; for ``tools`` see ``encode_chat``."""
        plain = [dict(message) for message in messages]
        text = self._tokenizer.apply_chat_template(
            plain,
            tools=[dict(tool) for tool in tools] or None,
            tokenize=False,
            add_generation_prompt=True,
            **self._options,
        )
        return cast(str, text)

    def answer_ids(self, answer: str) -> tuple[int, ...] | None:
        """Tokens of an answer where the template writes one, with the white space that it puts before it.

        None if there is no template, or if its prompt does not go on so.
        """
        from jinja2 import TemplateError

        if not self.has_template:
            return None
        messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": answer}]
        try:
            prompt = self.render_chat(messages[:1])
            whole = cast(str, self._tokenizer.apply_chat_template(messages, tokenize=False))
        except TemplateError:
            return None
        at = whole.find(answer, len(prompt)) if whole.startswith(prompt) else -1
        if at < 0:
            return None
        before, ids = (
            tuple(self.backend.encode(text, add_special_tokens=False).ids)
            for text in (prompt, whole[: at + len(answer)])
        )
        return ids[len(before) :] if ids[: len(before)] == before else None

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, special ones left out; unfinished characters as U+FFFD."""
        return cast(str, self.backend.decode(list(token_ids), skip_special_tokens=True))

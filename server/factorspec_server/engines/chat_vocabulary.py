"""The vocabulary that a model writes its answers in."""

from __future__ import annotations

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.engines.chat_tokenizer import ChatTokenizer

_ANSWER = '{"a": 1}'


def chat_vocabulary(chat: ChatTokenizer, logit_width: int, *, name: str) -> Vocabulary:
    """The vocabulary of a chat model; whether records have a leading mark is read off its chat template.

    Args:
        chat: the model's tokenizer and template.
        logit_width: columns of the model's logits.
        name: what errors call it.

    Raises:
        EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
    """
    vocabulary = _vocabulary(chat, logit_width, name, None)
    if vocabulary.lead and chat.answer_ids(_ANSWER) == vocabulary.encode_inside(_ANSWER):
        vocabulary = _vocabulary(chat, logit_width, name, leading_mark=False)
    return vocabulary


def _vocabulary(chat: ChatTokenizer, logit_width: int, name: str, leading_mark: bool | None) -> Vocabulary:
    return Vocabulary.from_tokenizer(
        chat.backend,
        logit_width,
        chat.end_ids,
        name=name,
        leading_mark=leading_mark,
        cache=cache_dir() / "vocabularies",
    )

"""The vocabulary that a model writes its answers in."""

from __future__ import annotations

from collections.abc import Callable

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.engines.chat_tokenizer import ChatTokenizer

ANSWER = '{"a": 1}'
"""An answer by whose tokens one tells whether records have a leading mark."""


def chat_vocabulary(chat: ChatTokenizer, logit_width: int, *, name: str) -> Vocabulary:
    """The vocabulary of a chat model; whether records have a leading mark is read off its chat template.

    Args:
        chat: the model's tokenizer and template.
        logit_width: columns of the model's logits.
        name: what errors call it.

    Raises:
        EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
    """
    return answer_vocabulary(
        lambda leading_mark: Vocabulary.from_tokenizer(
            chat.backend,
            logit_width,
            chat.end_ids,
            name=name,
            leading_mark=leading_mark,
            cache=cache_dir() / "vocabularies",
        ),
        lambda: chat.answer_ids(ANSWER),
    )


def answer_vocabulary(
    make: Callable[[bool | None], Vocabulary], answer_ids: Callable[[], tuple[int, ...] | None]
) -> Vocabulary:
    """The vocabulary of answers.

    Args:
        make: makes it, with a leading mark, without, or (None) as the tokenizer has it.
        answer_ids: tokens of ``ANSWER`` in a conversation; None: nobody knows.
    """
    vocabulary = make(None)
    if vocabulary.lead and answer_ids() == vocabulary.encode_inside(ANSWER):
        return make(False)
    return vocabulary

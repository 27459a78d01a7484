"""What a chat template says of a record's first token."""

from __future__ import annotations

from typing import Any, cast

import pytest

from factorspec_sdk.testing import sentencepiece_like_tokenizer, vocabulary_like
from factorspec_sdk.testing.tokenizers import END
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.families import GPT2
from factorspec_server.engines import chat_vocabulary
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.http import served_model

RECORD = '{"city": "Rome"}'
AFTER_A_SPACE = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }} <|end|>{% endif %}{% endfor %}"
)
AFTER_A_LINE_BREAK = (
    "{% for m in messages %}|{{ m.role }}|\n{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}|assistant|\n{% endif %}"
)
AFTER_AN_ADDED_TOKEN = "{% for m in messages %}{{ m.content }}<|end|>{% endfor %}"
NEVER_ANSWERS = (
    "{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception('no') }}{% endif %}{% endfor %}x"
)
ANSWERS_ELSEWHERE = (
    "{% for m in messages %}|{{ m.role }}|{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}|now|{% endif %}"
)


def chat_of(template: str | None) -> ChatTokenizer:
    from transformers import PreTrainedTokenizerFast

    make: Any = PreTrainedTokenizerFast
    wrapped = make(tokenizer_object=sentencepiece_like_tokenizer(), chat_template=template, eos_token=END)
    return ChatTokenizer(wrapped, end_ids=[wrapped.eos_token_id])


@pytest.mark.parametrize(
    ("template", "lead"),
    [
        (AFTER_A_SPACE, " "),
        (AFTER_A_LINE_BREAK, ""),
        (AFTER_AN_ADDED_TOKEN, " "),
        (NEVER_ANSWERS, " "),
        (ANSWERS_ELSEWHERE, " "),
        (None, " "),
    ],
    ids=["space", "line break", "added token", "never answers", "elsewhere", "no template"],
)
def test_records_begin_as_the_template_lets_answers_begin(
    template: str | None, lead: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_vocabulary, "cache_dir", lambda: tmp_path)

    class Model:
        name, logit_width, chat = "double", vocabulary_like("sentencepiece").logit_width, chat_of(template)

    vocabulary = served_model.vocabulary_of(cast(Any, Model))
    assert vocabulary.lead == lead
    ids = Model.chat.answer_ids(RECORD)
    if ids is not None:
        assert ids == vocabulary.encode(RECORD)
    else:
        assert template in (NEVER_ANSWERS, ANSWERS_ELSEWHERE, None)


def test_an_end_token_behind_ids_without_a_token_counts() -> None:
    """Such a model could not end its answers if tokens were only counted."""
    from transformers import PreTrainedTokenizerFast

    ranks = {bytes([byte]): byte for byte in range(256)}
    vocabulary = Vocabulary.from_tiktoken(ranks, pattern=GPT2, special_tokens={END: 300}, end_ids=[300])
    make: Any = PreTrainedTokenizerFast
    chat = ChatTokenizer(make(tokenizer_object=vocabulary.tokenizer), end_ids=[300])
    assert chat.num_tokens == vocabulary.logit_width == 301
    assert chat.end_ids[0] < chat.num_tokens

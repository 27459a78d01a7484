"""Where a chat template ends and a record begins: together they are the tokenizer's own tokens."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines import chat_vocabulary
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.http import served_model
from tests.tokenizers.real import REAL, missing
from tests.tokenizers.sources import folder

NAMES = ("qwen3", "llama3_1", "gemma3", "deepseek_v3")
MESSAGES = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Wohin? 北京 <b>"}]
RECORDS = (
    '{"city": "Rome"}',
    '{"city":"北京","day":12}',
    '{" ": "  "}',
    '["a", 1]',
    "[]",
    '"Αθήνα"',
    "12345",
    "-1",
    "true",
    "null",
)


def chat_of(name: str) -> ChatTokenizer:
    """The fetched tokenizer with its own template, as the engine loads it."""
    from transformers import PreTrainedTokenizerFast

    config = json.loads((folder() / name / "tokenizer_config.json").read_text(encoding="utf-8"))
    make: Any = PreTrainedTokenizerFast
    special = {key: config[key] for key in ("bos_token", "eos_token") if config.get(key)}
    special = {key: token if isinstance(token, str) else token["content"] for key, token in special.items()}
    file = str(folder() / name / "tokenizer.json")
    wrapped = make(tokenizer_file=file, chat_template=config["chat_template"], **special)
    ends = [wrapped.convert_tokens_to_ids(token) for token in REAL[name].end_tokens]
    return ChatTokenizer(wrapped, end_ids=ends)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_prompt_and_record_are_the_tokenizers_own_tokens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = missing(name)
    if reason is not None:
        pytest.skip(reason)
    monkeypatch.setattr(chat_vocabulary, "cache_dir", lambda: tmp_path)
    chat = chat_of(name)

    model = SimpleNamespace(name=name, chat=chat, logit_width=REAL[name].logit_width)
    vocabulary: Vocabulary = served_model.vocabulary_of(cast(Any, model))
    assert chat.num_tokens <= vocabulary.logit_width
    prompt, text = chat.encode_chat(MESSAGES), chat.render_chat(MESSAGES)
    bos = chat.backend.encode("", add_special_tokens=True).ids[:1]
    assert prompt.count(*bos) == 1 if bos else prompt
    for record in RECORDS:
        whole = tuple(chat.backend.encode(text + record, add_special_tokens=False).ids)
        assert whole == prompt + vocabulary.encode(record), record
    answer = {"role": "assistant", "content": RECORDS[0]}
    finished = cast(Any, chat)._tokenizer.apply_chat_template([*MESSAGES, answer], tokenize=False)
    behind = finished[finished.rindex(RECORDS[0]) + len(RECORDS[0]) :]
    assert chat.backend.encode(behind, add_special_tokens=False).ids[0] in vocabulary.end_ids

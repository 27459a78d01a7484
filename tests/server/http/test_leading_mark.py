"""Records of a tokenizer that puts a mark before a text: clients see the text alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest

from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.scheduler import EngineThread
from factorspec_server.http.app import create_app
from factorspec_server.http.served_model import ServedModel
from tests.server.http.serving import ByteTemplate, body, running


@pytest.fixture(scope="module")
def marked_client() -> Iterator[openai.OpenAI]:
    vocabulary = vocabulary_like("sentencepiece")
    model = ScriptedModel(vocabulary.logit_width, end_ids=vocabulary.end_ids)
    served = ServedModel(EngineThread(model), ByteTemplate(), Canonical(vocabulary))
    with (
        running(create_app(served, None)) as root,
        openai.OpenAI(base_url=f"{root}/v1", api_key="none", max_retries=0, timeout=30) as client,
    ):
        yield client


def test_streamed_and_whole_records_are_the_text_without_the_mark(marked_client: openai.OpenAI) -> None:
    for seed in range(5):
        wanted = body(temperature=1, seed=seed)
        whole = marked_client.chat.completions.create(**wanted).choices[0].message.content
        parts = marked_client.chat.completions.create(**wanted, stream=True)
        assert whole == "".join(part.choices[0].delta.content or "" for part in parts)
        assert whole.startswith('{"first": ')
        assert json.loads(whole)


def test_the_mark_is_no_part_of_log_probabilities(marked_client: openai.OpenAI) -> None:
    for seed in range(3):
        wanted = body(temperature=1, seed=seed, logprobs=True, top_logprobs=2)
        choice = marked_client.chat.completions.create(**wanted).choices[0]
        entries = choice.logprobs.content
        assert bytes(byte for entry in entries for byte in entry.bytes).decode() == choice.message.content
        for entry in entries:
            assert entry.token in [top.token for top in entry.top_logprobs] or len(entry.top_logprobs) == 2

"""Vocabularies that the tests of the token layer run on: one for each way of splitting text."""

from functools import cache

import pytest

from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL, gpt2_like_tokenizer
from factorspec_sdk.tokens import Canonical, Vocabulary


@cache
def canonical_like(name: str) -> Canonical:
    if name == "digit_runs":
        return Canonical(_digit_runs())
    return Canonical(byte_vocabulary() if name == "bytes" else vocabulary_like(name))


def _digit_runs() -> Vocabulary:
    """GPT-2's split behind a stage that splits runs of digits off."""
    from tokenizers import pre_tokenizers

    tokenizer = gpt2_like_tokenizer()
    stages = [
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(stages)
    return Vocabulary.from_tokenizer(tokenizer, name="digit runs")


@pytest.fixture(params=["bytes", "digit_runs", *ALL])
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return canonical_like(request.param)


@pytest.fixture(
    params=[
        "bytes",
        "tricky",
        "smollm2",
        "qwen",
        "cl100k",
        "o200k",
        "deepseek",
        "gpt2",
        "digit_runs",
        "sentencepiece",
        "gemma",
    ]
)
def number_canonical(request: pytest.FixtureRequest) -> Canonical:
    return canonical_like(request.param)

"""Vocabularies that the tests of the token layer run on: one for each way of splitting text."""

from functools import cache

import pytest
from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL, gpt2_like_tokenizer, o200k_like_tokenizer
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_sdk.tokens.families import CL100K_TO_END, QWEN35, TEKKEN

SPLITS = {"tekken": TEKKEN, "qwen35": QWEN35, "cl100k_to_end": CL100K_TO_END}
_BYTES = ByteLevel(add_prefix_space=False, use_regex=False)


@cache
def canonical_like(name: str) -> Canonical:
    if name == "digit_runs":
        return Canonical(_digit_runs())
    if name in SPLITS:
        tokenizer = o200k_like_tokenizer()
        tokenizer.pre_tokenizer = Sequence([Split(Regex(SPLITS[name]), "isolated"), _BYTES])
        return Canonical(Vocabulary.from_tokenizer(tokenizer, name=name))
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


@pytest.fixture(params=["bytes", "digit_runs", *SPLITS, *ALL])
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

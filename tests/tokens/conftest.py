"""Vocabularies that the tests of the token layer run on: one for each way of splitting text."""

from functools import cache

import pytest

from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL
from factorspec_sdk.tokens import Canonical


@cache
def canonical_like(name: str) -> Canonical:
    return Canonical(byte_vocabulary() if name == "bytes" else vocabulary_like(name))


@pytest.fixture(params=["bytes", *ALL])
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return canonical_like(request.param)


@pytest.fixture(params=["bytes", "tricky", "smollm2", "qwen", "cl100k", "o200k", "sentencepiece", "gemma"])
def number_canonical(request: pytest.FixtureRequest) -> Canonical:
    return canonical_like(request.param)

"""The twins of real tiktoken encodings against tiktoken itself, without network."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
import tiktoken

from factorspec_sdk.testing.corpus import NAMES, texts
from factorspec_sdk.tokens import Vocabulary
from tests.tokenizers.real import TIKTOKEN, missing, ranks

SCRIPTS = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x5D0, 0x700), (0x900, 0xA00), (0xE00, 0xE80))
WIDER = (
    (0x10A0, 0x1100),
    (0x2000, 0x2070),
    (0x3040, 0x3100),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
    (0x1F300, 0x1F700),
)


def fuzz(seed: int, count: int) -> Iterator[str]:
    """Texts of random characters, and of pieces of records and of tokens."""
    source = random.Random(seed)
    pieces = [
        '"',
        '", "',
        '": ',
        "'s",
        "'LL",
        "  ",
        "\n",
        "\r\n",
        " \n ",
        "!!",
        "12",
        "12345",
        "½",
        "/",
        "\t",
        *NAMES,
    ]
    for _ in range(count):
        out = []
        for _ in range(source.randint(1, 12)):
            lo, hi = source.choice(SCRIPTS + WIDER)
            out.append(source.choice(pieces) if source.random() < 0.5 else chr(source.randrange(lo, hi)))
        yield "".join(out)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIKTOKEN)
def test_tokens_are_tiktokens(name: str) -> None:
    reason = missing(name)
    if reason is not None:
        pytest.skip(reason)
    made = ranks(name)
    encoding = tiktoken.Encoding(
        name,
        pat_str=made["pat_str"],
        mergeable_ranks=made["ranks"],
        special_tokens=made["special_tokens"],
    )
    vocabulary = Vocabulary.from_tiktoken(encoding)
    assert not vocabulary.definition.ignores_merges
    source = random.Random(2)
    tokens = [vocabulary.token_bytes(i).decode("utf-8", "ignore") for i in vocabulary.text_ids]
    joined = ["".join(source.choices(tokens, k=3)) for _ in range(3_000)]
    for text in [*fuzz(1, 6_000), *texts(2, 300), *joined, json.dumps(NAMES)]:
        assert vocabulary.encode(text) == tuple(encoding.encode(text, allowed_special="all")), text

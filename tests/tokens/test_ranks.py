"""The twin of a tiktoken encoding has tiktoken's own tokens."""

from __future__ import annotations

import base64
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from factorspec_sdk.errors import EngineError, ModelNotFound
from factorspec_sdk.testing.corpus import texts
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_sdk.tokens.families import GPT2, O200K
from factorspec_sdk.tokens.ranks import _PATTERNS

PATTERNS = tuple(_PATTERNS)
BYTES = {bytes([byte]): byte for byte in range(256)}
SPECIAL = {"<|end|>": 70_001, "<|start|>": 70_000}
ALPHABET = "aB's \n1!/é"


def encoding(ranks: dict[bytes, int], pattern: str = GPT2) -> tiktoken.Encoding:
    return tiktoken.Encoding("made", pat_str=pattern, mergeable_ranks=ranks, special_tokens=SPECIAL)


def same_tokens(vocabulary: Vocabulary, made: tiktoken.Encoding, text: str) -> bool:
    return vocabulary.encode(text) == tuple(made.encode(text, allowed_special="all"))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_text_is_split_as_tiktoken_does(pattern: str) -> None:
    """Every piece of a short text has a rank, so that the tokens are the pre-tokens."""
    ranks = dict(BYTES)
    words = ["".join(w) for length in (2, 3, 4) for w in product(ALPHABET, repeat=length)]
    for word in words:
        ranks.setdefault(word.encode(), len(ranks))
    made = encoding(ranks, pattern)
    vocabulary = Vocabulary.from_tiktoken(made)
    source = random.Random(0)
    longer = ["".join(source.choices(ALPHABET, k=source.randint(5, 12))) for _ in range(4000)]
    for text in [*words, *longer, *texts(3, 200)]:
        assert same_tokens(vocabulary, made, text), text


def odd_ranks(source: random.Random) -> dict[bytes, int]:
    """Ranks in any order over few letters: parts may come after the whole, or not at all."""
    words = {
        "".join(source.choices("ab", k=source.randint(2, 6))).encode() for _ in range(source.randint(3, 25))
    }
    order = sorted(words)
    source.shuffle(order)
    return BYTES | {word: 256 + at for at, word in enumerate(order)}


def test_merges_of_any_ranks_are_tiktokens() -> None:
    source = random.Random(1)
    num_whole = 0
    for _ in range(150):
        made = encoding(odd_ranks(source))
        vocabulary = Vocabulary.from_tiktoken(made)
        num_whole += vocabulary.definition.ignores_merges
        for length in (*range(1, 100), 600):
            text = "".join(source.choices("ab", k=1 + length % 15 if length < 100 else length))
            assert same_tokens(vocabulary, made, text), text
    assert 20 < num_whole < 150


def test_special_tokens_keep_their_ids() -> None:
    vocabulary = Vocabulary.from_tiktoken(encoding(BYTES), end_ids=[70_001])
    assert vocabulary.encode("a<|end|>b") == (97, 70_001, 98)
    assert vocabulary.special_ids == {70_000, 70_001}
    assert vocabulary.logit_width == 70_002
    assert vocabulary.token_bytes(300) == b""
    assert vocabulary.text_ids == tuple(range(256))
    assert vocabulary.name == "made"
    assert vocabulary.escape('"<|end|>"') == '"\\u003c|end|>"'


def test_ranks_are_read_from_a_file(tmp_path: Path) -> None:
    ranks = BYTES | {b"ab": 256, b"abc": 257}
    path = tmp_path / "small.tiktoken"
    path.write_text("".join(f"{base64.b64encode(t).decode()} {r}\n" for t, r in ranks.items()))
    read = Vocabulary.from_tiktoken(path, pattern=O200K, special_tokens=SPECIAL)
    assert read == Vocabulary.from_tiktoken(ranks, pattern=O200K, special_tokens=SPECIAL)
    assert read.encode("abcab") == (257, 256)
    assert Canonical(read).encode_piece("abcab") == (257, 256)


def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.tiktoken"
    path.write_text("YQ== 0\nYg 1\nYQ== 2\n\nYw== three\n")
    with pytest.raises(EngineError) as error:
        Vocabulary.from_tiktoken(path, pattern=GPT2)
    assert [(p.place, p.message, p.value) for p in error.value.problems] == [
        ("line 2", "not a token in base64 and its rank", "'Yg 1'"),
        ("line 3", "a token that stands there already", "b'a'"),
        ("line 5", "not a token in base64 and its rank", "'Yw== three'"),
    ]
    with pytest.raises(ModelNotFound, match=r"no such\.tiktoken"):
        Vocabulary.from_tiktoken("no such.tiktoken", pattern=GPT2)


@pytest.mark.parametrize(
    ("ranks", "options", "told"),
    [
        (BYTES | {b"ab": 7}, {}, r"ranks\[b'ab'\]: the rank of b'\\x07' too \(got 7\)"),
        (BYTES | {b"ab": -1}, {}, r"ranks\[b'ab'\]: a rank must be an integer from 0 on \(got -1\)"),
        (BYTES | {b"ab": "9"}, {}, r"a rank must be an integer from 0 on \(got '9'\)"),
        (BYTES | {b"ab": 1 << 24}, {}, r"ranks\[b'ab'\]: a rank above 16777215 \(got 16777216\)"),
        (BYTES | {b"ab": 1 << 70}, {}, r"ranks\[b'ab'\]: a rank above 16777215"),
        (BYTES, {"special_tokens": {"<e>": 1 << 40}}, "an id must be an integer from 0 to 16777215"),
        (BYTES | {b"": 300}, {}, r"a token must be bytes, and not empty \(got b''\)"),
        (BYTES | {"ab": 300}, {}, r"a token must be bytes, and not empty \(got 'ab'\)"),
        ({b"a": 0}, {}, r"255 single bytes have no rank .* The file may be cut short"),
        (BYTES, {"pattern": r"\w+"}, r"pattern: none of the patterns that are known .*tokenizer\.json"),
        (BYTES, {"pattern": None}, "pattern: is needed where ranks are given without an encoding"),
        (BYTES, {"special_tokens": {"<e>": 3}}, r"special_tokens\['<e>'\]: the rank of b'\\x03' too"),
        (BYTES, {"special_tokens": {"<e>": 300, "<f>": 300}}, r"the id of '<e>' too \(got 300\)"),
        (BYTES, {"special_tokens": {"<e>": -3}}, "an id must be an integer from 0 to"),
        (BYTES, {"special_tokens": {"a": 300}}, "empty or has a rank of its own"),
    ],
)
def test_broken_ranks_are_refused(ranks: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(EngineError, match=told):
        Vocabulary.from_tiktoken(ranks, **({"pattern": GPT2} | options))


def test_many_problems_are_counted() -> None:
    with pytest.raises(EngineError, match="more problems") as error:
        Vocabulary.from_tiktoken(BYTES | {bytes([65, byte]): byte for byte in range(20)}, pattern=GPT2)
    assert len(error.value.problems) == 8

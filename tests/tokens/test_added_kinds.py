"""Added tokens of every kind in values and names; normalisers; columns without a token; many end tokens."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.fields.domains import EnumDomain
from factorspec_sdk.fields.text import json_text
from factorspec_sdk.graph.program import End, Hole, HoleSpec, Literal, Program, Slot, Value
from factorspec_sdk.testing.tokenizers import ALL, END
from factorspec_sdk.tokens import Canonical, Vocabulary
from tests.decoding.brute import BruteFeasibility, FreeFeasibility, enumerate_records
from tests.decoding.test_masks import check_trie

VALUES = (
    "<mask>",
    " <mask> ",
    "a<mask>b",
    "<ma",
    "sk>",
    "unmask",
    "mask",
    "a mask",
    "\uff5cx\uff5c",
    "|x|",
    "",
    " ",
)
FLAGS = [dict(zip(("lstrip", "rstrip", "single_word", "normalized"), flags, strict=True))
         for flags in product((False, True), repeat=4)]  # fmt: skip


def tokenizer_with(name: str, *added: dict[str, Any], normalizer: str | None = None) -> Any:
    """One of the trained tokenizers, with more added tokens."""
    from tokenizers import Tokenizer

    raw = json.loads(ALL[name](0).to_str())
    first = 1 + max([*raw["model"]["vocab"].values(), *(token["id"] for token in raw["added_tokens"])])
    raw["added_tokens"] += [{"id": first + at, "special": False} | token for at, token in enumerate(added)]
    if normalizer is not None:
        raw["normalizer"] = {"type": normalizer}
    return Tokenizer.from_str(json.dumps(raw))


def check(vocabulary: Vocabulary) -> None:
    """Every mask of small specs whose values and names are added tokens, or nearly."""
    canonical = Canonical(vocabulary)
    for name in ("<mask>", "mask", "x"):
        for comma, colon in ((", ", ": "), (",", ":")):
            key = json_text(name) + colon
            second = f"{comma}{json_text('a mask')}{colon}"
            nodes = (
                Literal("{" + key, 1),
                Value(0, 2),
                Literal(second, 3),
                Value(1, 4),
                Literal("}", 5),
                End(),
            )
            slots = (Slot(0, "a", EnumDomain(VALUES)), Slot(1, "b", EnumDomain(VALUES[::3])))
            program = Program(nodes, 0, slots, ())
            records = enumerate_records(program, 1000)
            assert records is not None
            feasibility = BruteFeasibility(program, records)
            check_trie(Decoder(program, feasibility, vocabulary, canonical=canonical), feasibility)


@pytest.mark.parametrize(
    "flags", FLAGS, ids=lambda flags: "+".join(key for key, on in flags.items() if on) or "plain"
)
def test_added_tokens_with_any_flags(flags: dict[str, bool]) -> None:
    tokenizer = tokenizer_with("tricky", {"content": "<mask>"} | flags, {"content": "mask"} | flags)
    check(Vocabulary.from_tokenizer(tokenizer))


@pytest.mark.parametrize("name", ["gpt2", "qwen", "o200k", "deepseek", "unfamiliar"])
def test_added_tokens_that_take_the_space_beside_them(name: str) -> None:
    flags = dict.fromkeys(("lstrip", "rstrip"), True) | dict.fromkeys(("single_word", "normalized"), False)
    check(Vocabulary.from_tokenizer(tokenizer_with(name, {"content": "<mask>"} | flags)))


@pytest.mark.parametrize("normalized", [False, True])
def test_what_the_normaliser_makes_of_an_added_token(normalized: bool) -> None:
    """NFKC makes ``|`` of the wide bar, so that the token is found in a text with plain bars."""
    flags = dict.fromkeys(("lstrip", "rstrip", "single_word"), False) | {"normalized": normalized}
    tokenizer = tokenizer_with("tricky", {"content": "\uff5cx\uff5c"} | flags, normalizer="NFKC")
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert (vocabulary.escape('"|x|"') == '"|x|"') == (not normalized)
    check(vocabulary)


@pytest.mark.parametrize("name", ALL)
def test_free_text_holds_no_added_token_and_no_column_without_a_token(name: str) -> None:
    flags = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    tokenizer = tokenizer_with(name, {"content": "<mask>"} | flags)
    width = tokenizer.get_vocab_size() + 70
    ends = [tokenizer.token_to_id(END), tokenizer.token_to_id("<mask>")]
    vocabulary = Vocabulary.from_tokenizer(tokenizer, width, ends)
    nodes = (Literal('{"a": "', 1), Hole(0, 2), Literal('"}', 3), End())
    program = Program(nodes, 0, (), (HoleSpec("a", "string", None, 0, None),))
    session = Decoder(program, FreeFeasibility(program), vocabulary).session()
    session.commit(session.plan().tokens)
    while session.allowed().count < 100:  # the quote that opens the text may take its first characters
        session.commit([min(session.allowed(), key=lambda token: len(vocabulary.token_bytes(token)))])
    row = np.zeros(vocabulary.row_words, dtype=np.int32)
    session.allowed().write_row(row)
    allowed = set(session.allowed().ids().tolist())
    assert len(allowed) > 100
    assert max(allowed) < tokenizer.get_vocab_size()
    assert not allowed & vocabulary.added_ids
    assert int(np.unpackbits(row.view(np.uint8)).sum()) == len(allowed)

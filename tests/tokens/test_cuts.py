"""A cut must be right for every text before and after it."""

import itertools
import random
from functools import cache

import pytest

from factorspec_sdk.testing.tokenizers import ALL
from factorspec_sdk.tokens import Canonical, Cuts
from factorspec_sdk.tokens.characters import split_ends
from factorspec_sdk.tokens.self_check import failed_claim
from tests.tokens.conftest import canonical_like

ALPHABET = "aBs' \n1!/\u0301中"
# Characters that only the family that tells symbols apart looks at.
BESIDE_SYMBOLS = "aB1 \n!é\u0301中\u30fb\u200d。\u3099"
BEGINNINGS = ("<", "<|", "<|end|", "<think", "'", "'r", "'l", " ", "  ", "\u00a0", "e", "\u0301", "ſ", "'ſ")
CONTINUATIONS = (
    "",
    "'",
    "re",
    "e",
    "s ",
    " ",
    "  ",
    "x",
    "\u0301",
    "|end|",
    "hink",
    '"',
    '"}',
    "1",
    "23",
    "\n",
    "北",
    "/",
    "😀",
)


def test_every_prefix_and_continuation_agree_with_the_tokenizer(canonical: Canonical) -> None:
    source = random.Random(3)
    pieces = (*BEGINNINGS, *CONTINUATIONS, '"Rome", ', '": ', '"}, {"', "international", "12", "New York")
    for _ in range(400):
        text = "".join(source.choice(pieces) for _ in range(source.randint(1, 6)))
        for continuation in source.sample(CONTINUATIONS, 5):
            whole = text + continuation
            normalizer = canonical.vocabulary.tokenizer.normalizer
            if "<|end|>" in whole or "<think>" in whole:
                continue
            if normalizer is not None and normalizer.normalize_str(whole) != whole:
                continue
            assert failed_claim(canonical, text, continuation) is None


def alphabet_of(canonical: Canonical) -> str:
    family = canonical.cuts.family
    return BESIDE_SYMBOLS if family is not None and family.tells_symbols else ALPHABET


def test_every_short_text_is_split_as_the_tokenizer_does(canonical: Canonical) -> None:
    cuts, pre_tokenizer = canonical.cuts, canonical.vocabulary.tokenizer.pre_tokenizer
    if cuts.family is None or cuts.stand_ins is None or pre_tokenizer is None:
        pytest.skip("no split of its own")
    for characters in itertools.product(alphabet_of(canonical), repeat=4):
        text = "".join(characters)
        ends = [end for _, (_, end) in pre_tokenizer.pre_tokenize_str(text)]
        assert split_ends(cuts.family.split, text.translate(cuts.stand_ins)) == ends, text


def test_pair_cuts_hold_in_every_short_text(canonical: Canonical) -> None:
    """All texts of four characters: where a pair is a cut, the tokenizer splits both sides alike."""
    cuts = canonical.cuts
    vocabulary = canonical.vocabulary
    pre_tokenizer = vocabulary.tokenizer.pre_tokenizer
    if (cuts.family is None and cuts.joins is None) or cuts.splits_everywhere:
        pytest.skip("no pair cuts")

    @cache
    def split(text: str) -> list[str | int]:
        if cuts.joins is not None:
            return list(vocabulary.encode_inside(text))
        assert pre_tokenizer is not None
        return [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]

    for characters in itertools.product(alphabet_of(canonical), repeat=4):
        text = "".join(characters)
        for at in (1, 2, 3):
            if cuts.between(text[at - 1], text[at]):
                assert split(text[:at]) + split(text[at:]) == split(text), (text, at)


@pytest.mark.parametrize("name", ["tricky", "gpt2", "smollm2", "qwen", "cl100k", "o200k", "deepseek"])
def test_the_cuts_that_records_need_are_found(name: str) -> None:
    cuts = canonical_like(name).cuts
    assert cuts.family is not None
    for text, last in (('{"city": ', 8), ('"Rome", "day": ', 14), ("12, ", 3), ("true", 0), ('"Rome"', 5)):
        assert cuts.last_cut(text) == last
    assert cuts.last_cut("12", ",]}") == 2
    assert cuts.last_cut("true", ",]}") == 4
    assert cuts.last_cut('"Rome"', ",]}") == 5
    assert cuts.last_cut('"Rome"', " ") == 6
    assert cuts.last_cut("") == 0


def test_families_are_recognised_by_their_definition() -> None:
    names = ("tricky", "gpt2", "smollm2", "qwen", "o200k", "deepseek", "digit_runs", "tekken", "qwen35")
    families = {name: canonical_like(name).cuts.family for name in names}
    assert {name: family and family.name for name, family in families.items()} == {
        "tricky": "llama3",
        "gpt2": "gpt2",
        "smollm2": "digits+gpt2",
        "qwen": "qwen",
        "o200k": "o200k",
        "deepseek": "deepseek",
        "digit_runs": "digits+gpt2",
        "tekken": "tekken",
        "qwen35": "qwen35",
    }
    assert canonical_like("unfamiliar").cuts.family is None


@pytest.mark.parametrize("name", ALL)
def test_no_cut_inside_a_possible_added_token(name: str) -> None:
    canonical = canonical_like(name)
    for text in ("ab <", "ab <t", "ab <th", "ab <|", "ab <|en", "ab <|end|"):
        assert canonical.cuts.last_cut(text) <= 3
        assert canonical.cuts.last_cut(text, "ehink|>nd 1,") <= 3
    assert Cuts(canonical.vocabulary).last_cut("a <b c d e f") > 3


def test_first_cut_is_a_cut_of_every_longer_text(canonical: Canonical) -> None:
    text = '{"city": "Rome", "day": 12, "x": "'
    for position in range(len(text)):
        cut = canonical.cuts.first_cut_at_or_after(text, position)
        if cut is not None:
            assert position <= cut < len(text)
            assert canonical.encode_piece(text[:cut]) + canonical.encode_piece(
                text[cut:]
            ) == canonical.encode_piece(text)
    assert canonical.cuts.first_cut_at_or_after("", 0) is None

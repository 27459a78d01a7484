import json
import random
import subprocess
import sys
from itertools import pairwise

import pytest

from factorspec_sdk import testing
from factorspec_sdk.errors import EngineError
from factorspec_sdk.testing.corpus import NAMES, texts
from factorspec_sdk.testing.tokenizers import ALL, tricky_tokenizer, unfamiliar_tokenizer
from factorspec_sdk.tokens import Canonical, Vocabulary
from tests.tokens.conftest import canonical_like

CODE_POINTS = (
    *range(0x20, 0x250),
    *range(0x370, 0x400),
    *range(0x2000, 0x2070),
    *range(0x3000, 0x3020),
    0xFF11,
    0x1F600,
)


def test_pieces_are_encoded_as_the_tokenizer_does(canonical: Canonical) -> None:
    for text in [*texts(seed=5, count=150), *map(json.dumps, NAMES), ""]:
        if canonical.vocabulary.tokenizer.normalizer is None or text.isascii():
            assert canonical.encode_piece(text) == canonical.vocabulary.encode_inside(text)


def test_every_character_is_split_as_the_tokenizer_does(canonical: Canonical) -> None:
    source = random.Random(0)
    for code in CODE_POINTS:
        c = chr(code)
        around = source.choice(("a{c}b", "{c}{c} {c}", "1{c}2", "'{c}", "!{c} ", "A{c}'s", "\n{c}  "))
        text = canonical.vocabulary.escape(f'"{around.format(c=c)}"')
        assert canonical.encode_piece(text) == canonical.vocabulary.encode_inside(text)


def test_added_tokens_in_a_text_are_what_the_tokenizer_makes_of_them(canonical: Canonical) -> None:
    for text in ("a<|end|>", "  <think> x", "<|end|><think>"):
        assert canonical.encode_piece(text) == canonical.vocabulary.encode_inside(text)


def test_stable_tokens_stay_whatever_follows(canonical: Canonical) -> None:
    tails = ('"},{"', '"', '",', '":', '"}', ' "', '"}]}', "!!!!", "...", "'", '"<', '":["', '"]},', "][")
    follows = (
        "",
        '"',
        '"}',
        "a",
        "Rome",
        " ",
        ' "',
        "1",
        "]",
        "think>",
        "s",
        "re",
        ",",
        ",{",
        "北",
        "\u0301",
        "!" * 9,
    )
    for tail in tails:
        stable = canonical.stable(tail)
        for follow in follows:
            assert canonical.vocabulary.encode_inside(tail + follow)[: len(stable)] == stable, (tail, follow)


def test_some_tokens_of_a_long_punctuation_run_are_stable() -> None:
    assert canonical_like("tricky").stable('"},{"":[{"":""},{"":""}]},')


def test_pair_property_of_punctuation(canonical: Canonical) -> None:
    """Tokens of one pre-token are canonical exactly if each two neighbours are: what ``stable`` relies on."""
    cuts = canonical.cuts
    if (cuts.family is None and cuts.joins is None) or canonical.vocabulary.definition.ignores_merges:
        assert canonical.stable('"},{"') == ()
        return
    source = random.Random(2)
    vocabulary = canonical.vocabulary
    marks = [i for i in vocabulary.text_ids if set(vocabulary.token_bytes(i)) <= set(b'"{}[]:,!<|>./-')]

    def is_canonical(*ids: int) -> bool:
        return vocabulary.encode_inside(vocabulary.decode_bytes(ids).decode()) == ids

    for _ in range(2000):
        ids = [source.choice(marks) for _ in range(source.randint(3, 5))]
        text = vocabulary.decode(ids)
        if any(token.content in text for token in vocabulary.definition.added):
            continue
        pairs = [is_canonical(a, b) for a, b in pairwise(ids)]
        assert is_canonical(*ids) == all(pairs), ids


def test_canonical_ids_are_told_from_others(canonical: Canonical) -> None:
    ids = canonical.vocabulary.encode('{"city": "Rome"}')
    assert canonical.tokens_are_canonical(ids)
    by_bytes = [canonical.vocabulary.token_id(bytes([byte])) for byte in b'{"city": "Rome"}']
    single = [i for i in by_bytes if i is not None]
    assert canonical.tokens_are_canonical(single) == (tuple(single) == ids)
    lead = canonical.vocabulary.token_id(b"\xc3")
    assert lead is not None
    assert not canonical.tokens_are_canonical([lead])


def test_an_unknown_tokenizer_that_cannot_be_predicted_is_refused_by_name() -> None:
    from tokenizers import Regex, pre_tokenizers

    tokenizer = unfamiliar_tokenizer()
    looks_far_ahead = r"[\s\S](?=[\s\S]*z)|[\s\S]+"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(looks_far_ahead), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    vocabulary = Vocabulary.from_tokenizer(tokenizer, name="far-sighted")
    with pytest.raises(EngineError, match=r"'far-sighted' cannot be predicted exactly: self_check: "):
        Canonical(vocabulary)


def test_importing_the_doubles_loads_no_tokenizer_library() -> None:
    code = "import sys, factorspec_sdk.testing, factorspec_sdk.tokens; sys.exit('tokenizers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_double_can_be_loaded() -> None:
    for name in testing.__all__:
        assert getattr(testing, name) is not None
    with pytest.raises(AttributeError):
        testing.no_such_double  # noqa: B018


@pytest.mark.parametrize("name", ALL)
def test_tokenizers_are_the_same_each_time(name: str) -> None:
    assert ALL[name](3).to_str() == ALL[name](3).to_str()
    assert ALL[name](3).to_str() != ALL[name](4).to_str()


def test_the_tricky_tokenizer_merges_across_the_boundaries_of_records() -> None:
    vocabulary = Vocabulary.from_tokenizer(tricky_tokenizer())
    tokens = {vocabulary.token_bytes(i) for i in vocabulary.text_ids}
    assert {b'":', b'",', b' "', b'{"', b'","', b'":"', b'"}'} <= tokens
    assert any(len(t) == 2 and t.isdigit() for t in tokens)

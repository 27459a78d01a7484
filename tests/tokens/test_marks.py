"""SentencePiece style: marks for spaces, byte tokens, the leading mark, and what makes a piece a piece."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factorspec_sdk.errors import EngineError
from factorspec_sdk.testing import gemma_like_tokenizer, sentencepiece_like_tokenizer, vocabulary_like
from factorspec_sdk.testing.corpus import NAMES, texts
from factorspec_sdk.tokens import NOTHING_HELD, Canonical, Continuation, Cuts, Held, Vocabulary, certain
from factorspec_sdk.tokens.marks import MARK
from tests.tokens.conftest import canonical_like

MARKED = ("sentencepiece", "gemma")
RECORD = '{"city": "Rome", "day": 12, "x": "東京 a  b", "y": [1, -2]}'


@pytest.fixture(params=MARKED)
def marked(request: pytest.FixtureRequest) -> Canonical:
    return canonical_like(request.param)


def changed(
    change: Callable[[dict[str, Any]], None], name: str = "sentencepiece", **options: Any
) -> Vocabulary:
    """A double with some parts of its definition changed."""
    from tokenizers import Tokenizer

    make = sentencepiece_like_tokenizer if name == "sentencepiece" else gemma_like_tokenizer
    raw = json.loads(make().to_str())
    change(raw)
    return Vocabulary.from_tokenizer(Tokenizer.from_str(json.dumps(raw)), name="changed", **options)


def fresh(name: str) -> Vocabulary:
    """A double that has not passed its self-check yet."""
    return changed(lambda raw: None, name)


def metaspace(scheme: str, split: bool) -> Callable[[dict[str, Any]], None]:
    stage = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split}
    return lambda raw: raw.update(normalizer=None, pre_tokenizer=stage)


# What tokens spell.


def test_a_mark_is_a_space_and_a_byte_token_a_byte(marked: Canonical) -> None:
    vocabulary = marked.vocabulary
    for name, data in (("<0x0A>", b"\n"), ("<0xE6>", b"\xe6"), ("<0x41>", b"A"), (MARK, b" "), ("a", b"a")):
        token_id = vocabulary.tokenizer.token_to_id(name)
        assert token_id is not None
        assert vocabulary.token_bytes(token_id) == data
        assert token_id in vocabulary.text_ids
    unknown = vocabulary.tokenizer.token_to_id("<unk>")
    assert unknown is not None and vocabulary.token_bytes(unknown) == b""
    assert unknown not in vocabulary.text_ids


def test_of_several_ids_of_a_byte_string_the_one_is_taken_that_bpe_makes(marked: Canonical) -> None:
    vocabulary = marked.vocabulary
    for character in ("A", '"', " "):
        same = [i for i in vocabulary.text_ids if vocabulary.token_bytes(i) == character.encode()]
        assert len(same) == 2
        assert vocabulary.token_id(character.encode()) == vocabulary.encode_inside(character)[0]
    assert vocabulary.token_id(b"\xe6") == vocabulary.tokenizer.token_to_id("<0xE6>")
    assert vocabulary.token_id(b"<0x41>") is None
    assert vocabulary.token_id(MARK.encode()) is None


def test_the_tokenizers_own_decoder_agrees(marked: Canonical) -> None:
    vocabulary = marked.vocabulary
    for text in (RECORD, *(vocabulary.escape(json.dumps(name, ensure_ascii=False)) for name in NAMES)):
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == text == vocabulary.tokenizer.decode(ids)
        assert marked.tokens_are_canonical(ids)


def test_runs_of_marks_are_text_though_they_are_added_tokens_too() -> None:
    vocabulary = vocabulary_like("gemma")
    two, lines = (vocabulary.tokenizer.token_to_id(content) for content in (MARK * 2, "\n\n"))
    assert two in vocabulary.text_ids and vocabulary.token_bytes(two) == b"  "
    assert lines in vocabulary.added_ids
    assert two in vocabulary.encode('"a  b"')
    assert json.loads(vocabulary.escape(f'"a{MARK * 2}b"')) == f"a{MARK * 2}b"


@given(st.text(st.one_of(st.sampled_from(f"{MARK} <b>0x41/[multi]\x7fé東\U00012345"), st.characters())))
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("name", MARKED)
def test_values_are_taken_literally(name: str, value: str) -> None:
    vocabulary = vocabulary_like(name)
    text = vocabulary.escape(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text
    assert not vocabulary.added_ids.intersection(ids)
    assert canonical_like(name).encode_piece(vocabulary.lead + text) == ids


def test_characters_without_tokens_are_escaped() -> None:
    def drop_bytes(raw: dict[str, Any]) -> None:
        raw["model"]["byte_fallback"] = False

    vocabulary = changed(drop_bytes)
    text = vocabulary.escape('"é\U00012345\x7f"')
    assert text in ('"é\\ud808\\udf45\\u007f"', '"\\u00e9\\ud808\\udf45\\u007f"')
    assert vocabulary.decode(vocabulary.encode(text)) == text


# The leading mark.


def test_the_leading_mark_is_part_of_a_record_unless_it_is_declined() -> None:
    tokenizer = sentencepiece_like_tokenizer()
    with_mark = Vocabulary.from_tokenizer(tokenizer)
    without = Vocabulary.from_tokenizer(tokenizer, leading_mark=False)
    assert (with_mark.lead, without.lead) == (" ", "")
    assert with_mark != without
    assert with_mark.encode(RECORD) == tuple(tokenizer.encode(RECORD).ids)
    assert with_mark.decode_bytes(with_mark.encode(RECORD)) == f" {RECORD}".encode()
    assert without.decode_bytes(without.encode(RECORD)) == RECORD.encode()
    for vocabulary in (with_mark, without):
        assert vocabulary.decode(vocabulary.encode(RECORD)) == RECORD
        assert vocabulary.encode_inside(f" {RECORD}") == with_mark.encode(RECORD)
        assert vocabulary.encode_inside(RECORD) == without.encode(RECORD)


def test_tokens_of_a_record_are_those_that_follow_a_prompt() -> None:
    """As chat templates write them: an answer after a space has the mark, one after a line break has none."""
    tokenizer = sentencepiece_like_tokenizer()
    for prompt, space, mark in (("[INST] Plan a trip. [/INST]", " ", True), ("Plan.\n", "", False)):
        vocabulary = Vocabulary.from_tokenizer(tokenizer, leading_mark=mark)
        before, whole = (tokenizer.encode(text).ids for text in (prompt, prompt + space + RECORD))
        assert tuple(whole) == (*before, *vocabulary.encode(RECORD))


def test_a_leading_mark_cannot_be_asked_of_a_tokenizer_without() -> None:
    assert vocabulary_like("gemma").lead == ""
    with pytest.raises(EngineError, match="leading_mark: this tokenizer puts no mark before a text"):
        Vocabulary.from_tokenizer(gemma_like_tokenizer(), leading_mark=True)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_marks_by_a_pre_tokenizer(scheme: str, split: bool) -> None:
    vocabulary = changed(metaspace(scheme, split))
    canonical = Canonical(vocabulary)
    assert vocabulary.lead == ("" if scheme == "never" else " ")
    for text in texts(seed=7, count=60):
        record = text.strip()
        assert canonical.encode_piece(vocabulary.lead + record) == vocabulary.encode(record)
    assert canonical.cuts.between("a", " ") and canonical.cuts.between(" ", " ") == split


# What may be parted.


def test_no_token_spans_a_cut(marked: Canonical) -> None:
    vocabulary = marked.vocabulary
    spanning = 0
    for token_id in vocabulary.text_ids:
        text = vocabulary.token_bytes(token_id).decode("utf-8", "replace")
        if vocabulary.encode_inside(text) == (token_id,):
            assert marked.cuts.parts(text) == [text]
            spanning += len(text) > 1
    assert spanning > 200


def test_stable_tokens_end_at_a_cut(marked: Canonical) -> None:
    """Behind them BPE begins anew, whatever follows: what is held is only what is behind them."""
    source = random.Random(4)
    corpus = "".join(texts(seed=9, count=40))
    for _ in range(1500):
        at, size = source.randrange(len(corpus)), source.randint(1, 40)
        text, follow = corpus[at : at + size], corpus[at + size : at + size + source.randint(0, 30)]
        if source.random() < 0.5:
            follow = source.choice((follow[1:], '"', "}", "1", " x", "東", "é", ""))
        tail = text[marked.cuts.last_cut(text) :]
        stable = marked.stable(tail)
        rest = tail[len(marked.vocabulary.decode_bytes(stable).decode()) :]
        whole = marked.vocabulary.encode_inside(tail + follow)
        assert (*stable, *marked.vocabulary.encode_inside(rest + follow)) == whole, (tail, follow)


def test_stable_tokens_are_all_that_are(marked: Canonical) -> None:
    """A token that every continuation by a token of the vocabulary keeps is given out."""
    vocabulary = marked.vocabulary
    parts = [vocabulary.token_bytes(i).decode() for i in vocabulary.text_ids if i > 256]
    for tail in ('"},{"', ' "Rome', '","', '"],"x', "international", "a  b", '"東京'):
        kept = [vocabulary.encode_inside(tail + part) for part in parts]
        whole = vocabulary.encode_inside(tail)
        size = max(k for k in range(len(whole) + 1) if all(ids[:k] == whole[:k] for ids in kept))
        assert len(marked.stable(tail)) == size, tail


def test_what_is_held_is_short_in_both_layouts(marked: Canonical) -> None:
    for literal in ('", "day": "', '","day":"', '"},{"k":"', "]},"):
        row, held = certain(marked, Held(' "', 0), "Rome", Continuation(literal))
        assert len(held.text) <= 8 and not held.emitted
        assert marked.vocabulary.decode_bytes(row).decode() + held.text == f' "Rome{literal}'
    assert certain(marked, NOTHING_HELD, "7", Continuation(", ", '"'))[1].text in ("", " ", ", ")


@pytest.mark.sources
@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize(
    "mistake",
    [
        lambda left, right: left.isalpha() != right.isalpha(),
        lambda left, right: right == " ",
        lambda left, right: left == '"',
        lambda left, right: ord(left) > 0x2E80 or ord(right) > 0x2E80,
        lambda left, right: left + right == "it",
    ],
    ids=["words", "spaces", "quotes", "ideographs", "one pair"],
)
def test_a_wrong_cut_is_found_by_the_self_check(
    name: str, mistake: Callable[[str, str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Cuts._pair_is_cut
    monkeypatch.setattr(Cuts, "_pair_is_cut", lambda self, a, b: right(self, a, b) or mistake(a, b))
    if name == "sentencepiece" and mistake("a", " ") and not mistake('"', "a") and not mistake("i", "t"):
        return  # there no token holds a space behind something else: the rule is right
    with pytest.raises(EngineError, match="cannot be predicted exactly"):
        Canonical(fresh(name))


@pytest.mark.sources
@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize("lost", [1, 2])
def test_tokens_called_stable_too_soon_are_found_by_the_self_check(
    name: str, lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if no token, or none of more than two characters, reached beyond what is known."""
    right = Canonical._is_proper_prefix
    monkeypatch.setattr(
        Canonical, "_is_proper_prefix", lambda self, rest: len(rest) > lost and right(self, rest)
    )
    with pytest.raises(EngineError, match="stable tokens of"):
        Canonical(fresh(name))


def test_a_wrong_leading_mark_is_found_by_the_self_check(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = fresh("sentencepiece")
    raw = json.loads(vocabulary.tokenizer.to_str())
    raw["normalizer"]["normalizers"][0]["prepend"] = MARK * 2
    monkeypatch.setattr(vocabulary, "tokenizer", type(vocabulary.tokenizer).from_str(json.dumps(raw)))
    with pytest.raises(EngineError, match="leading mark of"):
        Canonical(vocabulary)


# What is refused.


def update(*path: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(raw: dict[str, Any]) -> None:
        part: Any = raw
        for key in path:
            part = part[key]
        part.update(changes)

    return change


def add_merge(raw: dict[str, Any]) -> None:
    raw["model"]["vocab"]["<0x41><0x42>"] = len(raw["model"]["vocab"]) + 50
    raw["model"]["merges"].append(["<0x41>", "<0x42>"])


PREPEND = {"type": "Prepend", "prepend": MARK}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
UNDERSCORES = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": False}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (update(normalizer={"type": "Sequence", "normalizers": [REPLACE, PREPEND]}), None),
        (
            update(normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, REPLACE]}),
            "nothing may be normalised",
        ),
        (
            update(normalizer={"type": "Sequence", "normalizers": [PREPEND, PREPEND, REPLACE]}),
            "nothing may be normalised",
        ),
        (
            update(pre_tokenizer={"type": "Digits", "individual_digits": True}),
            "only Metaspace goes with SentencePiece",
        ),
        (update(normalizer=None, pre_tokenizer=UNDERSCORES), "Metaspace must write marks as ▁"),
        (update("model", ignore_merges=True), "model.ignore_merges: a whole text that is a token"),
        (update("model", dropout=0.1), "model.dropout"),
        (add_merge, "byte tokens must not be merged"),
    ],
)
def test_what_cannot_be_followed_exactly_is_refused(
    change: Callable[[dict[str, Any]], None], reason: str | None
) -> None:
    if reason is None:
        assert Canonical(changed(change)).vocabulary.lead == " "
        return
    with pytest.raises(EngineError, match=f"'changed' is not supported.*{reason}"):
        changed(change)


def test_normalised_added_tokens_that_a_space_could_become_are_refused() -> None:
    def normalise(raw: Mapping[str, Any]) -> None:
        for token in raw["added_tokens"]:
            token["normalized"] = True

    with pytest.raises(EngineError, match="must hold neither space nor mark"):
        changed(normalise, "gemma")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Unigram", "the most probable split of the whole text"),
        ("WordPiece", "drops white space"),
        ("WordLevel", "drops white space"),
    ],
)
def test_other_models_are_refused_with_the_reason(kind: str, reason: str) -> None:
    from tokenizers import Tokenizer, models

    model: Any
    if kind == "Unigram":
        model = models.Unigram([("a", 0.0), ("<unk>", -1.0)], 1, False)
    elif kind == "WordPiece":
        model = models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]")
    else:
        model = models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")
    with pytest.raises(EngineError, match=f"only BPE is supported \\(got '{kind}'\\).*{reason}"):
        Vocabulary.from_tokenizer(Tokenizer(model))

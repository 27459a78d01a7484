import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factorspec_sdk.errors import EngineError, ModelNotFound
from factorspec_sdk.testing import byte_vocabulary, qwen_like_tokenizer, tricky_tokenizer, vocabulary_like
from factorspec_sdk.testing.corpus import NAMES
from factorspec_sdk.testing.tokenizers import ALL, END, THINK
from factorspec_sdk.tokens import Canonical, Vocabulary

BYTE_LEVEL_WITH_SPACE = {
    "type": "ByteLevel",
    "add_prefix_space": True,
    "use_regex": True,
    "trim_offsets": True,
}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def changed(**changes: Any) -> Vocabulary:
    """The tricky tokenizer with some parts of its definition replaced."""
    from tokenizers import Tokenizer

    raw = json.loads(tricky_tokenizer().to_str())
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = raw
        for key in parents:
            part = part[int(key) if key.isdigit() else key]
        part[last] = value
    return Vocabulary.from_tokenizer(Tokenizer.from_str(json.dumps(raw)), name="changed")


def test_bytes_of_tokens_are_those_of_the_text(canonical: Canonical) -> None:
    vocabulary = canonical.vocabulary
    for name in NAMES:
        ids = vocabulary.encode(vocabulary.escape(json.dumps(name, ensure_ascii=False)))
        data = b"".join(map(vocabulary.token_bytes, ids))
        assert data == (vocabulary.lead + vocabulary.decode(ids)).encode()
        assert json.loads(vocabulary.decode(ids)) == name


def test_a_token_may_end_inside_a_character() -> None:
    vocabulary = byte_vocabulary()
    assert vocabulary.decode([0xE5, 0x8C], errors="replace") == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        vocabulary.decode([0xE5, 0x8C])


def test_byte_vocabulary_has_bytes_as_ids() -> None:
    vocabulary = byte_vocabulary()
    assert (vocabulary.logit_width, vocabulary.row_words, vocabulary.end_ids) == (257, 9, (256,))
    assert vocabulary.encode('"é"') == tuple('"é"'.encode())
    assert vocabulary.text_ids == tuple(range(256))


def test_added_tokens_and_padding_are_no_part_of_text() -> None:
    vocabulary = vocabulary_like("tricky")
    end, think = (vocabulary.tokenizer.token_to_id(content) for content in (END, THINK))
    assert vocabulary.added_ids == {end, think}
    assert vocabulary.special_ids == {end}
    assert vocabulary.end_ids == (end,)
    assert len(vocabulary.text_ids) == vocabulary.logit_width - 2 - 3
    assert vocabulary.token_bytes(vocabulary.logit_width - 1) == b""
    assert vocabulary.token_bytes(vocabulary.end_ids[0]) == END.encode()
    assert vocabulary.token_id(b"<think>") is None
    assert vocabulary.token_id(b'":') in vocabulary.text_ids


def test_hash_tells_contents_apart() -> None:
    first = Vocabulary.from_tokenizer(tricky_tokenizer())
    assert first == Vocabulary.from_tokenizer(tricky_tokenizer(), name="another name")
    assert hash(first) == hash(Vocabulary.from_tokenizer(tricky_tokenizer()))
    others = [
        Vocabulary.from_tokenizer(tricky_tokenizer(1)),
        Vocabulary.from_tokenizer(tricky_tokenizer(), 1000),
    ]
    others.append(Vocabulary.from_tokenizer(tricky_tokenizer(), None, [700]))
    assert len({first.hash, *(other.hash for other in others)}) == 4


def test_from_file_reads_a_tokenizer_json(tmp_path: Any) -> None:
    path = tmp_path / "tokenizer.json"
    tricky_tokenizer().save(str(path))
    assert Vocabulary.from_file(str(path)) == Vocabulary.from_tokenizer(tricky_tokenizer())


def test_a_missing_file_is_named(tmp_path: Any) -> None:
    with pytest.raises(ModelNotFound, match=r"no such\.json"):
        Vocabulary.from_file(str(tmp_path / "no such.json"))


def test_a_file_that_is_no_tokenizer_json_is_told_what_to_do(tmp_path: Any) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"\x0a\x0e\x0a\x05<unk>\x15\x00")
    with pytest.raises(EngineError, match=r"cannot be read: \(root\): not a tokenizer.json.*save_pretrained"):
        Vocabulary.from_file(str(path))


def test_truncation_and_padding_are_switched_off_in_a_copy() -> None:
    tokenizer = tricky_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=40)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.decode(vocabulary.encode("Rome and Oslo")) == "Rome and Oslo"
    assert tokenizer.truncation is not None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "only NFC and NFKC are supported"),
        ({"pre_tokenizer": None}, "must end with its only ByteLevel stage"),
        ({"pre_tokenizer": METASPACE}, "no token for these ASCII characters"),
        ({"pre_tokenizer": BYTE_LEVEL_WITH_SPACE}, "add_prefix_space"),
        ({"model__byte_fallback": True}, "model.byte_fallback"),
        ({"model__dropout": 0.5}, "model.dropout"),
        ({"model__end_of_word_suffix": "</w>"}, "model.end_of_word_suffix"),
    ],
)
def test_kinds_that_cannot_be_followed_exactly_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(EngineError, match=f"'changed' is not supported.*{reason}") as caught:
        changed(**changes)
    assert caught.value.problems


@pytest.mark.parametrize("content", ['"', "{", ", ", "true", '{"', " "])
def test_an_added_token_that_json_needs_is_refused(content: str) -> None:
    tokenizer = tricky_tokenizer()
    tokenizer.add_tokens([content])
    if tokenizer.get_added_tokens_decoder().keys() <= {700, 701, 702}:
        with pytest.raises(EngineError, match="outside of strings"):
            Vocabulary.from_tokenizer(tokenizer)


def test_widths_and_end_ids_must_fit() -> None:
    with pytest.raises(EngineError, match="smaller than"):
        Vocabulary.from_tokenizer(tricky_tokenizer(), 10)
    with pytest.raises(EngineError, match="outside the"):
        Vocabulary.from_tokenizer(tricky_tokenizer(), None, [10**6])
    with pytest.raises(EngineError, match="must be an added token"):
        Vocabulary.from_tokenizer(tricky_tokenizer(), None, [3])


VALUES = st.text(
    st.one_of(
        st.sampled_from(
            '<|end>thinke\u0301\u0327\u1100\u1161\u0338=<>\\"\n u03c\U0001f600\u2126\uac00\u11a8\ud83d'
        ),
        st.characters(),
    ),
    max_size=14,
)


@given(VALUES, st.sampled_from(["tricky", "qwen", "gpt2", "sentencepiece", "gemma"]))
@settings(max_examples=300, deadline=None)
def test_escaped_values_are_taken_literally(value: str, name: str) -> None:
    vocabulary = vocabulary_like(name)
    text = vocabulary.escape(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text
    assert not vocabulary.added_ids.intersection(ids)
    assert vocabulary.escape(text) == text
    if name == "qwen":
        assert unicodedata.normalize("NFC", text) == text


@pytest.mark.parametrize(
    "value", [END, THINK, f"a{THINK}b{END}{END}", f"<{THINK}", "<thin", "\\<think>", "\\u003cthink>"]
)
@pytest.mark.parametrize("name", ALL)
def test_added_tokens_in_values_are_escaped(name: str, value: str) -> None:
    vocabulary = vocabulary_like(name)
    text = vocabulary.escape(json.dumps(value))
    assert json.loads(text) == value
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert (text == json.dumps(value)) == (END not in value and THINK not in value)


def test_what_does_not_offend_stays_as_it_is() -> None:
    vocabulary = Vocabulary.from_tokenizer(qwen_like_tokenizer())
    for value in ("", "Zürich", "北京", "თბილისი", "a < b", '"\\', "😀"):
        assert vocabulary.escape(json.dumps(value, ensure_ascii=False)) == json.dumps(
            value, ensure_ascii=False
        )
    assert vocabulary.escape('"e\u0301"') == '"e\\u0301"'
    assert vocabulary.escape('"\u2126"') == '"\\u2126"'


def test_an_added_token_that_is_part_of_an_escape_cannot_be_kept_out() -> None:
    tokenizer = tricky_tokenizer()
    tokenizer.add_tokens(["\\n"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    with pytest.raises(EngineError, match="cannot be escaped"):
        vocabulary.escape('"a\\nb"')


def test_two_tokens_of_one_id_are_refused(tmp_path: Any) -> None:
    """The library takes such a file, encodes both as that id and writes one of them, now this, now that."""
    raw = json.loads(tricky_tokenizer().to_str())
    first, second = [name for name in raw["model"]["vocab"] if name.isalpha() and len(name) > 1][:2]
    raw["model"]["vocab"][second] = raw["model"]["vocab"][first]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(EngineError, match=r"model\.vocab: two tokens of one id"):
        Vocabulary.from_file(str(path))


def test_a_file_at_which_the_library_panics_is_refused(tmp_path: Any) -> None:
    raw = json.loads(tricky_tokenizer().to_str())
    raw["model"]["continuing_subword_prefix"] = "##"
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(EngineError, match=r"cannot be read: .*not a tokenizer\.json"):
        Vocabulary.from_file(str(path))


def test_tables_are_not_made_for_ids_without_end(tmp_path: Any) -> None:
    with pytest.raises(EngineError, match="logit_width: above 16777215"):
        Vocabulary.from_tokenizer(tricky_tokenizer(), 1 << 40)
    raw = json.loads(tricky_tokenizer().to_str())
    raw["model"]["vocab"]["zzzzzz"] = 1 << 31
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(EngineError, match="an id above 16777215"):
        Vocabulary.from_file(str(path))

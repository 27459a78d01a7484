"""Files that a vocabulary cannot be made of: the error says what to give instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from factorspec_sdk.errors import EngineError, ModelNotFound
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.families import GPT2


def test_a_directory_is_told_as_one_and_the_file_inside(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"is a directory; and it holds no tokenizer\.json"):
        Vocabulary.from_file(str(tmp_path))
    inside = tmp_path / "tokenizer.json"
    inside.write_text("{}", encoding="utf-8")
    with pytest.raises(ModelNotFound) as caught:
        Vocabulary.from_file(str(tmp_path))
    assert f"is a directory; give {str(inside)!r}" in str(caught.value)


def test_the_home_directory_may_be_written_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = vocabulary_like("tricky")
    (tmp_path / "tokenizer.json").write_text(made.tokenizer.to_str(), encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Vocabulary.from_file("~/tokenizer.json").encode("a b") == made.encode("a b")
    assert Vocabulary.from_file(Path("~/tokenizer.json")).name == "~/tokenizer.json"


def test_the_name_of_an_encoding_is_no_file() -> None:
    with pytest.raises(ModelNotFound, match=r"no ranks file 'o200k_base'; .*tiktoken\.get_encoding"):
        Vocabulary.from_tiktoken("o200k_base", pattern=GPT2)


def test_a_tokenizer_json_is_no_ranks_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(vocabulary_like("tricky").tokenizer.to_str(), encoding="utf-8")
    with pytest.raises(EngineError, match="use from_file") as caught:
        Vocabulary.from_tiktoken(path, pattern=GPT2)
    assert caught.value.problems == ()

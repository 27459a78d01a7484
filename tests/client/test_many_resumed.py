"""Many records at a time: the file that a run goes on from."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from factorspec_sdk import errors
from factorspec_sdk.client import Client, Result, kept
from factorspec_sdk.client.transport import JsonObject
from factorspec_server.http.in_process import InProcessEngine
from tests.client.canned import Stay
from tests.client.numbered import PROMPTS, Numbered, ask, both, notes
from tests.server.http.serving import SteppedModel, served_model


class OtherStay(Stay):
    """A stay by another spec."""


@both
def test_a_resumed_run_asks_for_what_is_missing_alone(kind: type[Numbered], tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    first = ask(kind(failing=[3, 11]), resume=path, concurrency=4)
    again = kind()
    second = ask(again, resume=path, concurrency=4)
    assert sorted(again.asked) == [3, 11]
    assert notes(second) == [str(n) for n in range(20)]
    assert [one for one in second if one in first] == [one for one in first if isinstance(one, Result)]
    last = kind()
    assert ask(last, resume=path) == second and last.asked == []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["index"] for line in lines) == list(range(20))


@pytest.mark.parametrize("cut", [1, 40, -2])
def test_a_torn_last_line_counts_as_none(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    ask(Numbered(), resume=path, concurrency=1)
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:cut])
    again = Numbered()
    assert notes(ask(again, resume=path)) == [str(n) for n in range(20)]
    assert again.asked == [19]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 20


def test_a_file_that_is_none_of_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    path.write_text('{"a": 1}\ntail')
    transport = Numbered()
    with pytest.raises(errors.DocumentError) as caught:
        ask(transport, resume=path)
    assert caught.value.place == "line 1" and transport.asked == []
    assert path.read_text() == '{"a": 1}\ntail'


@pytest.mark.parametrize(
    ("record", "prompts", "options", "told"),
    [
        (Stay, PROMPTS[:3], {"temperature": 1.0}, "with temperature=0.0, not 1.0"),
        (Stay, PROMPTS[:3], {"strategy": "repair"}, "with strategy='retry', not 'repair'"),
        (Stay, [*PROMPTS[:2], "Stay 9."], {}, "(for prompts[2]) answers another prompt"),
        (Stay, PROMPTS[1:3], {}, "(for prompts[0]) answers another prompt"),
        (OtherStay, PROMPTS[:3], {}, "is a record of another spec"),
    ],
    ids=["option", "strategy", "prompt", "order", "spec"],
)
def test_a_file_of_another_run_is_refused_with_the_reason(
    record: type[Stay], prompts: list[str], options: dict[str, Any], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "stays.jsonl"
    ask(Numbered(), PROMPTS[:3], resume=path)
    kept, transport = path.read_bytes(), Numbered()
    with pytest.raises(errors.DocumentError, match="keeps the records of another run") as caught:
        ask(transport, prompts, record, resume=path, **options)
    assert told in str(caught.value)
    assert transport.asked == [] and path.read_bytes() == kept


def test_many_differences_are_told_by_the_first(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    ask(Numbered(), resume=path)
    with pytest.raises(errors.DocumentError) as caught:
        ask(Numbered(), resume=path, seed=1)
    assert len(caught.value.problems) == 6 and "and more" in str(caught.value)


def test_prompts_may_be_added_and_limits_changed(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    ask(Numbered(failing=[1]), PROMPTS[:3], resume=path)
    transport = Numbered()
    results = ask(transport, PROMPTS[:5], resume=path, max_tokens=99, max_answers=3)
    assert sorted(transport.asked) == [1, 3, 4] and notes(results) == ["0", "1", "2", "3", "4"]
    transport = Numbered()
    assert notes(ask(transport, PROMPTS[:2], resume=path)) == ["0", "1"] and transport.asked == []


def test_a_record_that_its_model_takes_no_more_is_asked_for_once(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    ask(Numbered(), PROMPTS[:2], resume=path)
    lines = path.read_text().splitlines()
    path.write_text(lines[0].replace('\\"first\\": 2', '\\"first\\": 29') + "\n" + lines[1] + "\n")
    for asked in ([0], []):
        transport = Numbered()
        assert notes(ask(transport, PROMPTS[:2], resume=path)) == ["0", "1"]
        assert transport.asked == asked


def test_one_run_at_a_time_has_the_file(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"

    class Nested(Numbered):
        """Starts another run on the same file."""

        def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
            with pytest.raises(errors.DocumentError, match="another run is using it"):
                ask(Numbered(), PROMPTS[:1], resume=path)
            return super().complete(body, timeout_s=timeout_s)

    assert notes(ask(Nested(), PROMPTS[:2], resume=path)) == ["0", "1"]
    assert notes(ask(Numbered(), PROMPTS[:2], resume=path)) == ["0", "1"]


class Disk:
    """A file that takes so many bytes and no more, until there is room."""

    def __init__(self, file: Any, room: int) -> None:
        self.file = file
        self.room = room

    def write(self, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.file.write(data[: self.room])
        self.room -= written
        assert isinstance(written, int)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@both
@pytest.mark.parametrize("room", [0, 100, 2500])
def test_a_full_disk_ends_the_run_and_tears_no_line(
    kind: type[Numbered], room: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "stays.jsonl"
    real = kept._opened
    with monkeypatch.context() as patched:
        patched.setattr(kept, "_opened", lambda at: Disk(real(at), room))
        with pytest.raises(errors.EngineError, match="No space left on device") as caught:
            ask(kind(), resume=path, concurrency=4)
        assert caught.value.place == str(path)
    done = [json.loads(line)["index"] for line in path.read_bytes().splitlines()]
    again = kind()
    assert notes(ask(again, resume=path)) == [str(n) for n in range(20)]
    assert sorted([*again.asked, *done]) == list(range(20))


@pytest.mark.parametrize("name", ["no/such/folder/stays.jsonl", ""], ids=["no folder", "a folder"])
def test_a_file_that_cannot_be_made_is_told(name: str, tmp_path: Path) -> None:
    transport = Numbered()
    with pytest.raises(errors.DocumentError, match="no file to keep results in"):
        ask(transport, resume=tmp_path / name)
    assert transport.asked == []


def test_equal_prompts_are_asked_each_and_with_seeds_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    engine = InProcessEngine(served_model(SteppedModel()))
    with Client(engine=engine) as client:
        results = client.generate_many(
            Stay, ["A stay."] * 6, resume=path, seed=5, temperature=1.0, concurrency=3
        )
        again = client.generate_many(Stay, ["A stay."] * 6, resume=path, seed=5, temperature=1.0)
    assert again == results
    assert all(isinstance(one, Result) for one in results)
    assert [one.report.seed for one in results if isinstance(one, Result)] == [5, 6, 7, 8, 9, 10]


def test_repairs_are_kept_with_their_changes(tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    first = ask(Numbered(bad=True), PROMPTS[:1], strategy="repair", resume=path)
    assert ask(Numbered(), PROMPTS[:1], strategy="repair", resume=path) == first
    assert isinstance(first[0], Result) and len(first[0].changes) == 2

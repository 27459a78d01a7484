"""Many records at a time: order, failures, the file that a run goes on from, and interrupts."""

from __future__ import annotations

import asyncio
import errno
import json
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from factorspec_sdk import errors, records
from factorspec_sdk.client import AsyncClient, Client, Failure, Result, kept, patience
from factorspec_sdk.client.transport import JsonObject
from factorspec_server.http.in_process import InProcessEngine
from tests.client.canned import BAD, GOOD, Canned, Stay, as_text, chunks_of, completion
from tests.server.http.serving import SteppedModel, served_model

PROMPTS = [f"Stay {number}." for number in range(20)]


class OtherStay(Stay):
    """A stay by another spec."""


class Numbered(Canned):
    """Answers with the number of the prompt as the note, in any order; some prompts fail or interrupt."""

    def __init__(
        self, *, failing: Sequence[int] = (), interrupting: int | None = None, bad: bool = False
    ) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.most = 0
        self._failing = failing
        self._interrupting = interrupting
        self._bad = bad
        self._running = 0
        self._lock = threading.Lock()

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        with self._lock:
            number = self._number(body)
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            return self._answer(number)
        finally:
            with self._lock:
                self._running -= 1

    def _number(self, body: JsonObject) -> int:
        messages: Any = body["messages"]
        number = int(messages[-1]["content"].split()[1].rstrip("."))
        self.asked.append(number)
        return number

    def _answer(self, number: int) -> JsonObject:
        if number == self._interrupting:
            raise KeyboardInterrupt
        if number in self._failing:
            raise errors.ConnectionLost("dropped")
        return completion(as_text({**(BAD if self._bad else GOOD), "note": str(number)}))


class AsyncNumbered(Numbered):
    """``Numbered`` for asyncio: requests meet in the middle."""

    async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:  # type: ignore[override]
        number = self._number(body)
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            return self._answer(number)
        finally:
            self._running -= 1

    async def stream(  # type: ignore[override]
        self, body: JsonObject, *, timeout_s: float
    ) -> AsyncGenerator[JsonObject]:
        for chunk in chunks_of(await self.complete(body, timeout_s=timeout_s)):
            yield chunk

    async def model_name(self, *, timeout_s: float) -> str:  # type: ignore[override]
        return "numbered"

    async def close(self) -> None:  # type: ignore[override]
        """Nothing to close."""


def ask(
    transport: Numbered, prompts: Sequence[str] = PROMPTS, record: type[Stay] = Stay, **more: Any
) -> list[Result[Stay] | Failure]:
    options = {"strategy": "retry", "max_answers": 1, "patience_s": 0, **more}
    if not isinstance(transport, AsyncNumbered):
        return Client(engine=transport).generate_many(record, prompts, **options)

    async def run() -> list[Result[Stay] | Failure]:
        async with AsyncClient(engine=transport) as client:
            return await client.generate_many(record, prompts, **options)

    return asyncio.run(run())


def notes(results: Sequence[Result[Stay] | Failure]) -> list[str | None]:
    return [result.value.note if isinstance(result, Result) else None for result in results]


both = pytest.mark.parametrize("kind", [Numbered, AsyncNumbered])


@both
def test_order_is_kept_and_failures_stand_in_their_places(kind: type[Numbered]) -> None:
    transport = kind(failing=[3, 11])
    results = ask(transport, concurrency=4)
    assert notes(results) == [None if n in (3, 11) else str(n) for n in range(20)]
    assert sorted(transport.asked) == list(range(20))
    assert transport.most <= 4
    failure = results[11]
    assert isinstance(failure, Failure)
    assert failure.index == 11 and isinstance(failure.error, errors.ConnectionLost)


def test_requests_do_run_at_the_same_time() -> None:
    class Meeting(AsyncNumbered):
        """Answers five requests when five are there."""

        def __init__(self) -> None:
            super().__init__()
            self.barrier = asyncio.Barrier(5)

        async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:  # type: ignore[override]
            async with asyncio.timeout(30), self.barrier:
                return await super().complete(body, timeout_s=timeout_s)

    assert len(ask(Meeting(), concurrency=5)) == 20


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


@both
def test_an_interrupt_keeps_what_is_done(kind: type[Numbered], tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    with pytest.raises(KeyboardInterrupt):
        ask(kind(interrupting=7), resume=path, concurrency=1)
    assert len(path.read_text().splitlines()) == 7
    again = kind()
    assert notes(ask(again, resume=path)) == [str(n) for n in range(20)]
    assert sorted(again.asked) == list(range(7, 20))


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


# -- what passes is waited out ----------------------------------------------------------------------


class Shaky(Numbered):
    """Fails so often before each answer; ``always`` never answers."""

    def __init__(self, error: errors.FactorspecError, times: int, always: Sequence[int] = ()) -> None:
        super().__init__()
        self._error = error
        self._times = times
        self._always = always

    def _answer(self, number: int) -> JsonObject:
        if number in self._always or self.asked.count(number) <= self._times:
            raise self._error
        return super()._answer(number)


class AsyncShaky(AsyncNumbered, Shaky):
    """``Shaky`` for asyncio."""


PASSING = [errors.ConnectionLost("refused"), errors.Overloaded("full")]
LASTING = [errors.ConnectionLost("late", timed_out=True), errors.EngineError("broken")]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_FIRST_WAIT_S", 1e-4)


@pytest.mark.parametrize("kind", [Shaky, AsyncShaky])
@pytest.mark.parametrize("error", PASSING, ids=["lost", "full"])
@pytest.mark.usefixtures("hurried")
def test_what_passes_is_sent_again(kind: type[Shaky], error: errors.FactorspecError) -> None:
    transport = kind(error, times=3)
    assert notes(ask(transport, concurrency=4, patience_s=30)) == [str(n) for n in range(20)]
    assert sorted(transport.asked) == sorted([*range(20)] * 4)


@pytest.mark.parametrize("kind", [Shaky, AsyncShaky])
@pytest.mark.parametrize("error", LASTING, ids=["late", "broken"])
def test_what_does_not_pass_is_not_sent_again(kind: type[Shaky], error: errors.FactorspecError) -> None:
    transport = kind(error, times=1)
    results = ask(transport, PROMPTS[:3], patience_s=30)
    assert [one.error for one in results if isinstance(one, Failure)] == [error] * 3
    assert sorted(transport.asked) == [0, 1, 2]


@pytest.mark.parametrize("kind", [Shaky, AsyncShaky])
def test_patience_ends_where_nothing_comes_through(
    kind: type[Shaky], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10**6))
    monkeypatch.setattr(patience, "monotonic", lambda: next(now) / 10)
    monkeypatch.setattr(patience, "_LONGEST_WAIT_S", 1e-6)
    transport = kind(PASSING[0], times=0, always=range(20))
    results = ask(transport, patience_s=5, concurrency=1)
    assert len(results) == 20 and all(isinstance(one, Failure) for one in results)
    assert 40 < transport.asked.count(0) <= 50 and transport.asked.count(19) == 1


@pytest.mark.usefixtures("hurried")
def test_a_request_that_breaks_while_others_come_through_is_given_up() -> None:
    transport = Shaky(PASSING[0], times=0, always=[0])
    results = ask(transport, [f"Stay {n}." for n in range(400)], concurrency=2, patience_s=30)
    assert [one.index for one in results if isinstance(one, Failure)] == [0]
    assert transport.asked.count(0) <= 30


@pytest.mark.usefixtures("hurried")
def test_an_interrupt_ends_waiting() -> None:
    class Interrupted(Numbered):
        def _answer(self, number: int) -> JsonObject:
            if number == 1:
                raise KeyboardInterrupt
            raise PASSING[0]

    with pytest.raises(KeyboardInterrupt):
        ask(Interrupted(), concurrency=2, patience_s=1e6)


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


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    transport = Numbered()
    client = Client(engine=transport)
    with pytest.raises(errors.DeclarationError, match="1 models for 2 prompts"):
        client.generate_many([Stay], PROMPTS[:2])
    with pytest.raises(errors.DeclarationError, match="at least 1"):
        client.generate_many(Stay, PROMPTS[:2], concurrency=0)
    assert transport.asked == []


def test_no_prompts_give_no_records() -> None:
    assert ask(Numbered(), []) == []


def test_each_prompt_may_have_its_own_model() -> None:
    models: list[type[Stay]] = [Stay, records.bind(Stay)]
    results = Client(engine=Numbered()).generate_many(models, PROMPTS[:2], strategy="retry")
    assert [type(one.value) for one in results if isinstance(one, Result)] == models


def test_a_progress_bar_counts_records_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    ask(Numbered(failing=[2]), PROMPTS[:4], progress=True)
    told = capsys.readouterr().err
    assert "4/4" in told and "1 failed" in told


def test_a_missing_progress_bar_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(errors.MissingExtra, match=r"factorspec\[client\]"):
        ask(Numbered(), PROMPTS[:1], progress=True)

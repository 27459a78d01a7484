"""Many records at a time: order, failures, waiting, and interrupts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from factorspec_sdk import errors, records
from factorspec_sdk.client import Client, Failure, Result, patience
from factorspec_sdk.client.transport import JsonObject
from tests.client.canned import Stay
from tests.client.numbered import PROMPTS, AsyncNumbered, Numbered, ask, both, notes


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
def test_an_interrupt_keeps_what_is_done(kind: type[Numbered], tmp_path: Path) -> None:
    path = tmp_path / "stays.jsonl"
    with pytest.raises(KeyboardInterrupt):
        ask(kind(interrupting=7), resume=path, concurrency=1)
    assert len(path.read_text().splitlines()) == 7
    again = kind()
    assert notes(ask(again, resume=path)) == [str(n) for n in range(20)]
    assert sorted(again.asked) == list(range(7, 20))


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

"""Reports from a scheduler's thread to the board of the HTTP process, through a real socket."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import prometheus_client
import pytest

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import EngineError
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_sdk.tokens import Canonical
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.opening import SessionOpener
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.envelope import Envelope, RequestOptions
from factorspec_server.sglang.record_metrics import RecordMetrics
from factorspec_server.sglang.records import Opened, counts_of, opened_here
from factorspec_server.sglang.reports import (
    ADDRESS_VARIABLE,
    ReportBoard,
    ReportSender,
    digest_of,
    report_of,
)
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar
from tests.server.http.serving import TRIP


@pytest.fixture
def board() -> Iterator[ReportBoard]:
    made = ReportBoard()
    yield made
    made.close()


@pytest.fixture(scope="module")
def opener() -> SessionOpener:
    canonical = Canonical(vocabulary_like("smollm2"))
    compiler = Compiler(canonical, max_entries=4, max_bytes=1 << 24)
    return SessionOpener(canonical, ScriptedModel(canonical.vocabulary.logit_width), compiler)


def finished(opener: SessionOpener, *, origins: bool = False) -> tuple[Opened, SessionGrammar]:
    opened = opened_here(opener, Envelope(TRIP, RequestOptions(id="r", origins=origins)))
    grammar, source = SessionGrammar(opened.record, 0), random.Random(4)
    while grammar.session.state == "open":
        grammar.accept_token(source.choice(list(session_of(grammar).allowed())))
    grammar.accept_token(0)
    grammar.finished = True
    return opened, grammar


def session_of(grammar: SessionGrammar) -> Session:
    assert isinstance(grammar.session, Session)
    return grammar.session


@pytest.mark.parametrize("origins", [False, True])
def test_a_report_says_what_the_session_counted(
    board: ReportBoard, opener: SessionOpener, origins: bool
) -> None:
    opened, grammar = finished(opener, origins=origins)
    grammar.steps.count(Chain((1, 2), (Decision(2, None),)), 3)
    sender = ReportSender(board.address)
    sender.send(opened, Ended("r", grammar))
    (report,) = asyncio.run(board.take("r", 1))
    counted = session_of(grammar).report
    assert report["tokens"] == counted.num_tokens
    assert (report["certain"], report["chosen"], report["free"]) == (
        counted.certain,
        counted.chosen,
        counted.free,
    )
    assert (report["model_steps"], report["tokens_run"], report["widest"]) == (1, 3, 3)
    assert report["drafts"] == {"certain": {"drafted": counted.certain, "accepted": counted.certain}}
    assert report["error"] is None
    assert report["digest"] == digest_of(grammar.session.text)
    assert report["decode_s"] == round(grammar.decode_s, 6)
    told = report.get("origins")
    assert (told is not None) == origins
    if isinstance(told, list):
        assert len(told) == counted.num_tokens


def test_whoever_waits_is_woken_and_reports_are_told_apart(board: ReportBoard, opener: SessionOpener) -> None:
    opened, grammar = finished(opener)
    sender = ReportSender(board.address)

    async def main() -> None:
        waiting = [asyncio.ensure_future(board.take(name, 2)) for name in ("a", "b")]
        await asyncio.sleep(0)
        for name in ("b", "a", "b", "a"):
            sender.send(opened, Ended(name, grammar))
        assert [len(found) for found in await asyncio.gather(*waiting)] == [2, 2]

    asyncio.run(main())


def test_what_sglang_sends_ahead_of_several_choices_is_no_record(
    board: ReportBoard, opener: SessionOpener
) -> None:
    opened, grammar = finished(opener)
    ahead = SessionGrammar(opened_here(opener, Envelope(TRIP, RequestOptions(id="r"))).record, 0)
    ahead.accept_token(next(iter(session_of(ahead).allowed())))
    ahead.finished = True
    metrics = Counted()
    sender = ReportSender(board.address, metrics)

    async def main() -> list[Any]:
        waiting = asyncio.ensure_future(board.take("r", 2))
        await asyncio.sleep(0)
        for each in (ahead, grammar, grammar):
            sender.send(opened, Ended("r", each))
        return await waiting

    found = asyncio.run(main())
    assert [one["complete"] for one in found] == [False, True, True]
    assert [report["complete"] for report in metrics.reports] == [True, True]


class Counted(RecordMetrics):
    """Keeps what would be counted."""

    def __init__(self) -> None:
        self.reports: list[Mapping[str, Any]] = []

    def count(self, report: Mapping[str, Any]) -> None:
        self.reports.append(report)


def test_a_wait_has_a_deadline(board: ReportBoard) -> None:
    started = time.monotonic()
    assert asyncio.run(board.take("never", 1, deadline_s=0.05)) == []
    assert time.monotonic() - started < 5


def test_reports_that_nobody_takes_do_not_pile_up(board: ReportBoard) -> None:
    for at in range(5000):
        board._note(str(at), {})
    assert len(board._kept) == 4096
    board.forget("4999")
    assert "4999" not in board._kept


def test_records_are_counted_for_prometheus(board: ReportBoard, opener: SessionOpener) -> None:
    opened, grammar = finished(opener)
    grammar.steps.count(Chain((1, 2), (Decision(2, None),)), 3)
    sender = ReportSender(board.address, RecordMetrics())
    sender.send(opened, Ended(None, grammar))
    sender.send(opened, Ended("r", grammar))
    asyncio.run(board.take("r", 1))
    counted = session_of(grammar).report
    read = prometheus_client.REGISTRY.get_sample_value
    assert read("factorspec_records_total", {"outcome": "complete"}) == 2
    assert read("factorspec_record_tokens_total", {"origin": "certain"}) == 2 * counted.certain
    drafted = {"kind": "certain", "outcome": "drafted"}
    assert read("factorspec_draft_tokens_total", drafted) == 2 * counted.certain > 0
    assert read("factorspec_model_steps_total") == 2
    assert not board._kept  # the first has no name


def test_nobody_sends_where_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    assert ReportSender.of_environment() is None


def test_a_lost_listener_does_not_stop_the_sender(
    board: ReportBoard, opener: SessionOpener, caplog: pytest.LogCaptureFixture
) -> None:
    opened, grammar = finished(opener)
    gone = ReportBoard()
    sender = ReportSender(gone.address)
    gone.close()
    sender.send(opened, Ended("r", grammar))
    sender._address = f"\0{board.address}"
    sender.send(opened, Ended("s", grammar))
    found = asyncio.run(board.take("s", 1))
    assert len(found) == 1


class Kept:
    """A record that somebody else keeps: a session, told as the constraint service would."""

    def __init__(self, session: Session, *, is_lost: bool = False) -> None:
        self._session = session
        self._is_lost = is_lost
        self.closed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def finish(self, *, origins: bool) -> dict[str, Any]:
        if self._is_lost:
            raise EngineError("its worker is gone")
        return counts_of(self._session, origins=origins)

    def close(self) -> None:
        self.closed += 1


def kept(opener: SessionOpener, *, is_lost: bool = False) -> tuple[Opened, Kept, SessionGrammar]:
    opened, grammar = finished(opener, origins=True)
    record = Kept(session_of(grammar), is_lost=is_lost)
    twin = SessionGrammar(cast(Any, record), 0)
    twin.accept_token(0)
    return opened, record, twin


def test_what_somebody_else_keeps_is_told_alike_and_given_back(
    board: ReportBoard, opener: SessionOpener
) -> None:
    opened, record, grammar = kept(opener)
    sender = ReportSender(board.address)
    sender.send(opened, Ended("r", grammar))
    (report,) = asyncio.run(board.take("r", 1))
    twin = SessionGrammar(record._session, 0)
    twin.accept_token(0)
    here = report_of(opened, Ended("r", twin))
    times = ("prefill_s", "decode_s")
    assert {**report, **dict.fromkeys(times, 0)} == {**here, **dict.fromkeys(times, 0)}
    assert report["complete"] is True
    sender.send(*finished_of(opener))  # the thread is at the next one: this one is given back
    asyncio.run(board.take("s", 1))
    deadline = time.monotonic() + 30
    while not record.closed and time.monotonic() < deadline:
        time.sleep(0.001)
    assert record.closed


def finished_of(opener: SessionOpener) -> tuple[Opened, Ended]:
    opened, grammar = finished(opener)
    return opened, Ended("s", grammar)


def test_a_record_whose_keeper_is_gone_is_told_as_an_error(
    opener: SessionOpener, caplog: pytest.LogCaptureFixture
) -> None:
    opened, _, grammar = kept(opener, is_lost=True)
    report = report_of(opened, Ended("r", grammar))
    error: Any = report["error"]
    assert (error["status"], error["error"]["code"]) == (500, "engine_error")
    assert "its worker is gone" in caplog.text
    assert report["exact"] is False
    assert report["tokens"] == grammar.session.num_tokens

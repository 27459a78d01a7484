"""Processes of the constraint service that die. Nothing here depends on how fast anything is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from factorspec_sdk.errors import (
    EngineError,
    FactorspecError,
)
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, Wanted
from tests.benchmarks.sessions_growth import small_document
from tests.constraint_service.pairs import (
    NOTES,
    Pairs,
    serving,
)
from tests.constraint_service.processes import (
    begin,
    children,
    fds,
    finish,
    kill,
    nursery_of,
    wait_until_gone,
    worker_of,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the service needs Linux")


class TestDeaths:
    def test_while_nothing_is_asked(self, service: ConstraintService, vocabulary: Vocabulary) -> None:
        pair = begin(Pairs(service, vocabulary))
        rebuilt = service.stats().records_rebuilt
        kill(worker_of(pair))
        finish(pair, vocabulary)
        assert service.stats().records_rebuilt > rebuilt

    def test_between_ask_and_plans(self, service: ConstraintService, vocabulary: Vocabulary) -> None:
        pairs = Pairs(service, vocabulary)
        opened = [begin(pairs, small_document(number), 4) for number in range(8)]
        wanted = [Wanted(pair.record, 512) for pair in opened]
        os.kill(worker_of(opened[0]), signal.SIGSTOP)  # so that it surely has not answered
        service.ask(wanted)
        kill(worker_of(opened[0]))
        for pair, plan in zip(opened, service.plans(wanted), strict=True):
            assert plan == pair.policy.plan(pair.session)
            finish(pair, vocabulary)

    def test_between_a_plan_and_its_rows(self, service: ConstraintService, vocabulary: Vocabulary) -> None:
        pair = begin(Pairs(service, vocabulary), num_tokens=16)
        while not (pair.session.plan().choices and pair.session.allowed().count > 100):
            pair.commit(pair.session.plan().tokens or pair.session.allowed().ids()[:1].tolist())
        allowed = pair.record.plan().choices[0].allowed
        kill(worker_of(pair))
        assert allowed == pair.session.allowed()
        pair.compare()
        finish(pair, vocabulary)

    def test_while_it_compiles(self, vocabulary: Vocabulary) -> None:
        with serving(vocabulary, workers=1) as service:
            pair = begin(Pairs(service, vocabulary))
            stopped = worker_of(pair)
            os.kill(stopped, signal.SIGSTOP)
            opened: list[str] = []
            opening = threading.Thread(
                target=lambda: opened.append(service.open(small_document(1)).spec_hash)
            )
            opening.start()
            while not service.stats().compiles_waiting:
                pass
            kill(stopped)
            opening.join(60)
            assert len(opened) == 1
            finish(pair, vocabulary)

    def test_before_a_record_is_finished(self, service: ConstraintService, vocabulary: Vocabulary) -> None:
        pair = begin(Pairs(service, vocabulary))
        kill(worker_of(pair))
        pair.compare_reports()
        finish(pair, vocabulary)

    def test_of_the_nursery(self, vocabulary: Vocabulary) -> None:
        with serving(vocabulary) as service:
            pairs = Pairs(service, vocabulary)
            opened = [begin(pairs, small_document(number), 4) for number in range(4)]
            workers = {worker_of(pair) for pair in opened}
            kill(nursery_of(service))
            wait_until_gone([*workers])
            for pair in opened:
                finish(pair, vocabulary)
            assert service.stats().nurseries == 2

    def test_again_and_again(self, service: ConstraintService, vocabulary: Vocabulary) -> None:
        pair = begin(Pairs(service, vocabulary), num_tokens=1)
        for _ in range(6):
            kill(worker_of(pair))
            plan = pair.session.plan()
            pair.commit(plan.tokens or pair.session.allowed().ids()[:1].tolist())
            pair.compare_plans()
            pair.compare()
            pair.compare_reports()  # by a worker that lives, also where the plan was known ahead
        finish(pair, vocabulary)


def test_a_stopped_worker_is_replaced_at_the_deadline(vocabulary: Vocabulary) -> None:
    with serving(vocabulary, deadline_s=4.0) as service:
        pair = begin(Pairs(service, vocabulary))
        stopped = worker_of(pair)
        os.kill(stopped, signal.SIGSTOP)
        pair.compare_plans()
        wait_until_gone([stopped])
        finish(pair, vocabulary)


def test_a_document_goes_elsewhere_when_its_worker_is_silent(vocabulary: Vocabulary) -> None:
    with serving(vocabulary, deadline_s=4.0, open_deadline_s=600.0) as service:
        pair = begin(Pairs(service, vocabulary))
        while len(service.worker_pids) < 2:
            pass
        silent = {*service.worker_pids} - {worker_of(pair)}
        for pid in silent:
            os.kill(pid, signal.SIGSTOP)
        opened = [begin(Pairs(service, vocabulary), small_document(number), 4) for number in range(3)]
        wait_until_gone([*silent])
        for each in (pair, *opened):
            finish(each, vocabulary)


def test_a_nursery_that_forks_nothing_is_replaced(vocabulary: Vocabulary) -> None:
    with serving(vocabulary, deadline_s=4.0) as service:
        pair = begin(Pairs(service, vocabulary))
        silent = nursery_of(service)
        os.kill(silent, signal.SIGSTOP)
        kill(worker_of(pair))
        wait_until_gone([silent])
        while service.stats().nurseries < 2:  # until then its workers may not be known to be gone
            time.sleep(0.01)
        service.await_workers(60)
        finish(pair, vocabulary)
        assert service.stats().nurseries == 2


def test_a_record_that_cannot_be_opened_again_fails_alone(vocabulary: Vocabulary) -> None:
    with serving(vocabulary) as service:
        pairs = Pairs(service, vocabulary)
        bad, good = begin(pairs), begin(pairs, small_document(1), 4)
        bad.record.opening = type(bad.record.opening)(b"[]", b"", None, "narrow")
        for pid in {worker_of(bad), worker_of(good)}:
            kill(pid)
        answers = service.plans([Wanted(bad.record, 8), Wanted(good.record, 512)])
        assert isinstance(answers[0], FactorspecError)
        assert answers[1] == good.policy.plan(good.session)
        finish(good, vocabulary)


ENGINE = """
import sys, time
from factorspec_sdk.testing import vocabulary_like
from tests.constraint_service.pairs import NOTES, serving
with serving(vocabulary_like("smollm2")) as service:
    record = service.open(NOTES)
    record.plan()
    while service.stats().workers_alive < 2:  # one that is just forked dies with nobody yet
        time.sleep(0.05)
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def engine_process() -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """An engine with a service, and all processes of the service."""
    path = os.pathsep.join(sys.path)
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert engine.stdin is not None and engine.stdout is not None
    try:
        assert engine.stdout.readline() == "ready\n"
        nursery = children(engine.pid)
        yield engine, [*nursery, *(pid for each in nursery for pid in children(each))]
    finally:
        engine.kill()
        engine.wait()
        engine.stdin.close()
        engine.stdout.close()


@pytest.mark.parametrize("stop", [False, True])
def test_nothing_is_left_of_an_engine_that_is_killed(stop: bool) -> None:
    before = {*os.listdir("/dev/shm")}
    with engine_process() as (engine, pids):
        assert len(pids) == 3
        if stop:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
        engine.kill()
        wait_until_gone(pids)
    assert {*os.listdir("/dev/shm")} <= before


def test_nothing_is_left_of_an_engine_that_ends() -> None:
    with engine_process() as (engine, pids):
        engine.communicate("")
        assert engine.returncode == 0
        wait_until_gone(pids)


def test_workers_are_forked_from_one_thread(service: ConstraintService, vocabulary: Vocabulary) -> None:
    service.open(NOTES).close()
    assert len(os.listdir(f"/proc/{nursery_of(service)}/task")) == 1


def test_closing_leaves_nothing(vocabulary: Vocabulary) -> None:
    with serving(vocabulary) as service:
        service.open(NOTES).close()
    files, threads = fds(), threading.active_count()
    for _ in range(3):
        with serving(vocabulary) as service:
            pair = begin(Pairs(service, vocabulary))
            kill(worker_of(pair))
            pair.compare_plans()
            pids = [nursery_of(service), worker_of(pair)]
        wait_until_gone(pids)
        with pytest.raises(EngineError, match="closed"):
            service.open(NOTES)
        service.close()
    assert (fds(), threading.active_count()) == (files, threads)

"""What the constraint service refuses, as sessions of this process do, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from time import sleep
from typing import Any

import pytest

from factorspec_sdk.errors import (
    EngineError,
    FactorspecError,
    Overloaded,
    RequestTooLarge,
    TokenLimitTooSmall,
)
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, ServiceOptions, VocabularySource, Wanted
from factorspec_server.constraint_service.keeper import _setup_file
from factorspec_server.constraint_service.memory import Layout, Memory
from factorspec_server.settings import Budgets
from tests.benchmarks.sessions_growth import small_document
from tests.constraint_service.pairs import (
    NOTES,
    Pairs,
    outcome,
    serving,
)
from tests.constraint_service.processes import (
    begin,
    fds,
    finish,
    worker_of,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the service needs Linux")


def test_a_thousand_records_leave_nothing(service: ConstraintService, vocabulary: Vocabulary) -> None:
    def write_some(count: int) -> None:
        for number in range(count):
            record = service.open(small_document(number % 3))
            assert record.commit(record.plan().tokens)
            record.plan()
            record.close()
            record.close()

    while service.stats().workers_alive < service.options.workers:
        sleep(0.01)  # each has sockets
    write_some(40)
    files, pair = fds(), begin(Pairs(service, vocabulary))
    write_some(1000)
    assert fds() == files
    stats = service.stats()
    pair.record.close()
    assert stats.asks_waiting == 0
    while service.stats().records_open:
        pass
    assert service._slots.num_free == service.options.records


def test_more_records_than_slots_are_refused(vocabulary: Vocabulary) -> None:
    with serving(vocabulary, records=3) as service:
        opened = [service.open(NOTES) for _ in range(3)]
        with pytest.raises(Overloaded, match="no room for another record"):
            service.open(NOTES)
        with pytest.raises(Overloaded):
            opened[0].copy()
        opened[1].close()
        again = service.open(small_document(2))
        assert again.plan() != opened[0].plan()
        assert opened[1].place.slot == again.place.slot
        with pytest.raises(FactorspecError, match="the record is closed"):
            opened[1].plan()
        with pytest.raises(FactorspecError, match="the record is closed"):
            opened[1].finish(origins=False)


def test_a_record_that_is_closed_while_it_is_asked_about(
    service: ConstraintService, vocabulary: Vocabulary
) -> None:
    pairs = Pairs(service, vocabulary)
    gone, stays = begin(pairs), begin(pairs)
    wanted = [Wanted(gone.record, 512), Wanted(stays.record, 512)]
    service.ask(wanted)
    gone.record.close()
    answers = service.plans(wanted)
    assert isinstance(answers[0], FactorspecError)
    assert answers[1] == stays.policy.plan(stays.session)
    finish(stays, vocabulary)


def test_documents_that_wait_are_bounded(vocabulary: Vocabulary) -> None:
    with serving(vocabulary, workers=1, budgets=Budgets(compile_waiting=1)) as service:
        pair = begin(Pairs(service, vocabulary))
        os.kill(worker_of(pair), signal.SIGSTOP)
        threads = [threading.Thread(target=service.open, args=(small_document(n),)) for n in range(2)]
        for thread in threads:
            thread.start()
        while service.stats().compiles_waiting < 2:
            pass
        with pytest.raises(Overloaded, match="no room to compile another document"):
            service.open(small_document(5))
        os.kill(worker_of(pair), signal.SIGCONT)
        for thread in threads:
            thread.join(60)
        finish(pair, vocabulary)


def nested(depth: int) -> Any:
    value: Any = {"type": "string"}
    for _ in range(depth):
        value = {"type": "object", "properties": {"a": value}}
    return value


HOSTILE: dict[str, Any] = {
    "nested": nested(200),
    "nested beyond JSON": nested(40_000),
    "many values": {"type": "object", "properties": {"a": {"enum": [*range(30_000)]}}, "required": ["a"]},
    "large text": {"type": "object", "description": "x" * (2 << 20)},
    "no schema": {"x-factorspec": 3},
    "huge number": {"type": "integer", "minimum": 10**5000},
    "no JSON": {"type": object()},
    "not a number": {"type": "object", "properties": {"a": {"const": float("nan")}}, "required": ["a"]},
    "contradiction": {
        **small_document(1),
        "x-factorspec": {
            "version": 1,
            "relations": [
                {"name": "low", "kind": "intension", "expr": {"op": "lt", "args": [{"ref": "$.a"}, 5]}},
                {"name": "high", "kind": "intension", "expr": {"op": "gt", "args": [{"ref": "$.a"}, 5]}},
            ],
        },
    },
    "surrogate": {"type": "object", "properties": {"\ud800": {"type": "string"}}, "required": ["\ud800"]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_documents_are_refused_as_in_this_process(
    service: ConstraintService, vocabulary: Vocabulary, name: str
) -> None:
    compiler = Pairs(service, vocabulary).compiler

    def here() -> None:
        compiler.compile(HOSTILE[name])[0].decoder.session()

    assert outcome(lambda: service.open(HOSTILE[name])) == outcome(here)
    service.open(NOTES).close()


def test_limits_and_options_are_refused_as_in_this_process(
    service: ConstraintService, vocabulary: Vocabulary
) -> None:
    decoder = Pairs(service, vocabulary).compiler.compile(NOTES)[0].decoder
    for options in ({"token_limit": 3}, {"on_budget": "guess"}):
        with pytest.raises(FactorspecError) as raised:
            service.open(NOTES, **options)
        with pytest.raises(FactorspecError) as expected:
            decoder.session(**options)
        assert type(raised.value) is type(expected.value)
        assert vars(raised.value) == vars(expected.value)
        assert str(raised.value) == str(expected.value)
    with pytest.raises(TokenLimitTooSmall):
        service.open(NOTES, token_limit=3)


def test_a_document_beyond_the_budget_is_refused(vocabulary: Vocabulary) -> None:
    budgets = Budgets(body_bytes=200)
    with (
        serving(vocabulary, workers=1, budgets=budgets) as service,
        pytest.raises(RequestTooLarge, match="at most 200 bytes"),
    ):
        service.open(NOTES)


def test_workers_share_the_room_for_compiled_specs() -> None:
    options = ServiceOptions(workers=4, budgets=Budgets(cached_bytes=1000, cached_specs=7))
    assert options.worker_budgets == Budgets(cached_bytes=250, cached_specs=7)
    memory, fd = Memory.create(Layout(workers=4, records=1, rows=1, row_words=1, most_tokens=1))
    setup = _setup_file(VocabularySource(definition="{}", logit_width=32), options, memory)
    try:
        told = json.loads(os.pread(setup, 1 << 16, 0))
    finally:
        memory.close()
        for file in (fd, setup):
            os.close(file)
    assert told["budgets"]["cached_bytes"] == 250


def test_threads_open_and_finish_records(service: ConstraintService, vocabulary: Vocabulary) -> None:
    failed: list[BaseException] = []

    def some(number: int) -> None:
        try:
            for at in range(10):
                record = service.open(small_document(number + at))
                assert record.finish(origins=True)["tokens"] == 0
                record.close()
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=some, args=(number,)) for number in range(6)]
    pair = begin(Pairs(service, vocabulary))
    for thread in threads:
        thread.start()
    finish(pair, vocabulary)
    for thread in threads:
        thread.join(60)
    assert not failed


def test_a_tokenizer_that_is_not_supported_is_told_to_whoever_opens() -> None:
    definition = json.dumps(
        {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}
    )
    source = VocabularySource(definition=definition, logit_width=32)
    service = ConstraintService(source, ServiceOptions(workers=1))
    try:
        with pytest.raises(EngineError, match="is not supported"):
            service.open(NOTES)
    finally:
        service.close()


def test_a_tokenizer_with_parts_in_python_is_refused(vocabulary: Vocabulary) -> None:
    class Written:
        def to_str(self) -> str:
            raise ValueError("custom parts cannot be written")

    with pytest.raises(EngineError, match="cannot be handed to constraint workers"):
        VocabularySource.of_tokenizer(Written(), vocabulary.logit_width)


def test_options_say_what_is_wrong() -> None:
    for wrong in ({"workers": 0}, {"workers": 1, "records": 0}, {"workers": 1, "deadline_s": 0}):
        with pytest.raises(ValueError, match="must be"):
            ServiceOptions(**wrong)  # type: ignore[arg-type]

"""A record's first plan is worked out when it is opened, and is what would have been planned when asked."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from factorspec_sdk.decoding import Plan, Session
from factorspec_sdk.tokens import Allowed, Canonical, Vocabulary
from factorspec_server.constraint_service import ConstraintService, DraftingSpec
from factorspec_server.constraint_service.memory import Layout, Memory
from factorspec_server.constraint_service.plan_words import HEAD, decode, encode
from factorspec_server.constraint_service.step_words import Asking
from factorspec_server.constraint_service.worker import Worker, WorkerSetup
from factorspec_server.settings import Budgets
from tests.constraint_service.pairs import NOTES, Pairs, RandomTokens, compiler_of, wire_documents, write

DOCUMENTS = {"notes": NOTES, **wire_documents()}
CERTAIN = DraftingSpec(name="certain", patience_s=None)
#: a choice between many values in front
MANY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": [a + b + c for a in "bdfglmprst" for b in "aeiou" for c in "nrstlmdk"]}},
    "required": ["city"],
    "additionalProperties": False,
}
MOST = 64


@pytest.fixture
def worker(vocabulary: Vocabulary) -> Iterator[Worker]:
    """One of this process, whose threads do not run."""
    sockets = [*socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET), *socket.socketpair()]
    layout = Layout(workers=1, records=2, rows=2, row_words=vocabulary.row_words, most_tokens=MOST)
    memory, fd = Memory.create(layout)
    setup = WorkerSetup(0, Canonical(vocabulary), memory, sockets[1], sockets[3], Budgets())
    made = Worker(setup)
    yield made
    for each in (*sockets, made._wake, made._woken):
        each.close()
    os.close(fd)


def _open(worker: Worker, document: Any, *, tokens: tuple[int, ...] = (), slot: int = 1) -> None:
    header = {"slot": slot, "serial": 7, "token_limit": None, "on_budget": "narrow", "salt": None}
    worker._opened({**header, "tokens": tokens, "prompt": ()}, json.dumps(document).encode())


def _ask(worker: Worker, kept: int, tokens: tuple[int, ...] = (), question: int = 1) -> Plan:
    """What a step is answered; choices among many are told by their rows."""
    asking = Asking(question)
    asking.add(1, 7, question, MOST, kept, tokens)
    worker._step_over(asking.packets[0])
    memory = worker._memory
    at = memory.plan_at(1)
    words = memory.words[at : at + memory.layout.plan_words]
    assert words[:2].tolist() == [question, 7]
    plan = decode(
        words[2 : HEAD + words[HEAD - 1]], lambda _n, _c, row: Allowed.from_row(memory.rows[1, row])
    )
    assert isinstance(plan, Plan)
    return plan


def _session(vocabulary: Vocabulary, document: Any) -> Session:
    compiled, _ = compiler_of(vocabulary).compile(document)
    compiled.decoder.prepare()
    return compiled.decoder.session()


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_first_question_finds_what_it_would_have_worked_out(
    worker: Worker, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _open(worker, DOCUMENTS[name])
    expected = _session(vocabulary, DOCUMENTS[name]).plan()
    encoded: list[Plan] = []

    def counted(plan: Plan, **sizes: Any) -> Any:
        encoded.append(plan)
        return encode(plan, **sizes)

    monkeypatch.setattr("factorspec_server.constraint_service.encoded_plans.encode", counted)
    plan = _ask(worker, 0)
    assert plan.tokens == expected.tokens[:MOST]
    if len(expected.tokens) <= MOST:
        assert plan == expected
        assert not encoded


def test_rows_of_the_first_plan_are_ready(
    worker: Worker, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes to write them is worked out, and written by the step alone."""
    monkeypatch.setattr("factorspec_server.constraint_service.plan_words.MOST_LISTED", 8)
    before = worker._memory.rows.copy(), bytes(worker._memory.words)
    _open(worker, MANY)
    assert np.array_equal(worker._memory.rows, before[0])
    assert bytes(worker._memory.words) == before[1]
    (choice,) = worker._records[1].session.plan().choices
    assert choice.allowed.count > 8
    assert choice.allowed._many is not None or choice.allowed._words is not None
    assert _ask(worker, 0) == _session(vocabulary, MANY).plan()
    assert worker._memory.rows[1, 0].any()


def test_a_record_opened_with_tokens(worker: Worker, vocabulary: Vocabulary) -> None:
    session = _session(vocabulary, NOTES)
    model = RandomTokens(vocabulary, 3)
    for _ in range(3):
        session.commit(session.plan().tokens)
        session.commit((model.choose(session.allowed()),))
    _open(worker, NOTES, tokens=session.tokens)
    assert _ask(worker, session.num_tokens) == session.plan()


def test_a_record_that_is_taken_back_behind_its_first_plan(worker: Worker, vocabulary: Vocabulary) -> None:
    session = _session(vocabulary, NOTES)
    _open(worker, NOTES)
    first = _ask(worker, 0)
    session.commit(first.tokens)
    session.commit((RandomTokens(vocabulary, 3).choose(session.allowed()),))
    assert _ask(worker, 0, session.tokens, question=2) == session.plan()
    assert _ask(worker, 0, question=3) == first


@pytest.mark.parametrize("name", ["off", "chain", "tree"])
def test_a_change_of_drafting_between_opening_and_question(
    service: ConstraintService, vocabulary: Vocabulary, name: Any
) -> None:
    """What counts is what is drafted when the step asks."""
    Pairs(service, vocabulary, CERTAIN)
    opened = [service.open(DOCUMENTS["notes"]) for _ in range(2)]
    drafting = DraftingSpec(name=name, patience_s=None)
    pairs = Pairs(service, vocabulary, drafting)
    for record in opened:
        assert record.plan() == pairs.policy().plan(_session(vocabulary, DOCUMENTS["notes"]))
        record.close()
    pair = pairs.open(DOCUMENTS["notes"])
    service.draft(CERTAIN)
    pair.policy = CERTAIN.policy(vocabulary, ())
    write(pair, vocabulary, 5, each_token=False)
    pair.record.close()

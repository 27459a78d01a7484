"""Where records are kept: plain ones at the service, answers that may be several by the scheduler."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_server.constraint_service import ServiceOptions, WrittenDocument
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.http.answer_wish import AnswerWish, WishedTool
from factorspec_server.settings import Budgets
from factorspec_server.sglang import service_relations
from factorspec_server.sglang.envelope import Envelope, RequestOptions, open_envelope
from factorspec_server.sglang.envelopes import Envelopes
from factorspec_server.sglang.service_relations import ServiceRelations
from tests.server.http.calling import LATER
from tests.server.http.test_native_tools import PLAIN
from tests.server.sglang.tool_upstream import wrapped_tokenizer


class Service:
    """Notes what it is asked to keep."""

    def __init__(self, source: object, options: ServiceOptions) -> None:
        self.opened: list[Any] = []
        self.salts: list[str | None] = []
        self.num_written = 0

    def written(self, document: Any) -> Any:
        self.num_written += 1
        return WrittenDocument.of(document, 1 << 20)

    def open(self, document: Any, **options: Any) -> Any:
        self.opened.append(json.loads(document.text))
        self.salts.append(options["salt"])
        return SimpleNamespace(compile_s=0.0, was_cached=True, certificates=())

    def draft(self, spec: object) -> None:
        pass


def test_answers_are_kept_here_and_records_at_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_relations, "ConstraintService", Service)
    tokenizer = wrapped_tokenizer("smollm2", PLAIN)
    options = ServiceOptions(workers=1, budgets=Budgets())
    relations = ServiceRelations(tokenizer, len(tokenizer), (), options)
    service: Any = relations.service
    relations.open(Envelope(LATER, salt="one"))
    assert (service.opened, service.salts) == ([LATER], ["one"])
    wish = AnswerWish(tools=[WishedTool(name="later", document=LATER)], must_call=True)
    envelope = Envelope({}, RequestOptions(id="r", token_limit=90, answer=wish))
    again = open_envelope(json.dumps(envelope.as_document()))
    assert again == envelope
    opened = relations.open(envelope)
    assert isinstance(opened.record, AnswerSession)
    assert service.opened == [LATER]


def test_a_document_that_comes_again_is_written_for_workers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_relations, "ConstraintService", Service)
    tokenizer, opens = wrapped_tokenizer("smollm2", PLAIN), Envelopes()
    relations = ServiceRelations(tokenizer, len(tokenizer), (), ServiceOptions(workers=1, budgets=Budgets()))
    service: Any = relations.service
    for number in range(3):
        envelope = opens.open(json.dumps(Envelope(LATER, RequestOptions(id=str(number))).as_document()))
        assert envelope is not None
        relations.open(envelope)
    assert service.opened == [LATER] * 3
    assert service.num_written == 1

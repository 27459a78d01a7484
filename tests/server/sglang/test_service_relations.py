"""Where records are kept: plain ones at the service, answers that may be several by the scheduler."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_server.constraint_service import ServiceOptions
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.http.answer_wish import AnswerWish, WishedTool
from factorspec_server.settings import Budgets
from factorspec_server.sglang import service_relations
from factorspec_server.sglang.envelope import Envelope, RequestOptions, open_envelope
from factorspec_server.sglang.service_relations import ServiceRelations
from tests.server.http.calling import LATER
from tests.server.http.test_native_tools import PLAIN
from tests.server.sglang.tool_upstream import wrapped_tokenizer


class Service:
    """Notes what it is asked to keep."""

    def __init__(self, source: object, options: ServiceOptions) -> None:
        self.opened: list[Any] = []

    def open(self, document: Any, **options: Any) -> Any:
        self.opened.append(document)
        return SimpleNamespace(compile_s=0.0, was_cached=True, certificates=())

    def draft(self, spec: object) -> None:
        pass


def test_answers_are_kept_here_and_records_at_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_relations, "ConstraintService", Service)
    tokenizer = wrapped_tokenizer("smollm2", PLAIN)
    options = ServiceOptions(workers=1, budgets=Budgets())
    relations = ServiceRelations(tokenizer, len(tokenizer), (), options)
    service: Any = relations.service
    relations.open(Envelope(LATER))
    assert service.opened == [LATER]
    wish = AnswerWish(tools=[WishedTool(name="later", document=LATER)], must_call=True)
    envelope = Envelope({}, RequestOptions(id="r", token_limit=90, answer=wish))
    again = open_envelope(json.dumps(envelope.as_document()))
    assert again == envelope
    opened = relations.open(envelope)
    assert isinstance(opened.record, AnswerSession)
    assert service.opened == [LATER]

"""The middleware around an app that answers as SGLang does: the echo, the report, errors in our form."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse

from factorspec_sdk.errors import BudgetSpent, Unsatisfiable
from factorspec_sdk.wire import parse_document
from factorspec_server.http.error_body import error_body, status_of
from factorspec_server.sglang.answers import attach
from factorspec_server.sglang.launch_flags import HOSTS_VARIABLE, KEY_VARIABLE
from factorspec_server.sglang.refusals import refusal_text
from tests.server.http.serving import TRIP
from tests.server.sglang.answer_upstream import AT, RECORD, TEXT, Post, Upstream, asked, event, events_of


def test_the_answer_echoes_the_spec_and_reports(post: Post, upstream: Upstream) -> None:
    answer = post(asked(max_tokens=40, seed=3))
    body, spec_hash = answer.json(), parse_document(TRIP).hash
    assert answer.headers["x-factorspec-spec"] == body["factorspec"]["spec_hash"] == spec_hash
    report = body["factorspec"]["report"]
    assert (report["exact"], report["tokens"], report["prompt_tokens"], report["seed"]) == (True, 9, 5, 3)
    assert [(one["name"], one["outcome"]) for one in report["relations"]] == [("two cities", "holds")]
    assert not {"certificates", "digest", "error"} & report.keys()
    # the end token behind the record is no part of it
    assert body["usage"] == {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14}
    options = upstream.seen["response_format"]["json_schema"]["schema"].pop("x-factorspec-request")
    assert options["token_limit"] == 40
    assert upstream.seen["response_format"]["json_schema"]["schema"] == TRIP
    assert upstream.seen["max_completion_tokens"] == 42
    assert "max_tokens" not in upstream.seen


@pytest.mark.parametrize("wants_usage", [True, False])
def test_streams_end_with_the_vendor_part(post: Post, upstream: Upstream, wants_usage: bool) -> None:
    answer = post(asked(stream=True, stream_options={"include_usage": wants_usage}))
    events = events_of(answer)
    assert answer.headers["x-factorspec-spec"] == parse_document(TRIP).hash
    assert upstream.seen["stream_options"]["include_usage"]
    if wants_usage:
        assert events.pop()["usage"]["completion_tokens"] == 9
    assert events[-1]["choices"][0]["finish_reason"] == "stop"
    assert events[-1]["factorspec"]["report"]["prompt_tokens"] == 5
    assert not any("factorspec" in event for event in events[:-1])
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == TEXT


def test_several_choices_have_a_report_each(post: Post, upstream: Upstream) -> None:
    other = json.dumps(RECORD | {"days": 4})
    upstream.texts = [TEXT, other]
    vendor = post(asked(n=2)).json()["factorspec"]
    assert vendor["report"] == vendor["reports"][0]
    assert len(vendor["reports"]) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [], "model": "m"},
        asked(
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"type": "object"}},
            }
        ),
        asked(response_format={"type": "json_schema", "json_schema": "x-factorspec"}),
        asked(pad="x" * 100_000),
    ],
)
def test_other_requests_pass_as_they_are(post: Post, upstream: Upstream, body: Any) -> None:
    assert "factorspec" not in post(body).json()
    assert upstream.seen == body


def test_what_is_no_json_is_told(post: Post) -> None:
    assert post(b'{"response_format": {"x-factorspec": ').json()["error"]["code"] == "document_error"


def test_a_document_that_cannot_be_enforced_never_reaches_the_engine(post: Post, upstream: Upstream) -> None:
    wrong = json.loads(json.dumps(TRIP))
    wrong["x-factorspec"]["relations"][0]["over"] = ["$.nowhere"]
    wanted = {"type": "json_schema", "json_schema": {"name": "trip", "schema": wrong}}
    answer = post(asked(response_format=wanted))
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["param"].startswith(f"{AT}/x-factorspec/relations/0")
    assert upstream.seen == {}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"stop": ["x"]}, "/stop"),
        ({"stop_token_ids": [1]}, "/stop_token_ids"),
        ({"min_tokens": 3}, "/min_tokens"),
        ({"cache_salt": ["one", "two"]}, "/cache_salt"),
        ({"extra_key": 3}, "/extra_key"),
        ({"extra_key": ""}, "/extra_key"),
        ({"regex": "a"}, "/regex"),
        ({"max_tokens": 0}, "/max_tokens"),
        ({"max_completion_tokens": True}, "/max_completion_tokens"),
        ({"factorspec": {"canonical_text": True}}, "/factorspec/canonical_text"),
        ({"factorspec": {"orgins": True}}, "/factorspec/orgins"),
        ({"factorspec": 3}, "/factorspec"),
    ],
)
def test_what_sessions_do_not_do_here_is_refused_by_name(
    post: Post, upstream: Upstream, fields: Any, param: str
) -> None:
    answer = post(asked(**fields))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert upstream.seen == {}


def test_options_of_the_server_are_not_for_clients(post: Post) -> None:
    wanted = {"name": "trip", "schema": TRIP | {"x-factorspec-request": {"token_limit": 3}}}
    answer = post(asked(response_format={"type": "json_schema", "json_schema": wanted}))
    assert answer.json()["error"]["param"] == "/x-factorspec-request"


@pytest.mark.parametrize("stream", [False, True])
def test_refusals_of_the_scheduler_are_told_as_by_the_embedded_engine(
    post: Post, upstream: Upstream, stream: bool
) -> None:
    refused = Unsatisfiable("none", conflict=("s",), minimal=True)
    message = f"Failed to compile json grammar: {refusal_text(refused)}"
    upstream.report = None
    upstream.error = JSONResponse({"object": "error", "message": message, "code": 400}, 400)
    upstream.events = [event(error={"message": message, "code": 400}), "data: [DONE]\n\n"]
    if stream:
        upstream.error = None
    answer = post(asked(stream=stream))
    assert answer.status_code == 400
    told = error_body(refused, schema_pointer=AT)["error"]
    assert isinstance(told, dict)
    assert answer.json()["error"] == told | {"param": AT}


def test_errors_of_sglang_itself_stay_as_they_are(post: Post, upstream: Upstream) -> None:
    upstream.error = JSONResponse({"object": "error", "message": "too long", "code": 400}, 400)
    answer = post(asked())
    assert (answer.status_code, answer.json()["message"]) == (400, "too long")
    assert "x-factorspec-spec" not in answer.headers


@pytest.mark.parametrize("stream", [False, True])
def test_a_record_that_was_given_up_is_an_error(post: Post, upstream: Upstream, stream: bool) -> None:
    spent = BudgetSpent("the budget ended", partial='{"first')
    assert upstream.report is not None
    upstream.report["error"] = {"status": status_of(spent), **error_body(spent)}
    upstream.reason = "abort"
    answer = post(asked(stream=stream, factorspec={"on_budget": "abort"}))
    if not stream:
        assert answer.status_code == status_of(spent)
        assert answer.json()["error"]["code"] == spent.code
        return
    assert events_of(answer)[-1]["error"]["code"] == spent.code


@pytest.mark.parametrize("stream", [False, True])
def test_a_record_that_breaks_a_relation_is_not_handed_out(
    post: Post, upstream: Upstream, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = json.dumps(RECORD | {"second": "Oslo"})
    upstream.texts = [broken]
    upstream.events = [
        event(choices=[{"index": 0, "delta": {"content": broken}, "finish_reason": "stop"}]),
        "data: [DONE]\n\n",
    ]
    answer = post(asked(stream=stream))
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "server_error")


def test_without_a_report_there_is_no_answer(
    post: Post, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.report = None
    take = upstream.board.take
    monkeypatch.setattr(upstream.board, "take", lambda name, count: take(name, count, deadline_s=0.05))
    assert post(asked()).status_code == 500


def test_an_incomplete_record_says_so(post: Post, upstream: Upstream) -> None:
    upstream.texts, upstream.reason = [TEXT[:9]], "length"
    body = post(asked()).json()
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["factorspec"]["report"]["relations"] == []
    assert body["usage"]["completion_tokens"] == 10


def test_the_middleware_is_attached_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORSPEC_REPORTS", "")
    monkeypatch.setenv(HOSTS_VARIABLE, "localhost")
    monkeypatch.setenv(KEY_VARIABLE, "s3cret")
    app = Starlette()
    attach(app)
    attach(app)
    gate, _, answers = app.user_middleware
    board: Any = answers.kwargs["board"]
    board.close()
    settings: Any = gate.kwargs["settings"]
    assert (settings.api_key, settings.allowed_hosts) == ("s3cret", ("localhost",))
    assert KEY_VARIABLE not in os.environ  # schedulers need not know it

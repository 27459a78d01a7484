"""Clients that go away, crowds, failures inside, keys and host names."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from factorspec_server.settings import ServerSettings
from tests.server.http.serving import Server, body, serving, wait_until

KEY = "käse-key"


@pytest.fixture
def own_server() -> Iterator[Server]:
    with serving(max_batch=1, max_waiting=1) as running:
        yield running


def post(server: Server, **fields: Any) -> httpx.Response:
    return httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)


def dropped(server: Server, **fields: Any) -> socket.socket:
    """A connection that has sent a request; the caller drops it."""
    content = json.dumps(body(**fields)).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall(head.encode() + content)
    return connection


@pytest.mark.parametrize("stream", [False, True])
def test_a_dropped_connection_frees_its_place(own_server: Server, stream: bool) -> None:
    own_server.model.gate.clear()
    connection = dropped(own_server, schema=None, max_tokens=60_000, temperature=1, seed=1, stream=stream)
    wait_until(lambda: own_server.engine.num_running == 1)
    running = own_server.engine._running[0].request
    connection.close()
    wait_until(running.cancelled.is_set)
    own_server.model.go_on()
    wait_until(own_server.is_idle)
    assert own_server.model.forward_passes < 10
    assert post(own_server).status_code == 200


def test_a_stream_dropped_midway_frees_its_place(own_server: Server) -> None:
    own_server.model.pause_after = 5  # unpaused, it might end before anyone sees that the client has left
    with httpx.stream(
        "POST",
        f"{own_server.url}/chat/completions",
        json=body(schema=None, max_tokens=60_000, temperature=1, seed=1, stream=True),
        timeout=20,
    ) as answer:
        lines = answer.iter_lines()  # while it is there, the connection is
        assert next(lines).startswith("data: ")
        wait_until(lambda: not own_server.model.gate.is_set())
        running = own_server.engine._running[0].request
    wait_until(running.cancelled.is_set)
    own_server.model.go_on()
    wait_until(own_server.is_idle)
    assert own_server.model.forward_passes < 10
    counted = 'outcome="client_disconnected"} 1.0'  # a moment after the place is free
    wait_until(lambda: counted in httpx.get(f"{own_server.root}/metrics").text)
    assert post(own_server).status_code == 200


def test_a_client_that_leaves_while_waiting_is_never_run(own_server: Server) -> None:
    own_server.model.gate.clear()
    first = threading.Thread(target=post, args=(own_server,))
    first.start()
    wait_until(lambda: own_server.engine.num_running == 1)
    connection = dropped(own_server, schema=None)
    wait_until(lambda: own_server.engine.num_waiting == 1)
    waiting = own_server.engine._waiting[0].request
    connection.close()
    wait_until(waiting.cancelled.is_set)
    own_server.model.go_on()
    first.join()
    wait_until(own_server.is_idle)


def test_a_crowd_is_told_to_come_back(own_server: Server) -> None:
    own_server.model.gate.clear()
    crowd = [threading.Thread(target=post, args=(own_server,)) for _ in range(2)]
    crowd[0].start()
    wait_until(lambda: own_server.engine.num_running == 1)
    crowd[1].start()
    wait_until(lambda: own_server.engine.num_waiting == 1)
    for stream in (False, True):
        refused = post(own_server, stream=stream)
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "overloaded"
        assert refused.headers["retry-after"] == "1"
    own_server.model.go_on()
    for thread in crowd:
        thread.join()
    assert post(own_server).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_model_is_told_without_internals(
    own_server: Server, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("secret path")

    with monkeypatch.context() as patched:
        patched.setattr(own_server.model, "logits", fail)
        answer = post(own_server, stream=stream)
    text = answer.text
    assert "secret" not in text
    assert "model_failed" in text
    assert answer.status_code == (200 if stream and text.startswith("data") else 500)
    assert post(own_server).status_code == 200


def test_a_defect_is_told_without_internals(own_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise KeyError("secret")

    with monkeypatch.context() as patched:
        patched.setattr("factorspec_server.http.chat_service.ChatService._room", fail)
        answer = post(own_server)
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "server_error"
    assert "secret" not in answer.text
    assert post(own_server).status_code == 200


def test_the_key_opens_and_others_do_not() -> None:
    with serving(ServerSettings(api_key=KEY)) as server:
        for key in ("wrong", "k", KEY[:-1]):
            headers = {b"authorization": f"Bearer {key}".encode()}
            refused = httpx.post(f"{server.url}/chat/completions", json=body(), headers=headers)
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
        assert httpx.get(f"{server.url}/models").status_code == 401
        assert httpx.get(f"{server.root}/metrics").status_code == 401
        assert httpx.get(f"{server.root}/health").status_code == 200
        headers = {b"authorization": f"Bearer {KEY}".encode()}
        assert httpx.post(f"{server.url}/chat/completions", json=body(), headers=headers).status_code == 200


def test_a_wrong_key_as_the_openai_package_sees_it() -> None:
    with serving(ServerSettings(api_key="right")) as server:
        wrong = openai.OpenAI(base_url=server.url, api_key="wrong", max_retries=0)
        with wrong as client, pytest.raises(openai.AuthenticationError):
            client.models.list()
        with openai.OpenAI(base_url=server.url, api_key="right", max_retries=0) as client:
            assert client.models.list().data


def test_foreign_host_names_are_refused() -> None:
    with serving(ServerSettings(allowed_hosts=("127.0.0.1", "localhost"))) as server:
        answer = httpx.get(f"{server.root}/health", headers={"host": "evil.example:80"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host")
        assert httpx.get(f"{server.root}/health").status_code == 200


def test_metrics_count_what_happened(own_server: Server) -> None:
    answer = post(own_server).json()
    post(own_server, best_of=3)
    text = httpx.get(f"{own_server.root}/metrics").text
    assert 'factorspec_requests_total{outcome="ok"} 1.0' in text
    assert 'factorspec_requests_total{outcome="unsupported_keyword"} 1.0' in text
    assert 'factorspec_tokens_total{origin="certain"}' in text
    assert "factorspec_cached_specs 1.0" in text
    report = answer["factorspec"]["report"]
    rejected = {kind: count["drafted"] - count["accepted"] for kind, count in report["drafts"].items()}
    counted = {
        'model_steps_total{kind="decision"}': report["model_steps"],
        'model_steps_total{kind="fill"}': 0,
        'draft_tokens_total{fate="accepted",kind="certain"}': report["drafts"]["certain"]["accepted"],
        'draft_tokens_total{fate="rejected",kind="certain"}': rejected["certain"],
        'draft_tokens_total{fate="rejected",kind="branch"}': rejected["branch"],
        'run_tokens_total{use="prompt"}': report["prompt_tokens"],
        'run_tokens_total{use="kept"}': report["tokens_run"] - report["in_vain"],
        'run_tokens_total{use="in_vain"}': report["in_vain"],
        'tokens_total{origin="reused"}': 0,
        'tokens_total{origin="free"}': report["free"],
    }
    for name, count in counted.items():
        assert f"factorspec_{name} {float(count)}" in text
    assert "factorspec_prefix_bytes" in text


def test_a_prompt_that_was_read_before_counts_as_cached(own_server: Server) -> None:
    usages = [post(own_server).json()["usage"] for _ in range(2)]
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages] == [
        0,
        usages[0]["prompt_tokens"] - 1,
    ]
    assert 'origin="reused"} ' + str(float(usages[0]["prompt_tokens"] - 1)) in (
        httpx.get(f"{own_server.root}/metrics").text
    )


def test_closing_finishes_what_was_taken() -> None:
    answers: list[httpx.Response] = []
    with serving() as server:
        server.model.gate.clear()
        thread = threading.Thread(target=lambda: answers.append(post(server)))
        thread.start()
        wait_until(lambda: server.engine.num_running == 1)
        server.model.go_on()
    thread.join()
    assert [answer.status_code for answer in answers] == [200]

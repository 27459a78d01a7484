"""Several answers to one request: streams of their own, one reading of the prompt, one end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from factorspec_server.engines import seed_of_choice
from factorspec_server.settings import Budgets, DraftingName, ServerSettings
from tests.server.http.serving import Server, body, serving, wait_until


def answer(server: Server, **fields: Any) -> dict[str, Any]:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)
    assert found.status_code == 200, found.text
    parsed: dict[str, Any] = found.json()
    return parsed


def chunks(server: Server, **fields: Any) -> list[dict[str, Any]]:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields, stream=True), timeout=20)
    lines = [line.removeprefix("data: ") for line in found.text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def texts(found: dict[str, Any]) -> list[str]:
    return [choice["message"]["content"] for choice in found["choices"]]


@pytest.fixture
def own_server() -> Iterator[Server]:
    with serving(max_batch=4, max_waiting=8) as running:
        yield running


@pytest.mark.parametrize("schema", [{}, {"schema": None, "max_tokens": 30}], ids=["record", "chat"])
def test_each_choice_is_the_answer_to_its_own_seed(server: Server, schema: dict[str, Any]) -> None:
    found = answer(server, n=5, seed=7, temperature=1, **schema)
    assert [choice["index"] for choice in found["choices"]] == [0, 1, 2, 3, 4]
    alone = [answer(server, seed=seed_of_choice(7, at), temperature=1, **schema) for at in range(5)]
    assert texts(found) == [text for one in alone for text in texts(one)]
    assert len(set(texts(found))) == 5
    assert seed_of_choice(7, 0) == 7
    usage = found["usage"]
    assert usage["completion_tokens"] == sum(one["usage"]["completion_tokens"] for one in alone)
    assert usage["total_tokens"] == alone[0]["usage"]["prompt_tokens"] + usage["completion_tokens"]


def test_each_record_has_its_own_report(server: Server) -> None:
    found = answer(server, n=3, seed=1, temperature=1, factorspec={"origins": True})
    reports = found["factorspec"]["reports"]
    assert found["factorspec"]["report"] == reports[0]
    assert [report["seed"] for report in reports] == [seed_of_choice(1, at) for at in range(3)]
    for report, text in zip(reports, texts(found), strict=True):
        assert "".join(token for token, _ in report["origins"]) == text
        assert [one["outcome"] for one in report["relations"]] == ["holds"]
    assert "reports" not in answer(server, seed=1)["factorspec"]


def test_the_prompt_is_read_once(own_server: Server) -> None:
    found = answer(own_server, n=8, schema=None, max_tokens=1, seed=1)
    prompt = found["usage"]["prompt_tokens"]
    assert prompt > 16
    # each answer runs the prompt's last token itself, for its own logits
    assert own_server.model.tokens_run == prompt + 7
    assert found["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


@pytest.mark.parametrize("drafting", ["off", "certain", "chain", "tree"])
def test_choices_are_the_same_under_each_drafting(server: Server, drafting: DraftingName) -> None:
    with serving(ServerSettings(drafting=drafting)) as drafted:
        asked = {"n": 6, "seed": 3, "temperature": 1.2}
        assert texts(answer(drafted, **asked)) == texts(answer(server, **asked))


def test_streamed_choices_equal_whole_ones(server: Server) -> None:
    asked = {"n": 3, "seed": 5, "temperature": 1}
    whole = answer(server, **asked)
    parts = chunks(server, **asked, stream_options={"include_usage": True})
    ends = [part for part in parts if part["choices"] and part["choices"][0]["finish_reason"]]
    assert sorted(end["choices"][0]["index"] for end in ends) == [0, 1, 2]
    for end in ends:
        index = end["choices"][0]["index"]
        report = end["factorspec"]["report"]
        assert report["seed"] == whole["factorspec"]["reports"][index]["seed"]
        own = [one["choices"][0] for one in parts if one["choices"] and one["choices"][0]["index"] == index]
        assert "".join(choice["delta"].get("content", "") for choice in own) == texts(whole)[index]
        assert [choice["delta"].get("role") for choice in own] == ["assistant", *[None] * (len(own) - 1)]
    assert [part["usage"] for part in parts if part["usage"]] == [whole["usage"]]


def test_greedy_choices_are_equal(server: Server) -> None:
    assert len(set(texts(answer(server, n=3, temperature=0)))) == 1


def test_a_client_that_leaves_frees_the_places_of_all(own_server: Server) -> None:
    own_server.model.pause_after = 5
    asked = body(schema=None, max_tokens=60_000, n=6, seed=1, stream=True)
    with httpx.stream("POST", f"{own_server.url}/chat/completions", json=asked, timeout=20) as found:
        lines = found.iter_lines()  # while it is there, the connection is
        assert next(lines).startswith("data: ")
        wait_until(lambda: not own_server.model.gate.is_set())
        running = [job.request for job in own_server.engine._running]
    wait_until(lambda: all(request.cancelled.is_set() for request in running))
    own_server.model.go_on()
    wait_until(own_server.is_idle)
    assert len(running) == 4
    assert own_server.model.forward_passes < 10
    assert len(answer(own_server, n=8)["choices"]) == 8


@pytest.mark.parametrize("stream", [False, True])
def test_a_choice_that_fails_ends_the_others(
    own_server: Server, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("secret")

    with monkeypatch.context() as patched:
        patched.setattr(own_server.model, "logits", fail)
        asked = body(schema=None, n=4, stream=stream, max_tokens=60_000)
        found = httpx.post(f"{own_server.url}/chat/completions", json=asked, timeout=20)
    assert "model_failed" in found.text
    assert "secret" not in found.text
    wait_until(own_server.is_idle)
    assert len(answer(own_server, n=4)["choices"]) == 4


@pytest.mark.parametrize("n", [4, 10**9])
def test_more_choices_than_the_budget_are_refused(n: int) -> None:
    with serving(ServerSettings(budgets=Budgets(choices=3))) as server:
        found = httpx.post(f"{server.url}/chat/completions", json=body(n=n), timeout=20)
        error = found.json()["error"]
        assert (found.status_code, error["param"]) == (400, "/n")
        assert "n must be at most 3" in error["message"]
        assert len(answer(server, n=3)["choices"]) == 3
        limits = httpx.get(f"{server.url}/models").json()["data"][0]["factorspec"]["limits"]
        assert limits["choices"] == 3


def test_more_choices_than_can_wait_are_refused() -> None:
    with serving(max_batch=1, max_waiting=2) as server:
        found = httpx.post(f"{server.url}/chat/completions", json=body(n=3), timeout=20)
        assert (found.status_code, found.json()["error"]["param"]) == (400, "/n")
        assert len(answer(server, n=2)["choices"]) == 2

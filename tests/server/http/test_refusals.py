"""Everything that is refused: the right status, code and place, and the server goes on serving."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from factorspec_server.settings import Budgets, ServerSettings
from tests.server.http.serving import TRIP, Server, body, serving

SCHEMA = "/response_format/json_schema/schema"


def changed(**vendor: Any) -> dict[str, Any]:
    schema = copy.deepcopy(TRIP)
    schema["x-factorspec"] |= vendor
    return schema


def with_relations(*relations: dict[str, Any], **vendor: Any) -> dict[str, Any]:
    return changed(relations=[*TRIP["x-factorspec"]["relations"], *relations], **vendor)


def with_property(name: str, value: dict[str, Any]) -> dict[str, Any]:
    schema = copy.deepcopy(TRIP)
    schema["properties"][name] = value
    schema["required"] = list(schema["properties"])
    return schema


SAME = {
    "name": "one city",
    "kind": "intension",
    "expr": {"op": "eq", "args": [{"ref": "$.first"}, {"ref": "$.second"}]},
}
NARROW_ROW = {"name": "pairs", "kind": "table", "over": ["$.first", "$.second"], "table": "pairs"}
ELSEWHERE = {"name": "there", "kind": "all_different", "over": ["$.first", "$.elsewhere"]}


@pytest.fixture(autouse=True)
def _goes_on_serving(client: openai.OpenAI, server: Server) -> Iterator[None]:
    yield
    answer = client.chat.completions.create(**body(temperature=0))
    assert json.loads(answer.choices[0].message.content or "")["days"] >= 1
    assert httpx.get(f"{server.root}/health").json()["status"] == "ok"


def refusal(client: openai.OpenAI, status: int, **fields: Any) -> dict[str, Any]:
    """The error object of a refused request."""
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**body(**fields))
    assert caught.value.status_code == status
    error = caught.value.body
    assert isinstance(error, dict)
    assert {"message", "type", "param", "code", "problems"} <= set(error)
    return error


def test_a_conflict_names_its_relations(client: openai.OpenAI) -> None:
    error = refusal(client, 400, schema=with_relations(SAME))
    assert error["code"] == "unsatisfiable"
    assert sorted(error["conflict"]) == ["one city", "two cities"]
    assert error["minimal"] is True
    assert error["param"].startswith(f"{SCHEMA}/x-factorspec/relations/")


def test_an_unsupported_keyword(client: openai.OpenAI) -> None:
    error = refusal(client, 400, schema=with_property("tags", {"type": "array", "uniqueItems": True}))
    assert error["code"] == "unsupported_keyword"
    assert error["param"].startswith(f"{SCHEMA}/properties/tags")


def test_a_relation_on_a_missing_field(client: openai.OpenAI) -> None:
    error = refusal(client, 400, schema=with_relations(ELSEWHERE))
    assert error["param"].startswith(f"{SCHEMA}/x-factorspec/relations/1")
    assert "elsewhere" in error["message"]


def test_a_row_of_the_wrong_width(client: openai.OpenAI) -> None:
    tables = {"pairs": [["Oslo", "Rome"], ["Rome"]]}
    error = refusal(client, 400, schema=with_relations(NARROW_ROW, tables=tables))
    assert error["code"] == "document_error"
    assert error["param"].startswith(f"{SCHEMA}/x-factorspec/")


def test_an_empty_domain(client: openai.OpenAI) -> None:
    error = refusal(
        client, 400, schema=with_property("days", {"type": "integer", "minimum": 5, "maximum": 4})
    )
    assert error["code"] == "empty_domain"
    assert error["param"] == f"{SCHEMA}/properties/days"


def test_a_token_limit_too_small(client: openai.OpenAI) -> None:
    error = refusal(client, 400, max_tokens=10)
    assert error["code"] == "token_limit_too_small"
    assert error["param"] == "/max_tokens"
    assert error["token_limit"] == 10
    assert error["shortest"] > 10
    answer = client.chat.completions.create(**body(max_tokens=error["shortest"]))
    assert answer.choices[0].finish_reason == "stop"
    refusal(client, 400, max_completion_tokens=error["shortest"] - 1)


def test_all_problems_of_a_document_at_once(client: openai.OpenAI) -> None:
    schema = with_relations(ELSEWHERE, {"name": "odd", "kind": "sudoku"})
    places = [problem["param"] for problem in refusal(client, 400, schema=schema)["problems"]]
    assert len(places) >= 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 17),
        ("top_logprobs", 3),
        ("functions", [{"name": "f", "parameters": {}}]),
        ("stop", ["x"]),
    ],
)
def test_fields_that_would_change_the_answer_are_refused_by_name(
    client: openai.OpenAI, field: str, value: Any
) -> None:
    error = refusal(client, 400, **{field: value})
    assert error["param"] == f"/{field}"
    assert error["type"] == "invalid_request_error"


def test_unknown_fields_are_refused_by_name(client: openai.OpenAI) -> None:
    assert refusal(client, 400, extra_body={"best_of": 3})["param"] == "/best_of"


def test_any_json_is_refused_with_what_to_do(client: openai.OpenAI) -> None:
    error = refusal(client, 400, schema=None, response_format={"type": "json_object"})
    assert error["param"] == "/response_format/type"
    assert "json_schema" in error["message"]


def test_harmless_fields_are_taken(client: openai.OpenAI) -> None:
    fields: dict[str, Any] = {
        "user": "u",
        "metadata": {"a": "b"},
        "store": False,
        "n": 1,
        "presence_penalty": 0,
    }
    assert client.chat.completions.create(**body(**fields, logprobs=False)).choices


def test_images_are_refused(client: openai.OpenAI) -> None:
    part = {"type": "image_url", "image_url": {"url": "data:,"}}
    error = refusal(client, 400, messages=[{"role": "user", "content": [part]}])
    assert error["param"] == "/messages/0/content/0/type"


def test_another_model(client: openai.OpenAI) -> None:
    error = refusal(client, 404, model="gpt-4o")
    assert (error["code"], error["param"]) == ("model_not_found", "/model")


def test_a_prompt_too_long(client: openai.OpenAI) -> None:
    error = refusal(client, 400, messages=[{"role": "user", "content": "x" * 70_000}])
    assert error["code"] == "context_too_long"


def test_ten_megabytes(client: openai.OpenAI) -> None:
    error = refusal(client, 413, messages=[{"role": "user", "content": "x" * 10_000_000}])
    assert error["code"] == "request_too_large"


def test_ten_megabytes_in_chunks(server: Server) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(10):
            yield b" " * 1_000_000

    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{server.url}/chat/completions", content=chunks(), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"model": "\xff"}', "not UTF-8 at byte 11"),
        (b'{"model": ', "not JSON"),
        (b"", "not JSON"),
        (b"[1]", "must be a JSON object"),
        (b'{"model": NaN}', "NaN"),
        (b'{"model": "a", "model": "b"}', "twice"),
        (b'{"model": "\\ud800"}', "surrogate"),
        (b'{"a":' * 100_000, "deep"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "not JSON"),
    ],
)
def test_bodies_that_are_no_json_object(server: Server, content: bytes, words: str) -> None:
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{server.url}/chat/completions", content=content, headers=headers)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


def test_a_body_that_is_not_declared_as_json(server: Server) -> None:
    answer = httpx.post(f"{server.url}/chat/completions", content=json.dumps(body()))
    assert answer.status_code == 400
    assert "application/json" in answer.json()["error"]["message"]


def test_unknown_paths_and_methods(server: Server) -> None:
    assert httpx.get(f"{server.url}/nothing").json()["error"]["code"] == "not_found"
    assert httpx.get(f"{server.url}/chat/completions").status_code == 405
    assert httpx.get(f"{server.root}/docs").status_code == 404


def test_a_body_that_never_ends() -> None:
    settings = ServerSettings(budgets=Budgets(body_timeout_s=0.2))
    with serving(settings) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.putrequest("POST", "/v1/chat/completions")
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", "100")
        connection.endheaders(b'{"model"')
        answer = connection.getresponse()
        assert answer.status == 400
        assert "in time" in json.loads(answer.read())["error"]["message"]
        connection.close()


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity"])
def test_a_compressed_body(server: Server, encoding: str) -> None:
    answer = httpx.post(
        f"{server.url}/chat/completions", json=body(), headers={"content-encoding": encoding}, timeout=20
    )
    assert answer.status_code == (200 if encoding == "identity" else 400)
    assert ("must not be compressed" in answer.text) == (encoding != "identity")

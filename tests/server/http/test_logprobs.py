"""Log-probabilities over HTTP: entries whose bytes are the text, streamed and whole, records and chats."""

from __future__ import annotations

import json
from math import exp
from typing import Any

import httpx
import pytest

from factorspec_server.settings import DraftingName, ServerSettings
from tests.server.http.serving import Server, body, serving

ASKED: dict[str, Any] = {"logprobs": True, "top_logprobs": 3, "seed": 2, "temperature": 1.0}
CHAT: dict[str, Any] = {**ASKED, "schema": None, "max_tokens": 40, "logit_bias": {"256": -100}}


def answer(server: Server, **fields: Any) -> dict[str, Any]:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)
    assert found.status_code == 200, found.text
    parsed: dict[str, Any] = found.json()
    return parsed


def streamed(server: Server, **fields: Any) -> list[dict[str, Any]]:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields, stream=True), timeout=20)
    lines = [line.removeprefix("data: ") for line in found.text.split("\n") if line]
    return [json.loads(line)["choices"][0] for line in lines[:-1]]


def content(choice: dict[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = choice["logprobs"]["content"]
    return entries


def text_of(entries: list[dict[str, Any]]) -> str:
    return bytes(byte for entry in entries for byte in entry["bytes"]).decode("utf-8", errors="replace")


def test_a_records_entries(server: Server) -> None:
    found = answer(server, **ASKED, factorspec={"origins": True})
    (choice,) = found["choices"]
    entries = content(choice)
    assert text_of(entries) == choice["message"]["content"]
    assert "".join(entry["token"] for entry in entries).startswith('{"first": "')
    assert all(entry["token"] == text_of([entry]) or "\\x" in entry["token"] for entry in entries)
    origins = [origin for _, origin in found["factorspec"]["report"]["origins"]]
    assert [entry["factorspec"]["origin"] for entry in entries] == origins
    assert set(origins) == {"certain", "chosen", "free"}
    for entry, origin in zip(entries, origins, strict=True):
        assert (entry["logprob"] == 0.0) == (origin == "certain")
        names = [top["token"] for top in entry["top_logprobs"]]
        assert len(names) == (1 if origin == "certain" else len(set(names)))
        assert len(names) <= 3
        values = [top["logprob"] for top in entry["top_logprobs"]]
        assert values == sorted(values, reverse=True)
        assert sum(map(exp, values)) <= 1 + 1e-9


def test_alternatives_of_a_record_are_allowed(server: Server) -> None:
    firsts = {name.encode()[0] for name in ("Oslo", "Rome", "Köln", "C:")}
    entries = content(answer(server, **ASKED | {"top_logprobs": 20})["choices"][0])
    at = next(at for at, entry in enumerate(entries) if entry["factorspec"]["origin"] == "chosen")
    assert {top["bytes"][0] for top in entries[at]["top_logprobs"]} == firsts
    assert sum(exp(top["logprob"]) for top in entries[at]["top_logprobs"]) == pytest.approx(1)


@pytest.mark.parametrize("drafting", ["off", "certain", "chain", "tree"])
def test_they_are_the_same_under_each_drafting(server: Server, drafting: DraftingName) -> None:
    with serving(ServerSettings(drafting=drafting)) as drafted:
        for asked in (ASKED, CHAT, ASKED | {"temperature": 0}):
            assert answer(drafted, **asked)["choices"] == answer(server, **asked)["choices"]


@pytest.mark.parametrize("asked", [ASKED, CHAT], ids=["record", "chat"])
def test_streamed_and_whole_ones_are_equal(server: Server, asked: dict[str, Any]) -> None:
    parts = streamed(server, **asked)
    whole = content(answer(server, **asked)["choices"][0])
    entries = [entry for part in parts if part["logprobs"] for entry in content(part)]
    assert entries == whole
    shown = ""
    told: list[dict[str, Any]] = []
    for part in parts:  # each chunk's entries are those of its text
        shown += part["delta"].get("content", "")
        told += content(part) if part["logprobs"] else []
        assert text_of(told).startswith(shown)


def test_a_chat_ended_by_a_stop_string(server: Server) -> None:
    whole = answer(server, **CHAT)["choices"][0]["message"]["content"]
    stop = whole[8:11]
    (choice,) = answer(server, **CHAT, stop=stop)["choices"]
    assert choice["finish_reason"] == "stop"
    assert text_of(content(choice)).startswith(choice["message"]["content"])
    assert not text_of(content(choice)[:-1]).startswith(whole[: whole.index(stop) + 1])
    assert [
        entry for part in streamed(server, **CHAT, stop=stop) if part["logprobs"] for entry in content(part)
    ] == (content(choice))


def test_each_choice_has_its_own(server: Server) -> None:
    choices = answer(server, **ASKED, n=3)["choices"]
    for choice in choices:
        assert text_of(content(choice)) == choice["message"]["content"]


def test_without_alternatives_and_without_any(server: Server) -> None:
    (choice,) = answer(server, logprobs=True, seed=1)["choices"]
    assert all(entry["top_logprobs"] == [] for entry in content(choice))
    for fields in ({}, {"logprobs": False}, {"logprobs": False, "top_logprobs": 0}, {"logprobs": None}):
        assert answer(server, **fields)["choices"][0]["logprobs"] is None


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"top_logprobs": 3}, "/top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "/top_logprobs"),
        ({"logprobs": True, "top_logprobs": -1}, "/top_logprobs"),
        ({"logprobs": True, "top_logprobs": 1.5}, "/top_logprobs"),
        ({"logprobs": 5}, "/logprobs"),
        ({"logprobs": "yes"}, "/logprobs"),
        ({"logprobs": True, "schema": None, "tools": [TOOL]}, "/logprobs"),
        ({"logprobs": True, "factorspec": {"refusal": True}}, "/logprobs"),
    ],
)
def test_what_is_refused(server: Server, fields: dict[str, Any], place: str) -> None:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)
    assert (found.status_code, found.json()["error"]["param"]) == (400, place)

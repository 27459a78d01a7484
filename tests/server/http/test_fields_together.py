"""Fields of requests in all combinations: a stream equals its whole answer, drafting changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import pytest

from factorspec_server.settings import ServerSettings
from tests.server.http.serving import Server, body, serving


@pytest.fixture(scope="module")
def undrafted() -> Iterator[Server]:
    with serving(ServerSettings(drafting="off")) as running:
        yield running


def drawn(seed: int) -> dict[str, Any]:
    """A request that is taken."""
    draw = Random(seed)
    fields: dict[str, Any] = {"seed": seed, "temperature": draw.choice([0, 0.7, 1.3])}
    if draw.random() < 0.6:
        fields |= {"schema": None, "max_tokens": draw.choice([1, 2, 5, 40])}
        fields["stop"] = draw.choice([[], "a", ["e", "\n"], ["é", "}"], "\ufffd", ["\ufffd\ufffd", "x"]])
    more: dict[str, list[Any]] = {
        "n": [2, 5],
        "logprobs": [True],
        "frequency_penalty": [-2, -0.5, 2],
        "presence_penalty": [-2, 2],
        "repetition_penalty": [0.5, 1.5],
        "min_p": [0.1, 1],
        "top_p": [0.5],
        "top_k": [3],
        "logit_bias": [{str(draw.randrange(257)): draw.choice([-100, 100, 3.5]) for _ in range(4)}],
        "factorspec": [{"origins": True}],
    }
    fields |= {name: draw.choice(values) for name, values in more.items() if draw.random() < 0.35}
    return fields | ({"top_logprobs": draw.choice([0, 1, 20])} if "logprobs" in fields else {})


def whole(server: Server, fields: dict[str, Any]) -> dict[str, Any]:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)
    assert found.status_code == 200, found.text
    parsed: dict[str, Any] = found.json()
    return parsed


def joined(server: Server, fields: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The choices and the usage of a stream, in the form of whole ones."""
    asked = body(**fields, stream=True, stream_options={"include_usage": True})
    found = httpx.post(f"{server.url}/chat/completions", json=asked, timeout=20)
    chunks = [json.loads(line[6:]) for line in found.text.split("\n") if line and line != "data: [DONE]"]
    choices: dict[int, dict[str, Any]] = {}
    for part in (part for chunk in chunks for part in chunk["choices"]):
        choice = choices.setdefault(part["index"], {"content": "", "entries": [], "reason": None})
        choice["content"] += part["delta"].get("content", "")
        choice["entries"] += part["logprobs"]["content"] if part["logprobs"] else []
        choice["reason"] = part["finish_reason"]
    return [choices[index] for index in sorted(choices)], chunks[-1]["usage"]


@pytest.mark.parametrize("seed", range(25))
def test_streams_equal_whole_answers_and_drafting_changes_nothing(
    server: Server, undrafted: Server, seed: int
) -> None:
    fields = drawn(seed)
    answer = whole(server, dict(fields))
    assert answer["choices"] == whole(undrafted, dict(fields))["choices"]
    choices, usage = joined(server, dict(fields))
    wanted = [
        {
            "content": choice["message"]["content"],
            "entries": choice["logprobs"]["content"] if choice["logprobs"] else [],
            "reason": choice["finish_reason"],
        }
        for choice in answer["choices"]
    ]
    assert choices == wanted
    assert usage["completion_tokens"] == answer["usage"]["completion_tokens"]
    stop = fields.get("stop", [])
    for choice in wanted:
        assert not any(one in choice["content"] for one in ([stop] if isinstance(stop, str) else stop))

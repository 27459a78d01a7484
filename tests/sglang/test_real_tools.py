"""Tool calls from the real server: forced and free, whole and streamed, and those of the embedded engine."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import factorspec_sdk as fs
from factorspec_sdk.client import Client
from factorspec_sdk.records import spec
from tests.sglang.test_real_server import TIMEOUT_S, URL, Note, trip
from tests.sglang.tool_asking import Range, tool_of

pytestmark = [
    pytest.mark.skipif(not URL, reason="`make ci-sglang` starts the server"),
    pytest.mark.timeout(600),
]

GONE_S = 60.0


def fields_of(model: str, **more: Any) -> dict[str, Any]:
    tools = [tool_of(Range, "range"), tool_of(Note, "note")]
    asked = {"model": model, "messages": [{"role": "user", "content": "Two numbers, please."}]}
    return {**asked, "tools": tools, "max_tokens": 200, "temperature": 0, **more}


@pytest.fixture(scope="module")
def client() -> Iterator[OpenAI]:
    with OpenAI(base_url=URL, api_key="none", timeout=TIMEOUT_S, max_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def model(client: OpenAI) -> str:
    return client.models.list().data[0].id


@pytest.fixture(scope="module")
def embedded() -> Iterator[Client]:
    with Client.local("smollm2", dtype="float32", device="cpu", drafting="off", progress=False) as made:
        yield made


@pytest.mark.parametrize("name", ["note", "trip", "required", "auto", "refusal"])
def test_greedy_answers_are_those_of_the_embedded_engine(embedded: Client, name: str) -> None:
    tools: list[type[BaseModel]] = [trip(random.Random(name)), Range] if name == "trip" else [Note, Range]
    choice: Any = {"note": Note, "trip": tools[0], "auto": "auto"}.get(name, "required")
    wishes: Any = {
        "tool_choice": choice,
        "max_tokens": 40 if name == "auto" else 300,
        "parallel": name != "note",
    }
    if name == "refusal":
        wishes["refusal"] = True
    asked = f"Use a tool for my {name}, please."
    want = told(embedded, tools, asked, wishes)
    with Client(URL, timeout_s=TIMEOUT_S) as served:
        found = told(served, tools, asked, wishes)
    assert found == want


def told(client: Client, tools: list[type[BaseModel]], asked: str, wishes: Any) -> dict[str, Any]:
    """All that an answer says but what differs between engines and from call to call."""
    try:
        raw: Any = client.call_tools(tools, asked, **wishes).raw
    except fs.Incomplete as error:  # text of a small model goes on and on
        raw = error.raw  # type: ignore[attr-defined]
    (choice,) = raw["choices"]
    message = choice["message"]
    report = raw["factorspec"]["report"]
    counted = ("tokens", "certain", "chosen", "free", "choice_points", "exact", "calls")
    return {
        "calls": [call["function"] for call in message.get("tool_calls", ())],
        "content": message["content"],
        "refusal": message["refusal"],
        "finish_reason": choice["finish_reason"],
        "usage": {name: count for name, count in raw["usage"].items() if name.endswith("_tokens")},
        "report": {name: report[name] for name in counted},
    }


def test_several_choices_have_a_report_each(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.create(**fields_of(model, n=3, temperature=1.0, seed=5, max_tokens=40))
    assert len(answer.choices) == 3
    vendor = answer.model_dump(warnings=False)["factorspec"]
    assert len(vendor["reports"]) == 3
    for choice, report in zip(answer.choices, vendor["reports"], strict=True):
        made = [call.function.name for call in choice.message.tool_calls or ()]
        assert [call["name"] for call in report["calls"]] == made
        assert bool(made) == (choice.finish_reason == "tool_calls")


def test_a_stream_of_calls_is_the_whole_answer(client: OpenAI, model: str) -> None:
    fields = fields_of(model, tool_choice="required")
    whole = client.chat.completions.create(**fields).choices[0].message
    calls: dict[int, list[str]] = {}
    with client.chat.completions.create(**fields, stream=True) as stream:
        chunks = list(stream)
    for chunk in chunks:
        for part in chunk.choices[0].delta.tool_calls or () if chunk.choices else ():
            known = calls.setdefault(part.index, ["", ""])
            assert part.function is not None
            known[0] += part.function.name or ""
            known[1] += part.function.arguments or ""
    made: Any = whole.tool_calls
    assert [tuple(call) for call in calls.values()] == [
        (call.function.name, call.function.arguments) for call in made
    ]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    report = chunks[-1].model_dump(warnings=False)["factorspec"]["report"]
    assert report["model_steps"] <= report["choice_points"] + len(calls)


def test_a_client_that_goes_leaves_nothing_running(model: str) -> None:
    fields = fields_of(model, max_tokens=1500, temperature=1, stream=True, n=2)
    with httpx.stream("POST", f"{URL}/chat/completions", json=fields, timeout=TIMEOUT_S) as answer:
        assert answer.status_code == 200
        next(answer.iter_lines())
    root = URL.removesuffix("/v1")
    deadline = time.monotonic() + GONE_S
    while _running(root):
        assert time.monotonic() < deadline, "the request runs on"
        time.sleep(0.2)


def _running(root: str) -> int:
    told = httpx.get(f"{root}/v1/loads", timeout=TIMEOUT_S).json()
    loads = told["loads"] if isinstance(told, dict) else told
    return sum(int(load["num_running_reqs"]) + int(load["num_waiting_reqs"]) for load in loads)


def test_many_tools_at_once(model: str) -> None:
    """Several clients with a dozen tools: each call is of one that there is, and keeps to its relations."""
    tools = [tool_of(Range if at % 2 else Note, f"tool_{at}") for at in range(12)]
    forced = fields_of(model, tool_choice="required", parallel_tool_calls=False, temperature=1)

    async def main() -> list[Any]:
        async with AsyncOpenAI(base_url=URL, api_key="none", timeout=TIMEOUT_S, max_retries=0) as client:
            asked = [
                client.chat.completions.create(
                    **forced | {"tools": tools, "messages": [{"role": "user", "content": f"Call {at}."}]}
                )
                for at in range(4)
            ]
            return list(await asyncio.gather(*asked))

    for answer in asyncio.run(main()):
        (call,) = answer.choices[0].message.tool_calls
        kind = Range if int(call.function.name.removeprefix("tool_")) % 2 else Note
        kind.model_validate_json(call.function.arguments)


def test_what_nothing_satisfies_is_told_with_its_place(client: OpenAI, model: str) -> None:
    import openai

    document = json.loads(json.dumps(spec(Range).document))
    document["properties"]["low"]["minimum"] = 99
    never = {"type": "function", "function": {"name": "never", "parameters": document}}
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**fields_of(model) | {"tools": [tool_of(Note, "note"), never]})
    error: Any = caught.value.body
    assert error["param"].startswith("/tools/1/function/parameters")
    assert error["conflict"] == ["in order"]


def test_tools_without_relations_stay_with_sglang(client: OpenAI, model: str) -> None:
    parameters: Any = {"type": "object", "properties": {}}
    free = {"type": "function", "function": {"name": "free", "parameters": parameters}}
    answer = client.chat.completions.create(**fields_of(model, max_tokens=5) | {"tools": [free]})
    assert "factorspec" not in answer.model_dump(warnings=False)

"""Requests that SGLang takes back in their middle, or holds, write what they write undisturbed.

``python -m tests.sglang.against_stock`` starts the server: it has far less room for keys and values than
these requests need together, and believes that they will be short.
"""

from __future__ import annotations

import json
import random
import re
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.records.document import document
from tests.sglang.test_like_stock import ROOT, STOCK, is_idle
from tests.sglang.test_real_server import PLAIN, Note, meeting, trip
from tests.sglang.tool_asking import Range, tool_of

pytestmark = [
    pytest.mark.skipif(
        not (ROOT and STOCK), reason="`python -m tests.sglang.against_stock` starts the servers"
    ),
    pytest.mark.timeout(600),
]

RETRACTED = "sglang:num_retracted_requests_total"
#: rounds after which some request must have been taken back
ROUNDS = 3
#: which of the requests are drawn, or have penalties
LETTERS = (11, 12)

Fields = dict[str, Any]


class Letter(BaseModel):
    """Much free text between two numbers that a relation reads."""

    low: Annotated[int, Field(ge=0, le=99)]
    text: Annotated[str, Field(min_length=100, max_length=130)]
    high: Annotated[int, Field(ge=0, le=99)]

    @fs.relation("in order")
    def in_order(self) -> bool:
        return self.low < self.high


def record(model: type[BaseModel], number: int, **more: Any) -> Fields:
    return formatted(document(model), number, **more)


def formatted(schema: Any, number: int, **more: Any) -> Fields:
    wanted = {"type": "json_schema", "json_schema": {"name": "record", "schema": schema}}
    return chat(number, response_format=wanted, **more)


def chat(number: int, **more: Any) -> Fields:
    asked = [{"role": "user", "content": f"Request {number}: write about the sea, the wind and a ship."}]
    return {"model": "any", "messages": asked, "max_tokens": 250, "temperature": 0, **more}


def requests() -> list[Fields]:
    """Long ones and short ones of all kinds."""
    source = random.Random(9)
    open_text = {**PLAIN, "properties": {**PLAIN["properties"], "about": {"type": "string", "minLength": 80,
                                                                         "maxLength": 110}}}  # fmt: skip
    open_text["required"] = [*PLAIN["required"], "about"]
    tools = [tool_of(Range, "range"), tool_of(Letter, "letter")]
    forced = {"type": "function", "function": {"name": "letter"}}
    return [
        record(Letter, 0),
        chat(1, max_tokens=50, ignore_eos=True),
        formatted(open_text, 2),
        record(trip(source), 3),
        chat(4, tools=tools, tool_choice=forced),
        record(Letter, 5, n=2),
        record(meeting(source), 6),
        chat(7, max_tokens=50, ignore_eos=True, n=2),
        record(Letter, 8, logprobs=True),
        record(Note, 9),
        chat(10, tools=tools, tool_choice=forced, n=2),
        record(Letter, 11, temperature=1),
        record(Letter, 12, frequency_penalty=0.3),
        chat(13, max_tokens=50, ignore_eos=True, temperature=1),
    ]


def is_steady(fields: Fields) -> bool:
    """The same text comes each time; what penalties SGLang applies depends on who is in the batch."""
    return not (fields["temperature"] or fields.get("frequency_penalty"))


def answered(fields: Fields) -> list[tuple[str, str]]:
    """What each choice says, and how it ended."""
    sent = urllib.request.Request(
        f"{ROOT}/v1/chat/completions", json.dumps(fields).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(sent, timeout=500) as answer:
        told = json.load(answer)
    return [(_said(choice["message"]), choice["finish_reason"]) for choice in told["choices"]]


def _said(message: Any) -> str:
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return "".join(calls) or message["content"]


def counted(name: str) -> float:
    """A count on the server's endpoint for metrics; 0 where nothing was counted yet."""
    with urllib.request.urlopen(f"{ROOT}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return sum(map(float, re.findall(rf"^{name}(?:{{.*}})? (.*)$", text, re.MULTILINE)))


def wait_until_idle() -> None:
    """SGLang looks then whether all of its room is free again, and ends if some is lost."""
    until = time.monotonic() + 120.0
    while not is_idle() or counted("factorspec_service_records"):
        assert time.monotonic() < until, "something still runs"
        time.sleep(0.5)


def told(path: str, **fields: Any) -> None:
    """Give the server an order."""
    sent = urllib.request.Request(
        f"{ROOT}{path}", json.dumps(fields).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(sent, timeout=60) as answer:
        assert answer.status == 200


@pytest.fixture(scope="module")
def undisturbed() -> list[list[tuple[str, str]]]:
    """What each request writes alone."""
    return [answered(fields) for fields in requests()]


def check(found: Sequence[Any], undisturbed: Sequence[Any]) -> None:
    for fields, one, other in zip(requests(), found, undisturbed, strict=True):
        assert not is_steady(fields) or one == other
    assert all(Letter.model_validate_json(found[at][0][0]) for at in LETTERS)
    wait_until_idle()


def test_requests_that_are_taken_back_write_what_they_write_undisturbed(undisturbed: list[Any]) -> None:
    asked = requests()
    before = counted(RETRACTED)
    for _ in range(ROUNDS):
        with ThreadPoolExecutor(len(undisturbed)) as pool:
            found = list(pool.map(answered, asked))
        check(found, undisturbed)
        if counted(RETRACTED) > before:
            break
    else:
        pytest.fail("there was room for all, so nothing was taken back")
    assert [answered(fields) for fields in asked[:2]] == undisturbed[:2]


@pytest.mark.parametrize("mode", ["in_place", "retract"])
def test_requests_that_are_held_write_what_they_write_undisturbed(mode: str, undisturbed: list[Any]) -> None:
    asked = requests()
    with ThreadPoolExecutor(len(asked)) as pool:
        waiting = [pool.submit(answered, fields) for fields in asked]
        for _ in range(3):
            time.sleep(1.0)
            told("/pause_generation", mode=mode)
            time.sleep(0.2)
            told("/continue_generation")
        found = [one.result() for one in waiting]
    check(found, undisturbed)

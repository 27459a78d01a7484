"""Clients that go, and requests that are refused, leave nothing that runs in the server.

``python -m tests.sglang.against_stock`` starts the server, and tells it to stop afterwards: SGLang waits then
until nothing runs any more.
"""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from factorspec_sdk.records.document import document
from tests.sglang.test_like_stock import ROOT, STOCK
from tests.sglang.test_real_server import PLAIN
from tests.sglang.test_retraction import Fields, Letter, chat, formatted, record, wait_until_idle
from tests.sglang.tool_asking import Range, tool_of

pytestmark = [
    pytest.mark.skipif(
        not (ROOT and STOCK), reason="`python -m tests.sglang.against_stock` starts the servers"
    ),
    pytest.mark.timeout(600),
]

CHAT, GENERATE = "/v1/chat/completions", "/generate"
#: SGLang looks for clients that are gone every few seconds
SOON_S = 6.0


def left() -> dict[str, tuple[str, Fields]]:
    """Requests whose clients do not wait for the end."""
    tools: Any = {"tools": [tool_of(Letter, "letter")], "tool_choice": "required"}
    long: Any = {"temperature": 0, "max_new_tokens": 200, "ignore_eos": True}
    asked = {
        "chat": (CHAT, chat(1, ignore_eos=True)),
        "chats": (CHAT, chat(2, ignore_eos=True, n=2, max_tokens=60)),
        "schema": (CHAT, formatted(PLAIN, 3)),
        "record": (CHAT, record(Letter, 4)),
        "records": (CHAT, record(Letter, 5, n=2)),
        "tools": (CHAT, chat(6, **tools)),
        "several with tools": (CHAT, chat(7, **tools, n=2)),
        "text": (GENERATE, {"text": "Once", "sampling_params": long}),
        "texts": (GENERATE, {"text": ["One", "Two"], "sampling_params": long}),
    }
    streams = {f"{name}, streamed": (path, {**body, "stream": True}) for name, (path, body) in asked.items()}
    return {**asked, **streams}


def refused() -> dict[str, tuple[str, Fields]]:
    """Requests that are answered with an error."""
    never = json.loads(json.dumps(document(Range)))
    never["properties"]["low"]["minimum"] = 99
    field = {"type": "string", "pattern": "(((("}
    broken = {"type": "object", "properties": {"a": field}, "required": ["a"]}
    tool = {"type": "function", "function": {"name": "never", "parameters": never}}
    return {
        "broken schema": (CHAT, formatted(broken, 1)),
        "broken schema, twice": (CHAT, formatted(broken, 1, n=2)),
        "no record": (CHAT, formatted(never, 2)),
        "no record, twice": (CHAT, formatted(never, 2, n=2)),
        "no call": (CHAT, chat(3, tools=[tool], tool_choice="required")),
        "no room": (CHAT, record(Letter, 4, max_tokens=5)),
        "no room for a call": (
            CHAT,
            chat(5, tools=[tool_of(Letter, "letter")], tool_choice="required", max_tokens=5),
        ),
        "too long": (GENERATE, {"input_ids": [5] * 5000, "sampling_params": {"max_new_tokens": 4}}),
        "wrong": (GENERATE, {"text": "Hm", "sampling_params": {"temperature": -1}}),
        "no text": (
            GENERATE,
            {"text": "Hm", "sampling_params": {"json_schema": json.dumps(never), "max_new_tokens": 50}},
        ),
    }


def leave(path: str, body: Fields, *, wait_s: float) -> None:
    """Ask, and hang up: at once, or after a while, or a stream in its middle."""
    url, data = urlsplit(ROOT), json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {url.netloc}\r\ncontent-type: application/json\r\n"
    with socket.create_connection((url.hostname, url.port), timeout=120) as connection:
        connection.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        if wait_s and body.get("stream"):
            assert b" 200 " in connection.recv(1 << 12).splitlines()[0]
        time.sleep(wait_s)


def status_of(path: str, body: Fields) -> int:
    sent = urllib.request.Request(
        f"{ROOT}{path}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(sent, timeout=300) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("wait_s", [0.0, 1.0])
def test_clients_that_go_leave_nothing(wait_s: float) -> None:
    with ThreadPoolExecutor(20) as pool:
        for done in [pool.submit(leave, *each, wait_s=wait_s) for each in left().values()]:
            done.result()
    time.sleep(SOON_S)
    wait_until_idle()


def test_what_is_refused_leaves_nothing() -> None:
    with ThreadPoolExecutor(20) as pool:
        told = {name: pool.submit(status_of, *each) for name, each in refused().items()}
    assert {name: each.result() for name, each in told.items()} == dict.fromkeys(refused(), 400)
    wait_until_idle()


def test_what_is_aborted_by_its_name_leaves_nothing() -> None:
    names = ["plain", "constrained"]
    long: Any = {"temperature": 0, "max_new_tokens": 300, "ignore_eos": True}
    schema = {"temperature": 0, "max_new_tokens": 300, "json_schema": json.dumps(document(Letter))}
    with ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(status_of, GENERATE, {"text": "Once", "rid": name, "sampling_params": sampling})
            for name, sampling in zip(names, (long, schema), strict=True)
        ]
        time.sleep(1.0)
        for name in names:
            status_of("/abort_request", {"rid": name})
        for done in asked:
            assert done.result() in (200, 400)
    wait_until_idle()

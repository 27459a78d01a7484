"""Requests without a grammar are answered as by stock SGLang; what is aborted leaves the others alone.

``python -m tests.sglang.against_stock`` starts the servers.
"""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.records.document import document
from tests.sglang.like_stock import REQUESTS, Answer, ask, ask_all, difference

ROOT = os.environ.get("FACTORSPEC_SGLANG_SMALL", "")
STOCK = os.environ.get("FACTORSPEC_SGLANG_STOCK", "")

pytestmark = [
    pytest.mark.skipif(
        not (ROOT and STOCK), reason="`python -m tests.sglang.against_stock` starts the servers"
    ),
    pytest.mark.timeout(600),
]

#: float32: what another shape of the same sums may differ by, in logprobs
_ALONE, _TOGETHER = 1e-4, 2e-3
#: what is drawn; penalties, which SGLang counts by who is in the batch; logprobs of given tokens, by which it
#: ends where others of the batch want other logprobs
_OF_THE_BATCH = ("sampled", "penalties", "repetition", "at least", "logprobs of the prompt")


class Long(BaseModel):
    """Free text that takes many steps, beside a relation."""

    low: Annotated[int, Field(ge=0, le=99)]
    text: Annotated[str, Field(min_length=120, max_length=160)]
    high: Annotated[int, Field(ge=0, le=99)]

    @fs.relation("in order")
    def in_order(self) -> bool:
        return self.low < self.high


@pytest.fixture(scope="module")
def stock() -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = json.loads(Path(STOCK).read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def alone() -> dict[str, list[Answer]]:
    """The same requests, one at a time, before any others."""
    return ask_all(ROOT)


def record(number: int) -> dict[str, Any]:
    return {
        "text": f"Record {number}:",
        "sampling_params": {
            "temperature": 0,
            "max_new_tokens": 300,
            "json_schema": json.dumps(document(Long)),
        },
    }


@pytest.mark.parametrize("name", list(REQUESTS))
def test_a_request_alone_is_answered_as_by_stock(
    alone: dict[str, list[Answer]], stock: dict[str, list[Answer]], name: str
) -> None:
    assert len(alone[name]) == len(stock[name])
    for found, wanted in zip(alone[name], stock[name], strict=True):
        assert difference(found, wanted, logprobs_within=_ALONE) is None
        assert found["meta_info"]["cached_tokens"] == wanted["meta_info"]["cached_tokens"]


def test_beside_records_requests_are_answered_as_by_stock(stock: dict[str, list[Answer]]) -> None:
    names = [name for name in REQUESTS if name not in _OF_THE_BATCH]
    with ThreadPoolExecutor(len(names) + 6) as pool:
        records = [pool.submit(ask, ROOT, record(number)) for number in range(3)]
        found = {name: pool.submit(ask, ROOT, REQUESTS[name]) for name in names}
        records += [pool.submit(ask, ROOT, {**record(number), "return_logprob": True}) for number in range(3)]
        for name, asked in found.items():
            answer = asked.result()
            choices = answer if isinstance(answer, list) else [answer]
            for one, wanted in zip(choices, stock[name], strict=True):
                assert difference(one, wanted, logprobs_within=_TOGETHER) is None, name
    texts = [one.result()["text"] for one in records]
    assert all(Long.model_validate_json(text) for text in texts)
    assert texts[:3] == texts[3:], "drafted, and a token a step"


def test_what_is_aborted_in_mid_run_leaves_room_and_the_others_alone(
    alone: dict[str, list[Answer]], stock: dict[str, list[Answer]]
) -> None:
    long = {"temperature": 0, "max_new_tokens": 400, "ignore_eos": True}
    free = {"text": "List of words: tree, house,", "sampling_params": long, "stream": True}
    with ThreadPoolExecutor(8) as pool:
        left = [pool.submit(leave, request) for request in (free, {**record(7), "stream": True}, free)]
        stay = [pool.submit(ask, ROOT, REQUESTS["on and on"]) for _ in range(2)]
        kept = pool.submit(ask, ROOT, record(8))
        assert all(one.result() for one in left)
        for one in stay:
            assert difference(one.result(), stock["on and on"][0], logprobs_within=_TOGETHER) is None
    Long.model_validate_json(kept.result()["text"])
    # an idle server looks whether all of its memory is free again, and ends if not
    until = time.monotonic() + 60.0
    while not is_idle():
        assert time.monotonic() < until, "what was aborted still runs"
        time.sleep(0.2)
    again = ask(ROOT, REQUESTS["greedy"])
    assert difference(again, stock["greedy"][0], logprobs_within=_ALONE) is None


def is_idle() -> bool:
    """True if the server could drop its cache, which it does when nothing runs."""
    try:
        with urllib.request.urlopen(f"{ROOT}/flush_cache", data=b"", timeout=60) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False


def leave(request: dict[str, Any]) -> bool:
    """Ask for a stream and hang up in its middle; True if there was a beginning."""
    url = urlsplit(ROOT)
    body = json.dumps(request).encode()
    head = f"POST /generate HTTP/1.1\r\nhost: {url.netloc}\r\ncontent-type: application/json\r\n"
    with socket.create_connection((url.hostname, url.port), timeout=120) as connection:
        connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        read = b""
        while read.count(b"data: ") < 6:
            part = connection.recv(1 << 16)
            if not part:
                return False
            read += part
    return True

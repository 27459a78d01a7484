"""Clients that give up or go away: the package's exceptions, and a server that goes on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.request import urlopen

import openai
import pytest

from tests.conformance.openai_package.callers import DEADLINE_S, AsyncCaller, SyncCaller, options_for
from tests.conformance.openai_package.target import Target

pytestmark = pytest.mark.needs("chat")

TOO_SHORT_S = 0.001


@pytest.fixture
def long_chat(chat: dict[str, Any]) -> dict[str, Any]:
    return chat | {"max_tokens": 1000}


def assert_serves(target: Target, chat: dict[str, Any]) -> None:
    """The server has nothing left to do, if it says so, and answers."""
    if "health" in target.capabilities:
        wait_until(lambda: is_idle(target))
    with closing(SyncCaller(target)) as caller:
        assert caller.create(**chat).choices


def is_idle(target: Target) -> bool:
    with urlopen(f"{target.root}/health", timeout=DEADLINE_S) as answer:
        facts = json.load(answer)
    return bool(facts["running"] == 0 and facts["waiting"] == 0)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "not within the deadline"
        time.sleep(0.01)


@pytest.mark.parametrize("kind", [SyncCaller, AsyncCaller])
def test_no_answer_in_time(
    target: Target, chat: dict[str, Any], long_chat: dict[str, Any], kind: Any
) -> None:
    # of whole answers: in a stream openai 2.6.1 lets the error of its own transport through
    with closing(kind(target, timeout=TOO_SHORT_S)) as caller, pytest.raises(openai.APITimeoutError):
        caller.create(**long_chat)
    assert_serves(target, chat)


@pytest.mark.parametrize("kind", [SyncCaller, AsyncCaller])
def test_a_stream_that_is_closed_early(
    target: Target, chat: dict[str, Any], long_chat: dict[str, Any], kind: Any
) -> None:
    with closing(kind(target)) as caller:
        assert len(caller.chunks(most=2, **long_chat)) == 2
    assert_serves(target, chat)


def test_a_task_that_is_cancelled(target: Target, chat: dict[str, Any], long_chat: dict[str, Any]) -> None:
    async def main() -> None:
        async with openai.AsyncOpenAI(**options_for(target)) as client:
            asked = asyncio.ensure_future(client.chat.completions.create(**long_chat))
            await client.models.list()  # by now it has been sent
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked

    asyncio.run(main())
    assert_serves(target, chat)


def test_requests_at_once(target: Target, chat: dict[str, Any]) -> None:
    async def main() -> list[str]:
        async with openai.AsyncOpenAI(**options_for(target)) as client:
            asked = [client.chat.completions.create(**chat | {"seed": seed}) for seed in range(6)]
            return [answer.choices[0].message.content or "" for answer in await asyncio.gather(*asked)]

    together = asyncio.run(main())
    assert len(together) == 6
    if "seed" in target.capabilities:
        with closing(SyncCaller(target)) as caller:
            alone = [caller.create(**chat | {"seed": seed}) for seed in range(6)]
        assert together == [answer.choices[0].message.content for answer in alone]

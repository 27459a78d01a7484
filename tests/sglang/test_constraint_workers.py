"""Workers that keep records are killed while records are on their way: nothing is lost."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections.abc import Callable
from contextlib import suppress

import httpx
import pytest
from pydantic import BaseModel

from factorspec_sdk.client import AsyncClient
from tests.sglang.processes import constraint_workers, nurseries
from tests.sglang.test_real_server import TIMEOUT_S, URL, Note, constrained, meeting, pytestmark, trip

MARK = os.environ.get("FACTORSPEC_SGLANG_MARK", "")
AT_ONCE = 12
#: rounds after which some record must have been met in the middle
ROUNDS = 6
REBUILT = "factorspec_service_records_rebuilt_total"

__all__ = ["pytestmark"]


def wanted() -> list[tuple[type[BaseModel], str]]:
    source = random.Random(5)
    kinds: list[Callable[[random.Random], type[BaseModel]]] = [trip, meeting, lambda _: Note]
    return [(kinds[at % 3](source), f"Request number {at}, please.") for at in range(AT_ONCE)]


async def records(client: AsyncClient) -> list[str]:
    """The texts of all that is wanted, decoded greedily, at once."""
    asked = [client.generate(record, prompt, temperature=0.0, max_tokens=300) for record, prompt in wanted()]
    return [result.text for result in await asyncio.gather(*asked)]


async def counted(http: httpx.AsyncClient, name: str) -> float:
    """A count on the server's endpoint for metrics, which is told each second."""
    answer = await http.get(URL.removesuffix("/v1") + "/metrics")
    lines = re.findall(rf"^{name}(?:{{.*}})? (.*)$", answer.text, re.MULTILINE)
    assert lines, f"{name} is not on the endpoint"
    return sum(map(float, lines))


def kill(processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("victims", [constraint_workers, nurseries])
def test_nothing_is_lost_when_workers_are_killed(victims: Callable[[str], list[int]]) -> None:
    async def main() -> None:
        async with (
            AsyncClient(URL, timeout_s=TIMEOUT_S) as client,
            httpx.AsyncClient(timeout=TIMEOUT_S) as http,
        ):
            undisturbed = await records(client)
            assert victims(MARK), "the server has no constraint workers"
            before = await counted(http, REBUILT)
            for at in range(ROUNDS):
                writing = asyncio.ensure_future(records(client))
                await asyncio.wait([writing], timeout=0.5 + at)
                kill(victims(MARK))
                assert await writing == undisturbed
                await asyncio.sleep(2.0)  # counts are told each second
                if await counted(http, REBUILT) > before:
                    return
            pytest.fail("no record was on its way when workers were killed")

    asyncio.run(main())


def test_a_client_that_goes_away_leaves_no_record_open() -> None:
    async def main() -> None:
        async with (
            AsyncClient(URL, timeout_s=TIMEOUT_S) as client,
            httpx.AsyncClient(timeout=TIMEOUT_S) as http,
        ):
            going = [
                asyncio.ensure_future(client.generate(record, prompt, max_tokens=300))
                for record, prompt in wanted()
            ]
            await asyncio.wait(going, timeout=1.0)
            for each in going:
                each.cancel()
            await asyncio.gather(*going, return_exceptions=True)
            await constrained(client, Note, "And then?", max_tokens=200)  # the server still serves
            for _ in range(100):
                await asyncio.sleep(1.0)
                if await counted(http, "factorspec_service_records") == 0:
                    return
            pytest.fail("records stay open")

    asyncio.run(main())

"""Ranks of one model: what the first one does for all is done once, and nothing is lost on the way."""

from __future__ import annotations

import asyncio
import os
import random

import httpx
import pytest
from pydantic import BaseModel

from factorspec_sdk.client import AsyncClient
from tests.sglang.processes import command_of, constraint_workers, marked, nurseries
from tests.sglang.test_constraint_workers import MARK, REBUILT, counted, kill
from tests.sglang.test_real_server import TIMEOUT_S, URL, Note, meeting, trip

RANKS = int(os.environ.get("FACTORSPEC_SGLANG_RANKS", "1"))
WORKERS = 2
AT_ONCE, WAVES, ROUNDS = 12, 4, 5

pytestmark = [
    pytest.mark.skipif(RANKS == 1, reason="`python -m tests.sglang --ranks 2` starts the server"),
    pytest.mark.timeout(300),
]


def wanted() -> list[type[BaseModel]]:
    source = random.Random(3)
    return [(trip(source), meeting(source), Note)[at % 3] for at in range(AT_ONCE)]


async def waves(client: AsyncClient) -> set[tuple[str, ...]]:
    """The texts of some records, greedily, at once; several times over, one wave behind the other."""
    found = set()
    for _ in range(WAVES):
        asked = [client.generate(one, "Write it.", temperature=0.0, max_tokens=300) for one in wanted()]
        found.add(tuple(result.text for result in await asyncio.gather(*asked)))
    return found


def test_there_is_one_constraint_service_for_all_ranks() -> None:
    schedulers = [entry for entry in marked(MARK) if command_of(entry).startswith("sglang::scheduler")]
    assert len(schedulers) == RANKS
    assert len(nurseries(MARK)) == 1
    assert len(constraint_workers(MARK)) == WORKERS


def test_nothing_is_lost_when_its_workers_are_killed() -> None:
    async def main() -> None:
        async with (
            AsyncClient(URL, timeout_s=TIMEOUT_S) as client,
            httpx.AsyncClient(timeout=TIMEOUT_S) as http,
        ):
            (undisturbed,) = await waves(client)
            before = await counted(http, REBUILT)
            for _ in range(ROUNDS):
                writing = asyncio.ensure_future(waves(client))
                while not writing.done():
                    await asyncio.wait([writing], timeout=0.7)
                    kill(constraint_workers(MARK)[:1])
                assert await writing == {undisturbed}
                await asyncio.sleep(2.0)  # counts are told each second
                if await counted(http, REBUILT) > before:
                    return
            pytest.fail("no record was on its way when workers were killed")

    asyncio.run(main())

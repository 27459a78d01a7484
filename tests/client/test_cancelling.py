"""Requests that are given up free their place, whoever gives them up; connections are used again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import openai
import pytest
from pydantic import BaseModel, Field

from factorspec_sdk import errors
from factorspec_sdk.client import AsyncClient, Client
from factorspec_server.http.in_process import InProcessEngine
from tests.client.unsteady_line import unsteady_line
from tests.server.http.serving import Server, SteppedModel, served_model, serving, wait_until


class Long(BaseModel):
    """Takes many steps."""

    note: Annotated[str, Field(min_length=100, max_length=200)]


class Short(BaseModel):
    """Takes one or two."""

    day: Annotated[int, Field(ge=1, le=30)]


@pytest.fixture
def server() -> Iterator[Server]:
    """One place, and none to wait."""
    with serving(max_batch=1, max_waiting=1) as running:
        yield running


def is_running(server: Server) -> bool:
    return server.engine.num_running == 1


def check_free(server: Server, give_up: Callable[[], object]) -> None:
    """The request under way is ended where it stands, and the next one is answered."""
    wait_until(lambda: is_running(server))
    request = server.engine._running[0].request
    give_up()
    wait_until(request.cancelled.is_set)
    server.model.go_on()
    wait_until(server.is_idle)
    assert server.model.forward_passes < 12
    with Client(server.url, timeout_s=20) as client:
        assert isinstance(client.generate(Short, "A day.").value, Short)


def test_a_timeout_frees_its_place_and_is_not_tried_again(server: Server) -> None:
    server.model.gate.clear()

    def ask() -> None:
        with Client(server.url, model="scripted", timeout_s=0.5) as client:
            with pytest.raises(errors.ConnectionLost, match="in time") as caught:
                client.generate(Long, "A note.")
            assert caught.value.timed_out

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        check_free(server, asked.result)


def test_a_stream_that_takes_too_long_frees_its_place(server: Server) -> None:
    server.model.pause_after = 5

    def ask() -> None:
        with (
            Client(server.url, model="scripted", timeout_s=0.5) as client,
            client.stream(Long, "A note.", seed=3, temperature=1.0) as stream,
            pytest.raises(errors.ConnectionLost, match="in time"),
        ):
            list(stream)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        check_free(server, asked.result)


def test_a_closed_stream_frees_its_place(server: Server) -> None:
    server.model.pause_after = 5
    with (
        Client(server.url, model="scripted", timeout_s=20) as client,
        client.stream(Long, "A note.", seed=3, temperature=1.0) as stream,
    ):
        next(partial for partial in stream if partial.text)
        check_free(server, stream.close)


@pytest.mark.parametrize("what", ["generate", "generate_many", "stream"])
def test_a_cancelled_task_frees_its_place(server: Server, what: str) -> None:
    server.model.gate.clear()

    async def ask(client: AsyncClient) -> None:
        if what == "generate":
            await client.generate(Long, "A note.")
        elif what == "generate_many":
            await client.generate_many(Long, ["A note."] * 3, concurrency=1)
        else:
            async with await client.stream(Long, "A note.") as stream:
                async for _ in stream:
                    pass

    async def run() -> None:
        async with AsyncClient(server.url, model="scripted", timeout_s=20) as client:
            task = asyncio.create_task(ask(client))
            await asyncio.to_thread(wait_until, lambda: is_running(server))

            def give_up() -> None:
                loop.call_soon_threadsafe(task.cancel)

            loop = asyncio.get_running_loop()
            await asyncio.to_thread(check_free, server, give_up)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_in_this_process_a_timeout_and_a_closed_stream_free_the_place() -> None:
    model = SteppedModel()
    served = served_model(model, max_batch=1, max_waiting=1)
    with Client(engine=InProcessEngine(served), timeout_s=0.3) as client:
        model.gate.clear()
        with pytest.raises(errors.Incomplete, match=r"not complete after 0.3 s"):
            client.generate(Long, "A note.")
        model.gate.set()
        wait_until(lambda: served.engine.num_running == 0)
        with client.stream(Long, "A note.", seed=3, temperature=1.0) as stream:
            next(partial for partial in stream if partial.text)
        wait_until(lambda: served.engine.num_running == 0 and served.engine.num_waiting == 0)


# -- connections ------------------------------------------------------------------------------------


def test_a_client_uses_its_connection_again() -> None:
    with serving() as server, unsteady_line(server.port, share=0.0, seed=0) as line:
        with Client(line.url, timeout_s=20) as client:
            for seed in range(5):
                client.generate(Short, "A day.", seed=seed)
            with pytest.raises(errors.TokenLimitTooSmall):
                client.generate(Short, "A day.", max_tokens=2)
            client.generate(Short, "A day.")
        assert line.num_connections == 1


def test_many_records_take_a_connection_for_each_request_at_a_time() -> None:
    async def run(url: str) -> None:
        async with AsyncClient(url, timeout_s=20) as client:
            await client.generate_many(Short, ["A day."] * 20, seed=0, concurrency=3)

    with serving() as server, unsteady_line(server.port, share=0.0, seed=0) as line:
        with Client(line.url, timeout_s=20) as client:
            client.generate_many(Short, ["A day."] * 20, seed=0, concurrency=3)
        assert line.num_connections <= 3
        before = line.num_connections
        asyncio.run(run(line.url))
        assert line.num_connections - before <= 3


ALONE = """
import sys
sys.modules["httpx"] = None  # newer releases of openai come with another library
from threading import Thread
from factorspec_sdk.client import Client
from factorspec_sdk.errors import ConnectionLost
from pydantic import BaseModel

class Yes(BaseModel):
    yes: bool

client, lost = Client("http://127.0.0.1:9/v1", model="m", attempts=1), []
before = {name for name in sys.modules if name.startswith("httpx")}

def ask():
    try:
        client.generate(Yes, "Yes?")
    except ConnectionLost:
        lost.append(True)

threads = [Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(lost) == 8, lost
assert before == {name for name in sys.modules if name.startswith("httpx")}
"""


@pytest.mark.skipif(int(openai.__version__.split(".")[0]) < 3, reason="this release needs httpx itself")
def test_lost_connections_are_told_with_what_a_clean_install_has() -> None:
    subprocess.run([sys.executable, "-c", ALONE], check=True, timeout=60)

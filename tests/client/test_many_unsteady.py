"""200 records over a line that drops requests, from a server that starts again in the middle."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from factorspec_sdk import errors, records
from factorspec_sdk.client import AsyncClient, Client, Failure, Result
from factorspec_server.http.app import create_app
from tests.client.unsteady_line import UnsteadyLine, unsteady_line
from tests.server.http.serving import SteppedModel, running, served_model, wait_until

NUM_RECORDS = 200
SEED = 1000
PROMPTS = ["Two cities."] * NUM_RECORDS


@records.all_different("cities[*]", name="each once")
class Two(BaseModel):
    cities: Annotated[
        list[Annotated[str, records.In(["Oslo", "Rome", "Köln"])]], Field(min_length=2, max_length=2)
    ]


class RestartingServer:
    """A server that is ended, its requests with it, and started again on the same port."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.stack = ExitStack()

    def start(self) -> None:
        app = create_app(served_model(SteppedModel()))
        self.stack.enter_context(running(app, port=self.port, is_patient=False))

    def restart_when(self, line: UnsteadyLine, num_delivered: int) -> threading.Thread:
        def restart() -> None:
            wait_until(lambda: line.delivered.total() >= num_delivered)
            self.stack.close()
            lost = line.dropped["server"]
            wait_until(lambda: line.dropped["server"] > lost)  # somebody has noticed
            self.start()

        thread = threading.Thread(target=restart)
        thread.start()
        return thread


@contextmanager
def restarting_server() -> Iterator[RestartingServer]:
    server = RestartingServer()
    server.start()
    try:
        yield server
    finally:
        server.stack.close()


def ask(url: str, path: Path, *, is_async: bool, **more: Any) -> list[Result[Two] | Failure]:
    options: Any = {"seed": SEED, "temperature": 1.0, "resume": path, "patience_s": 60, **more}
    if not is_async:
        with Client(url, timeout_s=60) as client:
            return client.generate_many(Two, PROMPTS, **options)

    async def run() -> list[Result[Two] | Failure]:
        async with AsyncClient(url, timeout_s=60) as client:
            return await client.generate_many(Two, PROMPTS, **options)

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_all_records_come_none_twice_and_a_resumed_run_repeats_none(is_async: bool, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    with restarting_server() as server, unsteady_line(server.port, share=0.1, seed=7) as line:
        restart = server.restart_when(line, 100)
        results = ask(line.url, path, is_async=is_async)
        restart.join()
        seeds = range(SEED, SEED + NUM_RECORDS)
        assert [one.report.seed for one in results if isinstance(one, Result)] == [*seeds]
        # an answer that has arrived is never asked for again
        assert {seed: line.delivered[seed] for seed in seeds} == dict.fromkeys(seeds, 1)
        assert min(line.dropped[fate] for fate in ("before", "middle", "after", "server")) >= 1
        lines = [json.loads(text)["index"] for text in path.read_text().splitlines()]
        assert sorted(lines) == [*range(NUM_RECORDS)]
        reached = line.reached.copy()
        assert ask(line.url, path, is_async=is_async) == results
        asked = line.reached - reached
        assert set(asked) <= {-1}  # the model's name alone


def test_a_server_that_stays_away_leaves_failures_that_a_later_run_makes_good(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    with restarting_server() as server, unsteady_line(server.port, share=0.0, seed=0) as line:

        def leave() -> None:
            wait_until(lambda: line.delivered.total() >= 60)
            server.stack.close()

        thread = threading.Thread(target=leave)
        thread.start()
        first = ask(line.url, path, is_async=False, patience_s=0)
        thread.join()
        failed = [one for one in first if isinstance(one, Failure)]
        assert failed and all(isinstance(one.error, errors.ConnectionLost) for one in failed)
        server.start()
        reached = line.reached.copy()
        assert all(isinstance(one, Result) for one in ask(line.url, path, is_async=False))
        asked = line.reached - reached
        assert {seed for seed in asked if seed >= 0} == {SEED + one.index for one in failed}

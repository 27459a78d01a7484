"""The engine's thread: batches, streams, refusals, cancellation, and serving on after errors."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from factorspec_sdk.errors import Overloaded
from factorspec_sdk.testing.scripted_model import ScriptedBatch, ScriptedModel
from factorspec_server.engines import (
    Commit,
    Completion,
    EngineClosed,
    EngineThread,
    Event,
    ModelFailed,
    Request,
    Sampling,
    generate_batch,
)

WAIT_S = 20.0


class GatedModel(ScriptedModel):
    """Waits at ``gate`` before each pass; fails while ``broken``."""

    def __init__(self) -> None:
        super().__init__(64)
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.broken = False
        self.batch_sizes: list[int] = []

    def open(self) -> ScriptedBatch:
        return GatedBatch(self)


class GatedBatch(ScriptedBatch):
    def extend(self, tokens: Any, *arguments: Any) -> list[list[NDArray[np.float32]]]:
        assert isinstance(self._model, GatedModel)
        self._model.batch_sizes.append(len(tokens))
        self._model.entered.set()
        assert self._model.gate.wait(WAIT_S)
        if self._model.broken:
            raise MemoryError("broken on purpose")
        return super().extend(tokens, *arguments)


def free(seed: int = 0, token_limit: int = 8) -> Request:
    return Request(prompt_ids=(1, 2), token_limit=token_limit, sampling=Sampling(temperature=1.0, seed=seed))


@pytest.fixture
def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
def engine(model: GatedModel) -> Iterator[EngineThread]:
    with EngineThread(model, max_batch=4, max_waiting=6) as engine:
        yield engine
        model.gate.set()


def test_requests_of_many_tasks_equal_single_runs(engine: EngineThread) -> None:
    async def main() -> list[Completion]:
        found = await asyncio.gather(*(engine.submit([free(seed)]) for seed in range(6)))
        return [completion for (completion,) in found]

    completions = asyncio.run(main())
    alone = [generate_batch(ScriptedModel(64), [free(seed)])[0].token_ids for seed in range(6)]
    assert [completion.token_ids for completion in completions] == alone


def hold(engine: EngineThread, model: GatedModel) -> None:
    """Occupy the engine with one request until the gate opens."""
    model.gate.clear()
    model.entered.clear()
    engine.enqueue([free()])
    assert model.entered.wait(WAIT_S)


def test_a_place_is_taken_at_the_step_after_it_became_free(engine: EngineThread, model: GatedModel) -> None:
    hold(engine, model)
    futures = engine.enqueue([free(seed, token_limit=2 + 4 * (seed % 2)) for seed in range(6)])
    assert (engine.num_running, engine.num_waiting) == (1, 6)
    model.gate.set()
    assert all(future.result(WAIT_S).finish_reason == "length" for future in futures)
    # one row of 8 tokens alone for a step, then with three; two of those end after two steps, and so on
    assert model.batch_sizes == [1, 4, 4, 4, 4, 4, 4, 3, 2, 1, 1]


def test_one_request_too_many_is_refused_and_a_cancelled_one_makes_room(
    engine: EngineThread, model: GatedModel
) -> None:
    hold(engine, model)
    waiting = [free(seed) for seed in range(6)]
    futures = [engine.enqueue([request])[0] for request in waiting]
    with pytest.raises(Overloaded, match="try again"):
        engine.enqueue([free()])
    waiting[2].cancelled.set()
    (late,) = engine.enqueue([free(9)])
    model.gate.set()
    assert futures[2].result(WAIT_S).finish_reason == "cancelled"
    assert late.result(WAIT_S).finish_reason == "length"


def test_a_cancelled_task_cancels_its_request(engine: EngineThread, model: GatedModel) -> None:
    request = free(token_limit=100_000)

    async def main() -> None:
        task = asyncio.create_task(engine.submit([request]))
        await asyncio.to_thread(model.entered.wait, WAIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert request.cancelled.is_set()
    assert engine.generate([free()], timeout_s=WAIT_S)[0].finish_reason == "length"


def test_a_stream_yields_commits_and_then_the_completion(engine: EngineThread) -> None:
    async def main() -> list[Commit | Completion]:
        return [event.part async for event in engine.stream([free(3)])]

    *commits, last = asyncio.run(main())
    assert isinstance(last, Completion)
    tokens = tuple(token for commit in commits if isinstance(commit, Commit) for token in commit.token_ids)
    assert tokens == last.token_ids == generate_batch(ScriptedModel(64), [free(3)])[0].token_ids


def test_leaving_a_stream_cancels_its_request(engine: EngineThread) -> None:
    request = free(token_limit=100_000)

    async def main() -> None:
        stream = engine.stream([request])
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(main())
    assert request.cancelled.is_set()
    assert engine.generate([free()], timeout_s=WAIT_S)[0].finish_reason == "length"


def test_the_engine_serves_on_after_the_model_failed(engine: EngineThread, model: GatedModel) -> None:
    model.broken = True
    (failed,) = engine.generate([free()], timeout_s=WAIT_S)
    assert failed.finish_reason == "error"
    assert isinstance(failed.error, ModelFailed)
    model.broken = False
    assert engine.generate([free()], timeout_s=WAIT_S)[0].finish_reason == "length"


def test_closing_finishes_what_was_taken_and_refuses_the_rest(model: GatedModel) -> None:
    engine = EngineThread(model).start()
    futures = engine.enqueue([free(seed) for seed in range(3)])
    engine.close()
    assert [future.result(WAIT_S).finish_reason for future in futures] == ["length"] * 3
    with pytest.raises(EngineClosed):
        engine.enqueue([free()])


def test_closing_cancels_what_takes_too_long(model: GatedModel) -> None:
    engine = EngineThread(model).start()
    (future,) = engine.enqueue([free(token_limit=1_000_000)])
    assert model.entered.wait(WAIT_S)
    engine.close(drain_s=0.05)
    assert future.result(WAIT_S).finish_reason == "cancelled"


def test_requests_that_are_sent_together_are_refused_together(
    engine: EngineThread, model: GatedModel
) -> None:
    hold(engine, model)
    engine.enqueue([free(seed) for seed in range(4)])
    with pytest.raises(Overloaded):
        engine.enqueue([free(seed) for seed in range(3)])
    assert engine.num_waiting == 4
    assert len(engine.enqueue([free(seed) for seed in range(2)])) == 2


def test_requests_that_are_sent_together_end_with_the_one_that_fails(engine: EngineThread) -> None:
    def fail(commit: Commit) -> None:
        raise RuntimeError("a listener")

    others = [free(seed, token_limit=100_000) for seed in range(2)]
    completions = engine.generate([others[0], replace(free(), on_commit=fail), others[1]], timeout_s=WAIT_S)
    assert [completion.finish_reason for completion in completions] == ["cancelled", "error", "cancelled"]
    assert engine.generate([free()], timeout_s=WAIT_S)[0].finish_reason == "length"


def test_a_stream_of_several_requests_tells_which_one(engine: EngineThread) -> None:
    async def main() -> list[Event]:
        return [
            event async for event in engine.stream([free(seed, token_limit=3 + seed) for seed in range(3)])
        ]

    events = asyncio.run(main())
    for seed in range(3):
        *commits, last = [event.part for event in events if event.index == seed]
        tokens = tuple(token for part in commits if isinstance(part, Commit) for token in part.token_ids)
        (alone,) = generate_batch(ScriptedModel(64), [free(seed, token_limit=3 + seed)])
        assert isinstance(last, Completion) and last.token_ids == tokens == alone.token_ids


def test_a_stream_with_much_to_tell_lets_others_have_their_turn(engine: EngineThread) -> None:
    async def main() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        stream = engine.stream([free(token_limit=500)])
        await anext(stream)
        while engine.num_running:
            engine.call(lambda: None)  # waits for the engine, and keeps the loop from reading meanwhile
        await asyncio.sleep(0)  # all that it wrote is there now
        before = turns
        assert len([event async for event in stream]) == 500
        task.cancel()
        return turns - before

    assert asyncio.run(main()) > 5

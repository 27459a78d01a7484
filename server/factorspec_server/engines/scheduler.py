"""The engine's thread: waiting requests are collected into static batches and run one batch after another.

::

    submit / stream ──► waiting (bounded) ──► thread: take up to max_batch, run to the end ──► futures

Only this thread touches the model. A request leaves the waiting line when its batch starts; cancelling it
ends it at its next step, and the rest of its batch goes on without it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from time import monotonic
from types import TracebackType
from typing import Self

from factorspec_sdk.errors import Overloaded
from factorspec_server.engines.errors import EngineClosed, ModelFailed
from factorspec_server.engines.requests import Commit, Completion, Request, failed
from factorspec_server.engines.runner import generate_batch
from factorspec_server.engines.seam import Model

_IDLE_CHECK_S = 1.0
_LAST_STEP_S = 5.0


@dataclass(frozen=True, slots=True)
class _Job:
    request: Request
    done: Future[Completion]


class EngineThread:
    """Runs requests on a thread of its own; every method may be called from any thread.

    Args:
        model: what to run; used by the engine's thread alone.
        max_batch: most requests that run together.
        max_waiting: most requests that wait; one more is refused.
        linger_s: how long the first of a batch waits for company, in seconds.
    """

    def __init__(
        self, model: Model, *, max_batch: int = 8, max_waiting: int = 64, linger_s: float = 0.002
    ) -> None:
        self.model = model
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._linger_s = linger_s
        self._waiting: deque[_Job] = deque()
        self._running: list[_Job] = []
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="factorspec-engine", daemon=True)

    def start(self) -> Self:
        """Start serving; call once."""
        self._thread.start()
        return self

    def close(self, drain_s: float = 30.0) -> None:
        """Take no more requests, finish those taken, and stop the thread.

        Requests that are not finished after ``drain_s`` seconds are cancelled.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident is None:
            return
        self._thread.join(drain_s)
        if self._thread.is_alive():
            with self._changed:
                for job in (*self._running, *self._waiting):
                    job.request.cancelled.set()
            self._thread.join(_LAST_STEP_S)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def num_waiting(self) -> int:
        """Requests that wait for a batch."""
        return len(self._waiting)

    @property
    def num_running(self) -> int:
        """Requests in the batch that runs now, finished ones included."""
        return len(self._running)

    def enqueue(self, request: Request) -> Future[Completion]:
        """Put a request into the waiting line; the future never raises, errors stand in the completion.

        Raises:
            Overloaded: if too many requests wait.
            EngineClosed: if the engine is shutting down.
        """
        job = _Job(request, Future())
        with self._changed:
            if self._closing:
                raise EngineClosed("the engine is shutting down; send the request to another server")
            if len(self._waiting) >= self._max_waiting:
                self._drop_cancelled()
            if len(self._waiting) >= self._max_waiting:
                raise Overloaded(f"{len(self._waiting)} requests are waiting already; try again later")
            self._waiting.append(job)
            self._changed.notify_all()
        return job.done

    def generate(self, request: Request, *, timeout_s: float | None = None) -> Completion:
        """Run a request and wait for it; past ``timeout_s`` it is cancelled and ``TimeoutError`` raised."""
        done = self.enqueue(request)
        try:
            return done.result(timeout_s)
        except BaseException:
            request.cancelled.set()
            raise

    async def submit(self, request: Request) -> Completion:
        """Run a request; cancelling the awaiting task cancels the request."""
        done = self.enqueue(request)
        try:
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            request.cancelled.set()
            raise

    async def stream(self, request: Request) -> AsyncIterator[Commit | Completion]:
        """Run a request and yield its commits as they come, its completion last.

        Leaving the iterator early cancels the request.
        """
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Commit | Completion] = asyncio.Queue()

        def post(event: Commit | Completion) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def post_commit(commit: Commit) -> None:
            if request.on_commit is not None:
                request.on_commit(commit)
            post(commit)

        done = self.enqueue(replace(request, on_commit=post_commit))
        done.add_done_callback(lambda future: post(future.result()))
        try:
            while True:
                event = await events.get()
                yield event
                if isinstance(event, Completion):
                    return
        finally:
            request.cancelled.set()

    def _serve(self) -> None:
        while True:
            jobs = self._next_batch()
            if jobs is None:
                return
            try:
                completions = generate_batch(self.model, [job.request for job in jobs])
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever one batch does
                failure = ModelFailed(f"the engine failed while running a batch: {error}")
                failure.__cause__ = error
                completions = [failed(job.request, failure) for job in jobs]
            with self._changed:
                self._running = []
            for job, completion in zip(jobs, completions, strict=True):
                _resolve(job, completion)

    def _next_batch(self) -> list[_Job] | None:
        """Wait for requests and take a batch of them; None once the engine is closed and nothing waits."""
        with self._changed:
            while not self._waiting:
                if self._closing:
                    return None
                self._changed.wait(_IDLE_CHECK_S)
            deadline = monotonic() + self._linger_s
            while len(self._waiting) < self._max_batch and not self._closing:
                left_s = deadline - monotonic()
                if left_s <= 0:
                    break
                self._changed.wait(left_s)
            size = min(self._max_batch, len(self._waiting))
            self._running = [self._waiting.popleft() for _ in range(size)]
            return list(self._running)

    def _drop_cancelled(self) -> None:
        """Free the places of requests that were cancelled while they waited; the caller holds the lock."""
        for job in [job for job in self._waiting if job.request.cancelled.is_set()]:
            self._waiting.remove(job)
            _resolve(job, failed(job.request, None))


def _resolve(job: _Job, completion: Completion) -> None:
    """Hand over a completion; a listener's error is the listener's."""
    if job.done.set_running_or_notify_cancel():
        job.done.set_result(completion)

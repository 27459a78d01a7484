"""The engine's thread: requests wait in line, run together, and leave one by one.

::

    submit / stream ──► waiting (bounded) ──► thread: up to max_batch run, step by step ──► futures

Only this thread touches the model. A place that becomes free is taken by the first in line before the next
step; cancelling a request ends it at its next step, and the others go on without it. Requests that are sent
together, the choices of one answer, are taken or refused together, and end together where one fails.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

from factorspec_sdk.errors import Overloaded
from factorspec_server.engines.errors import EngineClosed
from factorspec_server.engines.keeping import Keeper
from factorspec_server.engines.requests import Commit, Completion, Event, Request, cancel, failed
from factorspec_server.engines.row import Row
from factorspec_server.engines.runner import PREFIX_BYTES, STEP_TOKENS, Runner
from factorspec_server.engines.seam import Model

_IDLE_CHECK_S = 1.0
_LAST_STEP_S = 5.0
_EVENTS_AT_ONCE = 4  # asyncio complains at the fifth piece that is written to a client who left

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    request: Request
    done: Future[Completion]


class EngineThread:
    """Runs requests on a thread of its own; every method may be called from any thread.

    Args:
        model: what to run; used by the engine's thread alone.
        max_batch: most requests that run together.
        max_waiting: most requests that wait, and that can be sent together; one more is refused.
        step_tokens: most tokens of a step, see ``Runner``.
        prefix_bytes: bytes of keys and values kept of what was run lately.
    """

    def __init__(
        self,
        model: Model,
        *,
        max_batch: int = 8,
        max_waiting: int = 64,
        step_tokens: int = STEP_TOKENS,
        prefix_bytes: int = PREFIX_BYTES,
    ) -> None:
        self.model = model
        self._runner = Runner(model, step_tokens=step_tokens, prefix_bytes=prefix_bytes)
        self.max_batch = max_batch
        self.max_waiting = max_waiting
        self._waiting: deque[_Job] = deque()
        self._running: list[_Job] = []
        self._work: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="factorspec-engine", daemon=True)

    def start(self) -> Self:
        """Start serving, if it does not serve yet."""
        with self._changed:
            if self._thread.ident is None:
                self._thread.start()
        return self

    def call(self, work: Callable[[], ResultT]) -> ResultT:
        """Do ``work`` on the engine's thread, between two steps, and wait for it; starts the thread.

        Raises:
            EngineClosed: if the engine is shutting down.
            BaseException: whatever ``work`` raises.
        """
        done: Future[ResultT] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                done.set_exception(error)

        with self._changed:
            if self._closing:
                raise EngineClosed("the engine is shutting down")
            self._work.append(run)
            self._changed.notify_all()
        self.start()
        return done.result()

    def keep_with(self, keeper: Keeper) -> None:
        """Take requests whose sessions are kept elsewhere from now on; the keeper outlives the engine."""
        self._runner.keeper = keeper

    def limit_steps(self, step_tokens: int) -> None:
        """Set the most tokens of a step, see ``Runner``."""
        self._runner.step_tokens = step_tokens

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
        """Requests that wait for a place."""
        return len(self._waiting)

    @property
    def prefix_bytes(self) -> int:
        """Bytes of keys and values that are kept for requests that begin like earlier ones."""
        return self._runner.prefix_bytes

    @property
    def num_running(self) -> int:
        """Requests that run now."""
        return len(self._running)

    def enqueue(self, requests: Sequence[Request]) -> list[Future[Completion]]:
        """Put requests into the waiting line, all of them or none; if one of them fails, all are cancelled.

        Returns:
            A future for each request. They never raise, errors stand in the completions.

        Raises:
            Overloaded: if too many requests wait.
            EngineClosed: if the engine is shutting down.
        """
        jobs = [_Job(request, Future()) for request in requests]
        with self._changed:
            if self._closing:
                raise EngineClosed("the engine is shutting down; send the request to another server")
            if len(self._waiting) + len(jobs) > self.max_waiting:
                self._drop_cancelled()
            if len(self._waiting) + len(jobs) > self.max_waiting:
                raise Overloaded(f"{len(self._waiting)} requests are waiting already; try again later")
            for job in jobs:
                job.done.add_done_callback(partial(_end_with, requests))
            self._waiting += jobs
            self._changed.notify_all()
        return [job.done for job in jobs]

    def generate(self, requests: Sequence[Request], *, timeout_s: float | None = None) -> list[Completion]:
        """Run requests and wait; past ``timeout_s`` all are cancelled and ``TimeoutError`` is raised."""
        deadline_s = None if timeout_s is None else monotonic() + timeout_s
        try:
            return [
                done.result(None if deadline_s is None else max(0.0, deadline_s - monotonic()))
                for done in self.enqueue(requests)
            ]
        except BaseException:
            cancel(requests)
            raise

    async def submit(self, requests: Sequence[Request]) -> list[Completion]:
        """Run requests; cancelling the awaiting task cancels them."""
        futures = self.enqueue(requests)
        try:
            return await asyncio.gather(*map(asyncio.wrap_future, futures))
        except asyncio.CancelledError:
            cancel(requests)
            raise

    def watch(self, requests: Sequence[Request], post: Callable[[Event], object]) -> None:
        """Put requests into the waiting line as ``enqueue`` does; ``post`` gets all that comes of them.

        It is called on the engine's thread and must be quick; each request's completion comes last.
        """
        watched = [
            replace(request, on_commit=partial(_post_commit, post, index, request.on_commit))
            for index, request in enumerate(requests)
        ]
        for index, done in enumerate(self.enqueue(watched)):
            done.add_done_callback(partial(_post_end, post, index))

    async def stream(self, requests: Sequence[Request]) -> AsyncGenerator[Event]:
        """Run requests and yield what comes of them, as it comes.

        Leaving the iterator early cancels the requests.
        """
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event] = asyncio.Queue()
        num_open, num_seen = len(requests), 0
        self.watch(requests, lambda event: loop.call_soon_threadsafe(events.put_nowait, event))
        try:
            while num_open:
                event = await events.get()
                num_open, num_seen = num_open - isinstance(event.part, Completion), num_seen + 1
                yield event
                if num_seen % _EVENTS_AT_ONCE == 0:
                    await asyncio.sleep(
                        0
                    )  # get() does not wait while there are events; others have their turn
        finally:
            cancel(requests)

    def _serve(self) -> None:
        rows: dict[Row, _Job] = {}
        while (jobs := self._next()) is not None:
            while self._work:
                self._work.popleft()()
            for job in jobs:
                try:
                    rows[self._runner.admit(job.request)] = job
                except Exception as error:  # noqa: BLE001 - the thread must outlive whatever one request does
                    self._end(job, failed(job.request, error))
            self._runner.step()
            for row in self._runner.take_ended():
                assert row.completion is not None
                self._end(rows.pop(row), row.completion)

    def _next(self) -> list[_Job] | None:
        """The requests for free places, after waiting for the first; None once nothing is left to do."""
        with self._changed:
            while not (self._waiting or self._running or self._work):
                if self._closing:
                    return None
                self._changed.wait(_IDLE_CHECK_S)
            free = min(self.max_batch - len(self._running), len(self._waiting))
            jobs = [self._waiting.popleft() for _ in range(free)]
            self._running += jobs
            return jobs

    def _end(self, job: _Job, completion: Completion) -> None:
        """Free a request's place and hand over its completion."""
        with self._changed:
            self._running.remove(job)
        _resolve(job, completion)

    def _drop_cancelled(self) -> None:
        """Free the places of requests that were cancelled while they waited; the caller holds the lock."""
        for job in [job for job in self._waiting if job.request.cancelled.is_set()]:
            self._waiting.remove(job)
            _resolve(job, failed(job.request, None))


def _end_with(requests: Sequence[Request], done: Future[Completion]) -> None:
    if done.cancelled() or done.result().finish_reason in ("error", "cancelled"):
        cancel(requests)


def _post_commit(
    post: Callable[[Event], object], index: int, told: Callable[[Commit], None] | None, commit: Commit
) -> None:
    if told is not None:
        told(commit)
    post(Event(index, commit))


def _post_end(post: Callable[[Event], object], index: int, done: Future[Completion]) -> None:
    post(Event(index, done.result()))


def _resolve(job: _Job, completion: Completion) -> None:
    """Hand over a completion; a listener's error is the listener's."""
    if job.done.set_running_or_notify_cancel():
        job.done.set_result(completion)

"""Keeps the processes: starts the nursery, asks it for workers, and for others where some die.

One thread of the engine reads all messages of workers. The nursery is its child, and so is killed by the
system when the engine dies; workers are the nursery's.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from time import monotonic
from typing import Any

from factorspec_sdk.errors import EngineError, FactorspecError, Problem
from factorspec_server.constraint_service.failures import failure_from
from factorspec_server.constraint_service.link import Link
from factorspec_server.constraint_service.memory import Memory, nameless_file
from factorspec_server.constraint_service.messages import Unpacker
from factorspec_server.constraint_service.options import ServiceOptions, VocabularySource
from factorspec_server.engines.precedence import go_last

_MODULE = "factorspec_server.constraint_service.nursery"
#: nurseries that may die one after the other before one is ready
_MOST_FAILURES = 3
#: longest wait for processes to end, in seconds
_END_S = 5.0
#: libraries that would start threads of their own: forking wants none, and workers are many
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
) | {"TOKENIZERS_PARALLELISM": "false"}


class Keeper:
    """See above.

    Attributes:
        changed: notified when a worker gets ready or dies, and when the service fails or ends.
        failure: why there are no workers and will be none.
        replaced: workers that died.
        nurseries: that were started.
    """

    def __init__(
        self,
        source: VocabularySource,
        options: ServiceOptions,
        memory: tuple[Memory, int],
        *,
        greet: Callable[[Link], None],
        bury: Callable[[Link], None],
    ) -> None:
        """``greet``, ``bury``: told of each new worker before it runs, and of each dead one."""
        self._memory, self._memory_fd = memory
        self._workers = options.workers
        self._silence_s = options.deadline_s
        self._setup_fd = _setup_file(source, options, self._memory)
        self._greet, self._bury = greet, bury
        self.changed = threading.Condition()
        self.failure: FactorspecError | None = None
        self.replaced = 0
        self.nurseries = 0
        self._links: list[Link] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._nursery: socket.socket | None = None
        self._unpacker = Unpacker()
        self._is_ready = False
        self._ready_since = 0.0
        self._failures = 0
        self._closing = False
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="factorspec-constraints", daemon=True)
        self._thread.start()

    @property
    def links(self) -> list[Link]:
        """All workers that are not known to be dead."""
        return [link for link in self._links if link.alive]

    def ready_links(self, until: float) -> list[Link]:
        """Those that serve; waits for one until a moment of ``monotonic``.

        Raises:
            FactorspecError: there will be none, or none came in time.
        """
        with self.changed:
            while True:
                if self.failure is not None:
                    raise self.failure
                found = [link for link in self._links if link.alive and link.ready]
                if found:
                    return found
                left = until - monotonic()
                if left <= 0:
                    raise EngineError("no constraint worker is there: they do not start, or die at once")
                self.changed.wait(left)

    def look(self) -> None:
        """See now who is dead."""
        with suppress(OSError):
            self._wake.send(b"w", socket.MSG_DONTWAIT)

    def close(self) -> None:
        """End all processes and wait for that."""
        self._closing = True
        self.look()
        self._thread.join(_END_S)
        for each in (self._wake, self._woken):
            each.close()
        os.close(self._setup_fd)

    # the thread

    def _run(self) -> None:
        go_last()
        try:
            self._start_nursery()
            while not self._closing:
                self._watch()
        except Exception as error:  # noqa: BLE001 - told to all who wait
            self._fail(EngineError(f"the constraint service failed: {error!r}"))
        self._fail(EngineError("the constraint service is closed"))
        self._end_all()

    def _watch(self) -> None:
        waiting = select.poll()
        nursery = self._nursery
        by_fd = {link.control_socket.fileno(): link for link in self._links}
        for fd in by_fd:
            waiting.register(fd, select.POLLIN)
        if nursery is not None:
            waiting.register(nursery, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        left_s = self._patience_s()
        ready = dict(waiting.poll(None if left_s is None else 1000 * max(0.0, left_s) + 1))
        if ready.pop(self._woken.fileno(), None):
            self._woken.recv(4096)
        nursery_ready = nursery is not None and ready.pop(nursery.fileno(), None) is not None
        dead = [by_fd[fd] for fd in ready if not by_fd[fd].receive()]
        dead += [link for link in self._links if not link.alive and link not in dead]
        if any(link.ready for link in self._links):
            self._failures = 0
        with self.changed:
            self.changed.notify_all()
        if nursery is not None and nursery_ready and not self._hear_nursery(nursery):
            self._replace_nursery()
            return
        for link in dead:
            self._replace(link)
        left_s = self._patience_s()
        if left_s is not None and left_s <= 0:
            self._replace_nursery()

    def _patience_s(self) -> float | None:
        """How long the nursery may still take to fork workers; None: it owes none, or still makes tables."""
        began = [link.began for link in self._links if link.alive and not link.ready]
        if not self._is_ready or not began:
            return None
        return max(self._ready_since, min(began)) + self._silence_s - monotonic()

    def _hear_nursery(self, nursery: socket.socket) -> bool:
        try:
            data = nursery.recv(1 << 16)
        except OSError:
            return False
        for header, _ in self._unpacker.feed(data):
            if "error" in header:
                self._fail(failure_from(header["error"]))
            else:
                self._is_ready, self._failures = True, 0
                self._ready_since = monotonic()
        return bool(data)

    def _start_nursery(self) -> None:
        ours, theirs = socket.socketpair()
        fds = (theirs.fileno(), self._setup_fd, self._memory_fd)
        path = os.pathsep.join(part or os.getcwd() for part in sys.path)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, *map(str, (*fds, os.getpid(), int(self.nurseries > 0)))],
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            )
        self._nursery, self._unpacker, self._is_ready = ours, Unpacker(), False
        self.nurseries += 1
        for number in range(self._workers):
            self._ask_for(number)

    def _ask_for(self, number: int) -> None:
        assert self._nursery is not None
        link = Link(number, self.nurseries, self._memory)
        self._greet(link)
        with suppress(OSError):  # a dead nursery is seen by its end of file
            fds = [each.fileno() for each in link.ends]
            socket.send_fds(self._nursery, [number.to_bytes(4, "little")], fds)
        for each in link.ends:
            each.close()
        self._links = [*self._links, link]

    def _replace(self, link: Link) -> None:
        self._drop(link)
        self._failures += not link.ready
        if self._failures >= _MOST_FAILURES * self._workers:
            self._give_up()
        elif self._nursery is not None and link.nursery == self.nurseries:
            self._ask_for(link.number)

    def _drop(self, link: Link) -> None:
        self._links = [each for each in self._links if each is not link]
        self.replaced += link.ready
        link.bury()
        self._bury(link)
        with self.changed:
            self.changed.notify_all()

    def _replace_nursery(self) -> None:
        """Its workers die with it."""
        self._failures += not self._is_ready
        self._end_nursery()
        for link in self._links:
            self._drop(link)
        if self.failure is not None:
            return
        if self._failures >= _MOST_FAILURES:
            self._give_up()
            return
        self._start_nursery()

    def _give_up(self) -> None:
        problem = Problem("nursery", "its messages are in the server's log", f"{self._failures} times")
        self._fail(EngineError("the constraint workers do not start", [problem]))

    def _fail(self, failure: FactorspecError) -> None:
        with self.changed:
            if self.failure is None or self._closing:
                self.failure = failure
            self.changed.notify_all()

    def _end_nursery(self) -> None:
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None
        if self._process is not None:
            self._process.kill()
            self._process.wait(_END_S)
            self._process = None

    def _end_all(self) -> None:
        self._end_nursery()
        for link in self._links:
            self._drop(link)


def _setup_file(source: VocabularySource, options: ServiceOptions, memory: Memory) -> int:
    """A file with all that a nursery must know."""
    setup: dict[str, Any] = {
        "layout": asdict(memory.layout),
        "vocabulary": asdict(source),
        "budgets": asdict(options.worker_budgets),
    }
    fd = nameless_file("factorspec-setup")
    data = memoryview(json.dumps(setup).encode())
    while data:
        data = data[os.write(fd, data) :]
    return fd

"""The engine's end of one worker: its two sockets, what is asked of it, and how it ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import threading
from array import array
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic, perf_counter, sleep
from typing import Any

from factorspec_server.constraint_service.failures import WorkerLost, failure_from
from factorspec_server.constraint_service.memory import GUESSES, IS_IN_ORDER, PLANS, ROWS, Memory
from factorspec_server.constraint_service.messages import BrokenMessage, Unpacker, packed

_SEND_BYTES = 1 << 20
#: longest wait for room in the socket of messages, in seconds
_SEND_S = 10
#: specs that a worker is known to have
_MOST_SPECS = 512
#: longest wait for a killed process to be gone, in seconds
_GONE_S = 2.0
#: before it sleeps the step thread looks at the bells for so many seconds: it would need longer to wake up
_LOOKING_S = 0.00005
#: longest sleep between two looks, in seconds
_ASLEEP_S = 0.005
#: ``poll`` counts in milliseconds: what is left below this is slept through in naps of so many seconds
_POLLED_S, _NAP_S = 0.001, 0.00005

Answer = tuple[Any, bytes]


class Link:
    """One worker, from when it is asked for until it is dead. Methods may be called from any thread, but
    those about steps from the step thread alone.

    Attributes:
        number: of the worker's bells.
        nursery: number of the nursery that forks it.
        alive: nobody has seen it die.
        ready: it has said hello.
        pid: then, of its process.
        records: open ones.
        opening: those being opened.
        latest: serial of the last record that it was chosen for.
        step_socket, control_socket: the engine's ends.
        asked: the last step that was asked.
        began: when it was asked for, a moment of ``monotonic``.
    """

    def __init__(self, number: int, nursery: int, memory: Memory) -> None:
        self.number = number
        self.nursery = nursery
        self.alive = True
        self.ready = False
        self.pid: int | None = None
        self.records: set[int] = set()
        self.opening = 0
        self.latest = 0
        self.asked = 0
        self.began = monotonic()
        self._memory = memory
        #: the last step of each bell that was seen to have rung
        self._seen = [0, 0, 0]
        self.step_socket, step = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control_socket, control = socket.socketpair()
        self.ends = (step, control)
        self.step_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        self.control_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_S, 0))
        for which in (PLANS, ROWS, GUESSES):
            memory.ring(number, which, 0)
        memory.sleep(number, sleeps=False)
        self._unpacker = Unpacker()
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._ending = threading.Lock()
        self._pending: dict[int, Future[Answer]] = {}
        self._next = 0
        self._pid_fd: int | None = None
        self._specs: OrderedDict[bytes, None] = OrderedDict()

    @property
    def load(self) -> int:
        """Records, those being opened several times."""
        return len(self.records) + 4 * self.opening

    def knows(self, spec: bytes) -> bool:
        """True if the worker was given this document not long ago."""
        return spec in self._specs

    # messages

    def call(self, kind: str, body: bytes = b"", **fields: Any) -> Future[Answer]:
        """Send a message; the future gets the answer's value and body, or raises WorkerLost or the error."""
        future: Future[Answer] = Future()
        with self._lock:
            if not self.alive:
                raise WorkerLost
            self._next += 1
            number = self._next
            self._pending[number] = future
            if kind == "open":
                self._specs[fields.pop("spec")] = None
                while len(self._specs) > _MOST_SPECS:
                    self._specs.popitem(last=False)
        try:
            with self._sending:
                self.control_socket.sendall(packed({"kind": kind, "id": number, **fields}, body))
        except OSError as error:
            self.kill()
            raise WorkerLost from error
        return future

    def receive(self) -> bool:
        """Take what the worker has sent; False if it is gone. For the keeper's thread."""
        try:
            data = self.control_socket.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        try:
            for header, body in self._unpacker.feed(data):
                self._settle(header, body)
        except BrokenMessage:
            return False
        return bool(data)

    def _settle(self, header: dict[str, Any], body: bytes) -> None:
        if "hello" in header:
            with suppress(ProcessLookupError):
                self.pid = int(header["hello"])
                self._pid_fd = os.pidfd_open(self.pid)
            self.ready = True
            return
        with self._lock:
            future = self._pending.pop(header["id"], None)
        if future is None:
            return
        if "error" in header:
            future.set_exception(failure_from(header["error"]))
        else:
            future.set_result((header.get("value"), body))

    # the end

    def kill(self) -> None:
        """Kill the process and wait until it is gone: it writes to no block from then on."""
        with self._ending:
            fd = self._pid_fd
            if fd is not None:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
                waiting = select.poll()
                waiting.register(fd, select.POLLIN)
                waiting.poll(int(_GONE_S * 1000))
        self.alive = False
        for each in (self.step_socket, self.control_socket):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def bury(self) -> None:
        """Fail what is asked of a dead worker. For the keeper's thread."""
        self.kill()
        with self._lock:
            pending, self._pending = self._pending, {}
        for future in pending.values():
            future.set_exception(WorkerLost())
        self.control_socket.close()
        with self._ending:
            if self._pid_fd is not None:
                os.close(self._pid_fd)
                self._pid_fd = None

    # steps

    def send_packet(self, packet: array[int] | bytes) -> None:
        """Send to the main thread; a worker that has no room for it is taken for dead."""
        try:
            self.step_socket.send(packet, socket.MSG_DONTWAIT)
        except OSError:
            self.kill()

    def has(self, which: int, step: int) -> bool:
        """True if a step's bell has rung. If not, it is seen whether the worker is dead."""
        if self._seen[which] >= step or self.shows(which, step):
            return True
        self._hear()
        rung = self._seen[which] = self._memory.rung(self.number, which)
        return rung >= step

    def shows(self, which: int, step: int) -> bool:
        """True if that can be seen without a system call, which would give the interpreter's lock away."""
        if not IS_IN_ORDER:
            return False
        rung = self._seen[which] = self._memory.rung(self.number, which)
        return rung >= step

    def sleep(self, *, sleeps: bool) -> None:
        """The step thread sleeps until a bell rings, or no longer."""
        self._memory.sleep(self.number, sleeps=sleeps)

    def _hear(self) -> None:
        """Take the bells that have rung."""
        receive = self.step_socket.recv
        try:
            while self.alive:
                if not receive(64, socket.MSG_DONTWAIT):
                    self.alive = False
        except BlockingIOError:
            return
        except OSError:
            self.alive = False


def wait_for(links: dict[Link, int], which: int, until: float) -> list[Link]:
    """Wait until a bell of some worker's step has rung, or it is dead, or until a moment of ``monotonic``.

    Returns:
        These workers; none: the time is over.
    """
    looked = perf_counter() + min(_LOOKING_S, until - monotonic())
    while True:
        done = [link for link, step in links.items() if link.shows(which, step) or not link.alive]
        if done or not IS_IN_ORDER or perf_counter() >= looked:
            return done or _sleep(links, which, until)


def _sleep(links: dict[Link, int], which: int, until: float) -> list[Link]:
    waiting = select.poll()
    for link in links:
        waiting.register(link.step_socket, select.POLLIN)
        link.sleep(sleeps=True)
    try:
        while True:
            done = [link for link, step in links.items() if link.has(which, step) or not link.alive]
            left = until - monotonic()
            if done or left <= 0:
                return done
            if left < _POLLED_S:
                sleep(min(left, _NAP_S))
            else:
                waiting.poll(int(1000 * min(left, _ASLEEP_S)))
    finally:
        for link in links:
            link.sleep(sleeps=False)

"""A TCP proxy that drops requests by a fixed seed: before they arrive, in mid-answer, or after it.

It speaks as much HTTP/1.1 as an answer of known length takes: no chunks, no upgrades.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from random import Random
from typing import Any, Literal

Fate = Literal["before", "middle", "after"]
FATES: tuple[Fate, ...] = ("before", "middle", "after")
_TIMEOUT_S = 120.0


class UnsteadyLine:
    """Counts what passes between clients and the server at a port of this machine.

    Requests are told apart by their ``seed``.

    Attributes:
        reached: requests that the server took, by seed.
        delivered: answers that a client got whole, by seed.
        dropped: requests that the line dropped, by fate; "server" where the server dropped them.
        num_connections: that clients made.
    """

    def __init__(self, server_port: int, *, share: float, seed: int) -> None:
        self._server_port = server_port
        self._share = share
        self._random = Random(seed)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.reached: Counter[int] = Counter()
        self.delivered: Counter[int] = Counter()
        self.dropped: Counter[str] = Counter()
        self.num_connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            self.num_connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_TIMEOUT_S)
        with closing(client):
            try:
                while (request := _message(client)) is not None and self._passed_on(client, request):
                    pass
            except OSError:
                pass

    def _passed_on(self, client: socket.socket, request: bytes) -> bool:
        """Whether the connection is still good after a request."""
        seed, fate = _seed(request), self._fate() if request.startswith(b"POST") else None
        if fate == "before":
            return self._drop(client, fate)
        answer = self._asked(request)
        if answer is None:
            return self._drop(client, "server")
        with self._lock:
            self.reached[seed] += 1
        if fate == "middle":
            client.sendall(answer[: len(answer) // 2])
            return self._drop(client, fate)
        client.sendall(answer)
        with self._lock:
            self.delivered[seed] += 1
        return True if fate is None else self._drop(client, fate, abort=False)

    def _fate(self) -> Fate | None:
        with self._lock:
            is_dropped = self._random.random() < self._share
            return self._random.choice(FATES) if is_dropped else None

    def _drop(self, client: socket.socket, why: str, *, abort: bool = True) -> bool:
        with self._lock:
            self.dropped[why] += 1
        if abort:  # a reset instead of an orderly end
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def _asked(self, request: bytes) -> bytes | None:
        """The server's answer; None where there is no server, or it goes away."""
        try:
            with socket.create_connection(("127.0.0.1", self._server_port), timeout=_TIMEOUT_S) as server:
                server.sendall(request)
                return _message(server)
        except OSError:
            return None


@contextmanager
def unsteady_line(server_port: int, *, share: float, seed: int) -> Iterator[UnsteadyLine]:
    """A line to the server, for as long as the block runs."""
    with closing(UnsteadyLine(server_port, share=share, seed=seed)) as line:
        yield line


def _message(source: socket.socket) -> bytes | None:
    """A whole HTTP message; None where the connection ends before it does."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := source.recv(65536)):
            return None
        data += more
    head = data[: data.index(b"\r\n\r\n") + 4]
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = len(head) + (int(lengths[0].split(b":")[1]) if lengths else 0)
    while len(data) < size:
        if not (more := source.recv(65536)):
            return None
        data += more
    return data


def _seed(request: bytes) -> int:
    """The seed that a request names; -1 where it names none."""
    body = request[request.index(b"\r\n\r\n") + 4 :]
    asked: Any = json.loads(body) if body else {}
    return int(asked.get("seed", -1))

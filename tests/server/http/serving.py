"""A real server on a free port of this machine, with a model without weights."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import uvicorn

from factorspec_sdk.testing import byte_vocabulary
from factorspec_sdk.testing.scripted_model import ScriptedBatch, ScriptedModel
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.scheduler import EngineThread
from factorspec_server.http.app import create_app
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings

DEADLINE_S = 20.0

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "first": {"enum": ["Oslo", "Rome", "Köln", 'C:\\"x"']},
        "second": {"enum": ["Oslo", "Rome", "Köln", 'C:\\"x"']},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "note": {"type": "string", "maxLength": 12},
    },
    "required": ["first", "second", "days", "note"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [
            {"name": "two cities", "kind": "all_different", "over": ["$.first", "$.second"]},
        ],
    },
}


class ByteTemplate:
    """One byte a token; roles in angle brackets."""

    def encode_chat(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        return tuple("".join(f"<{m['role']}>{m['content']}" for m in messages).encode())


class SteppedModel(ScriptedModel):
    """A scripted model whose every step waits for ``gate``; the gate is open unless a test closes it.

    pause_after: a number of steps after which the gate closes by itself.
    """

    def __init__(self) -> None:
        vocabulary = byte_canonical().vocabulary
        super().__init__(vocabulary.logit_width, end_ids=vocabulary.end_ids, max_positions=1 << 16)
        self.gate = threading.Event()
        self.gate.set()
        self.pause_after: int | None = None
        self._pausing = threading.Lock()

    def pause(self) -> None:
        """Close the gate, if it is time."""
        with self._pausing:
            if self.forward_passes == self.pause_after:
                self.pause_after = None
                self.gate.clear()

    def go_on(self) -> None:
        """Open the gate for good, whether it has closed by itself already or not."""
        with self._pausing:
            self.pause_after = None
            self.gate.set()

    def open(self) -> SteppedBatch:
        return SteppedBatch(self)


class SteppedBatch(ScriptedBatch):
    """Rows of a ``SteppedModel``."""

    def extend(self, *arguments: Any) -> Any:
        model = self._model
        assert isinstance(model, SteppedModel)
        model.pause()
        assert model.gate.wait(DEADLINE_S)
        return super().extend(*arguments)


@dataclass(frozen=True)
class Server:
    """A running server.

    url: with ``/v1``. root: without. model, engine: what stands behind it.
    """

    root: str
    model: SteppedModel
    engine: EngineThread

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @property
    def port(self) -> int:
        return int(self.root.rsplit(":", 1)[1])

    def is_idle(self) -> bool:
        return self.engine.num_running == 0 and self.engine.num_waiting == 0


def served_model(model: SteppedModel, *, max_batch: int = 8, max_waiting: int = 64) -> ServedModel:
    engine = EngineThread(model, max_batch=max_batch, max_waiting=max_waiting)
    return ServedModel(engine, ByteTemplate(), byte_canonical())


@cache
def byte_canonical() -> Canonical:
    return Canonical(byte_vocabulary())


@contextmanager
def serving(settings: ServerSettings | None = None, **engine: int) -> Iterator[Server]:
    model = SteppedModel()
    served = served_model(model, **engine)
    with running(create_app(served, settings)) as root:
        yield Server(root, model, served.engine)
        model.go_on()


@contextmanager
def running(app: Any, *, port: int = 0, is_patient: bool = True) -> Iterator[str]:
    """Serve any ASGI app; yields its root address.

    Args:
        app: what to serve.
        port: 0 takes a free one.
        is_patient: at the end, requests under way are finished; else their connections break.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        server.force_exit = not is_patient
        thread.join(DEADLINE_S)
        listener.close()
    assert not thread.is_alive()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for another thread; fails past the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "not within the deadline"
        time.sleep(0.005)


def body(**fields: Any) -> dict[str, Any]:
    """A request for a trip; ``schema=None`` asks for an ordinary chat."""
    schema = fields.pop("schema", TRIP)
    wanted: dict[str, Any] = {
        "model": "scripted",
        "messages": [{"role": "user", "content": "A trip, please."}],
    }
    if schema is not None:
        wanted["response_format"] = {"type": "json_schema", "json_schema": {"name": "trip", "schema": schema}}
    return wanted | fields

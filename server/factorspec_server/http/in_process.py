"""The embedded engine without HTTP: what the SDK's client calls in its own process."""

from __future__ import annotations

import time
from collections.abc import Generator
from queue import Empty, SimpleQueue
from typing import Self

from factorspec_sdk.errors import Incomplete, JsonValue
from factorspec_server.engines import Event, cancel, load_model
from factorspec_server.engines.load import DtypeName
from factorspec_server.http.chat_job import ChatJob
from factorspec_server.http.chat_service import ChatService
from factorspec_server.http.event_stream import AnswerChunks
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import DraftingName, ServerSettings


class InProcessEngine:
    """Answers requests in OpenAI's form; raises what a server would answer with. Safe from any thread."""

    def __init__(self, served: ServedModel, settings: ServerSettings | None = None) -> None:
        """Starts the engine; ``close`` stops it."""
        self._service = ChatService(served, settings or ServerSettings())
        served.engine.start()

    @classmethod
    def load(
        cls,
        model: str,
        *,
        dtype: DtypeName | None = None,
        device: str | None = None,
        drafting: DraftingName = "auto",
        width: int | None = None,
        progress: bool = True,
        max_batch: int = 8,
    ) -> Self:
        """An engine for a model by name or directory.

        See ``load_model`` for arguments and errors, ``ServerSettings`` for ``drafting`` and ``width``.
        """
        settings = ServerSettings(drafting=drafting, width=width)
        loaded = load_model(model, dtype=dtype, device=device, progress=progress)
        served = ServedModel.of(loaded, max_batch=max_batch, aliases=(model,), drafting=drafting, width=width)
        return cls(served, settings)

    def complete(self, body: dict[str, JsonValue], *, timeout_s: float) -> dict[str, JsonValue]:
        """The answer's body.

        Raises:
            FactorspecError: as the server would answer; places in a document are pointers into it.
            Incomplete: there was no answer within ``timeout_s`` seconds.
        """
        job = self._service.prepare(self._service.read(body))
        try:
            completions = self._service.served.engine.generate(job.requests, timeout_s=timeout_s)
        except TimeoutError as error:
            raise _too_late(job, timeout_s) from error
        return self._service.answer(job, completions)

    def stream(self, body: dict[str, JsonValue], *, timeout_s: float) -> Generator[dict[str, JsonValue]]:
        """The answer's chunks, as a server streams them. Closing it cancels the request.

        Raises as ``complete``.
        """
        job = self._service.prepare(self._service.read(body))
        chunks, events = AnswerChunks(self._service, job), SimpleQueue[Event]()
        deadline_s = time.monotonic() + timeout_s
        try:
            self._service.served.engine.watch(job.requests, events.put)
            while not chunks.is_complete:
                yield from chunks.of(events.get(timeout=max(0.0, deadline_s - time.monotonic())))
        except Empty as error:
            raise _too_late(job, timeout_s) from error
        finally:
            cancel(job.requests)

    def model_name(self, *, timeout_s: float) -> str:
        """The name of the served model."""
        return self._service.served.name

    def close(self) -> None:
        """Finish what was taken and stop the engine."""
        self._service.served.engine.close()


def _too_late(job: ChatJob, timeout_s: float) -> Incomplete:
    session = job.choices[0].session
    return Incomplete(f"not complete after {timeout_s:g} s", partial="" if session is None else session.text)

"""The OpenAI-compatible app of the embedded engine.

::

    POST /v1/chat/completions    ordinary chats, and records by response_format json_schema
    GET  /v1/models              the model, with what is enforced
    GET  /health                 200 while requests are taken
    GET  /metrics                Prometheus
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from factorspec_sdk.errors import (
    DocumentError,
    FactorspecError,
    JsonValue,
    ModelNotFound,
    Overloaded,
    Problem,
)
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.body_reader import read_body
from factorspec_server.http.capabilities import capabilities
from factorspec_server.http.chat_job import ChatJob
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.chat_service import ChatService
from factorspec_server.http.connection import EventStream, while_connected
from factorspec_server.http.error_body import (
    DEFECT,
    defect_body,
    is_operators,
    plain_error,
    status_of,
)
from factorspec_server.http.event_stream import answer_events
from factorspec_server.http.gate import Gate
from factorspec_server.http.json_body import read_json_object
from factorspec_server.http.kept import SessionService
from factorspec_server.http.metrics import Metrics
from factorspec_server.http.refused_chat import refused_body
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings

SPEC_HEADER = "x-factorspec-spec"

T = TypeVar("T")

_logger = logging.getLogger(__name__)


def create_app(
    served: ServedModel,
    settings: ServerSettings | None = None,
    housekeeping: Housekeeping | None = None,
    service: SessionService | None = None,
) -> FastAPI:
    """The app for one model. Its engine starts and stops with the app, once; ``service`` stops behind it."""
    settings = settings or ServerSettings()
    endpoints = _Endpoints(ChatService(served, settings, housekeeping, service))
    # no pages that load scripts from elsewhere
    app = FastAPI(
        title="FactorSpec", lifespan=endpoints.lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.add_api_route("/v1/chat/completions", endpoints.chat_completions, methods=["POST"])
    app.add_api_route("/v1/models", endpoints.models, methods=["GET"])
    app.add_api_route("/v1/models/{name:path}", endpoints.model, methods=["GET"])
    app.add_api_route("/health", endpoints.health, methods=["GET"])
    app.add_api_route("/metrics", endpoints.metrics_page, methods=["GET"])
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(Gate, settings=settings)
    return app


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse(plain_error(message, code="not_found"), error.status_code, error.headers)


class _Endpoints:
    """The routes and what they share."""

    def __init__(self, service: ChatService) -> None:
        budgets = service.settings.budgets
        self._service = service
        self._budgets = budgets
        self._metrics = Metrics(service)
        self._started = int(time.time())
        self._num_preparing = 0
        self._counting = threading.Lock()
        # most of these wait, for a compiler here or elsewhere: nobody waits for another request's compiling
        self._most_preparing = budgets.compile_workers + budgets.compile_waiting
        self._pool = ThreadPoolExecutor(self._most_preparing, thread_name_prefix="factorspec-prepare")
        self._is_serving = False

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Start the engine; at the end let it finish what it has taken."""
        engine, service = self._service.served.engine, self._service.service
        if service is not None:
            engine.keep_with(service)
        engine.start()
        self._is_serving = True
        yield
        self._is_serving = False
        await asyncio.to_thread(engine.close)
        self._pool.shutdown(wait=False, cancel_futures=True)
        if service is not None:
            await asyncio.to_thread(service.close)

    async def models(self) -> Response:
        """The list of models: the one that is served."""
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, name: str) -> Response:
        """One model."""
        try:
            self._service.check_model(name)
        except ModelNotFound as error:
            return self._refused(error)
        return JSONResponse(self._model())

    def _model(self) -> dict[str, JsonValue]:
        served = self._service.served
        return {
            "id": served.name,
            "object": "model",
            "created": self._started,
            "owned_by": "factorspec",
            "factorspec": capabilities(served, self._service.settings, self._service.service),
        }

    async def health(self) -> Response:
        """200 while requests are taken, 503 otherwise."""
        served = self._service.served
        waiting, running = served.engine.num_waiting, served.engine.num_running
        facts = {"model": served.name, "waiting": waiting, "running": running}
        if self._is_serving:
            return JSONResponse({"status": "ok", **facts})
        return JSONResponse({"status": "closing", **facts}, 503)

    async def metrics_page(self) -> Response:
        """Counters in Prometheus' text form."""
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def chat_completions(self, request: Request) -> Response:
        """One completion, whole or streamed."""
        started = time.perf_counter()
        try:
            body = await read_body(request, self._budgets)
            return await while_connected(request.receive, self._serve(request, body, started))
        except FactorspecError as error:
            return self._refused(error)
        except ClientDisconnect:
            self._metrics.count_outcome("client_disconnected")
            return Response(status_code=499)  # nobody reads it

    async def _serve(self, request: Request, body: bytes, started: float) -> Response:
        chat: ChatRequest | None = None
        try:
            _check_content_type(request)
            chat = await self._off_loop(lambda: self._service.read(read_json_object(body)))
            asked = chat
            job = await self._off_loop(lambda: self._service.prepare(asked), ChatJob.close)
            return await self._answer(job, started)
        except FactorspecError as error:
            return self._refused(error, chat)
        except Exception:
            _logger.exception("a request failed")
            self._metrics.count_outcome(DEFECT)
            return JSONResponse(defect_body(), 500)

    async def _answer(self, job: ChatJob, started: float) -> Response:
        headers = {} if job.spec_hash is None else {SPEC_HEADER: job.spec_hash}
        tally = self._metrics.tally(job, started)
        if job.chat.stream:
            events = answer_events(self._service, job, tally)
            # the first event waits for the engine, so that what fails before it has its own status
            return EventStream(await anext(events), events, headers=headers, dropped=tally.dropped)
        try:
            completions = await self._service.served.engine.submit(job.requests)
            if all(completion.error is None for completion in completions):
                for index, completion in enumerate(completions):
                    await self._service.finish(job, index, completion)
            body = self._service.answer(job, completions)
        finally:
            job.close()
        tally.completed(completions)
        return JSONResponse(body, headers=headers)

    async def _off_loop(self, work: Callable[[], T], drop: Callable[[T], object] | None = None) -> T:
        """The result of blocking work, done on one of few threads.

        Args:
            work: what to do.
            drop: gets the result where nobody waits for it any more.

        Raises:
            Overloaded: too many requests wait for that already.
        """
        if self._num_preparing >= self._most_preparing:
            raise Overloaded(f"{self._num_preparing} requests are being prepared already; try again later")
        with self._counting:
            self._num_preparing += 1
        done = self._pool.submit(work)
        done.add_done_callback(self._prepared)
        try:
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            if drop is not None:
                done.add_done_callback(partial(_dropped, drop))
            raise

    def _prepared(self, done: Future[Any]) -> None:
        """A thread is free again, whether or not anybody waited for it."""
        with self._counting:
            self._num_preparing -= 1

    def _refused(self, error: FactorspecError, chat: ChatRequest | None = None) -> Response:
        status = status_of(error)
        if is_operators(error):
            _logger.error("a request failed: %s", error, exc_info=error)
        self._metrics.count_outcome(error.code)
        headers = {"retry-after": "1"} if status == 503 else None
        return JSONResponse(refused_body(error, chat), status, headers)


def _dropped(drop: Callable[[T], object], done: Future[T]) -> None:
    if not done.cancelled() and done.exception() is None:
        drop(done.result())


def _check_content_type(request: Request) -> None:
    """Refuse what web pages of other origins may send without asking first.

    Raises:
        DocumentError: the body is not declared as JSON, or is compressed.
    """
    given = request.headers.get("content-type", "")
    if given.split(";")[0].strip().lower() != "application/json":
        problem = Problem("", "the Content-Type must be application/json", repr(given))
        raise DocumentError("the request cannot be read", [problem])
    encoded = request.headers.get("content-encoding", "identity")
    if encoded.strip().lower() not in ("", "identity"):
        problem = Problem("", "the body must not be compressed", repr(encoded), "leave Content-Encoding out")
        raise DocumentError("the request cannot be read", [problem])

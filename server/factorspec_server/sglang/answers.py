"""Answers over HTTP: requests with relations get the echo of their spec, a report, and errors in our form.

ASGI middleware around SGLang's own app, which stays as it is; all other requests pass through untouched::

    request ─► read_asked ─► parse_document ─► SGLang's app ─► answer + {"factorspec": {…}}
                  │               │                 │
                 400             400         the scheduler's refusals, in our form

Answers that may be more than one record, as those to requests with tools, are ``answer_service.py``'s.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_sdk.wire import Spec, parse_document
from factorspec_server.http.chat_request import SCHEMA_POINTER
from factorspec_server.http.error_body import defect_body, error_body, status_of
from factorspec_server.http.gate import Gate
from factorspec_server.http.route import route_of
from factorspec_server.settings import Budgets, ServerSettings
from factorspec_server.sglang.answer_asked import RefusedRequest
from factorspec_server.sglang.answer_service import AnswerService, refused_answer
from factorspec_server.sglang.asked import Asked, read_asked
from factorspec_server.sglang.deaf_paths import DEAF_PATHS, refusal_at
from factorspec_server.sglang.finished import Choice, vendor_part
from factorspec_server.sglang.launch_flags import HOSTS_VARIABLE, KEY_VARIABLE
from factorspec_server.sglang.model_list import ModelList
from factorspec_server.sglang.refusals import Refusal
from factorspec_server.sglang.reports import ADDRESS_VARIABLE, ReportBoard
from factorspec_server.sglang.streamed_answer import StreamedAnswer
from factorspec_server.sglang.whole_answer import VendorPart, whole_answer

SPEC_HEADER = b"x-factorspec-spec"

#: the second is SGLang's name of the same for SageMaker
_PATHS = frozenset({"/v1/chat/completions", "/invocations"})
_MAX_SPECS = 256

T = TypeVar("T")

_logger = logging.getLogger(__name__)


def attach(app: Any) -> None:
    """Put the middleware around SGLang's app, once, before it is served.

    Where ``factorspec serve`` started it, host names and the API key are checked first (``http/gate.py``).
    """
    if any(each.cls is Answers for each in app.user_middleware):
        return
    board = ReportBoard()
    os.environ[ADDRESS_VARIABLE] = board.address  # the schedulers start later and inherit it
    app.add_middleware(Answers, board=board)
    app.add_middleware(ModelList)
    hosts, key = os.environ.get(HOSTS_VARIABLE), os.environ.pop(KEY_VARIABLE, None)
    if hosts or key:
        names = tuple(hosts.split(",")) if hosts else None
        app.add_middleware(Gate, settings=ServerSettings(api_key=key, allowed_hosts=names))


class Answers:
    """The middleware. One for each process that serves."""

    def __init__(self, app: ASGIApp, board: ReportBoard, budgets: Budgets | None = None) -> None:
        self._app = app
        self._board = board
        self._budgets = budgets or Budgets()
        workers = self._budgets.compile_workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="factorspec-read")
        self._specs = _Specs()
        self._answers = AnswerService(app, board, self._specs.of, self._budgets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, self._watching(scope, send))
        route = route_of(scope) if scope["type"] == "http" and scope["method"] == "POST" else None
        if route not in _PATHS and route not in DEAF_PATHS:
            return await self._app(scope, receive, send)
        body, before = await _read(receive, self._budgets.body_bytes)
        if body is None:
            return await self._app(scope, _replay(before, receive), send)
        if route in DEAF_PATHS:
            refused = refusal_at(route, body)
            return await (refused or self._app)(scope, _replay(before, receive), send)
        try:
            found = await self._off_loop(partial(self._answers.read, body, scope.get("app")))
        except RefusedRequest as refused:
            return await refused_answer(refused)(scope, receive, send)
        if isinstance(found, tuple):
            return await self._answers.serve(found, scope, receive, send, self._off_loop)
        if found is not body:
            scope, before = _with_length(scope, len(found)), [_message_of(found)]
        pointer = ""
        try:
            asked = await self._off_loop(partial(read_asked, found, most_choices=self._budgets.choices))
            if asked is None:
                return await self._app(scope, _replay(before, receive), send)
            pointer = SCHEMA_POINTER
            spec = await self._off_loop(partial(self._specs.of, asked.document))
        except FactorspecError as error:
            answer = JSONResponse(error_body(error, schema_pointer=pointer), status_of(error))
            return await answer(scope, receive, send)
        return await self._serve(asked, spec, scope, receive, send)

    def _watching(self, scope: Scope, send: Send) -> Send:
        """What the server is sent about its life goes through, and is noted where it has started."""

        async def sent(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._answers.started(scope["app"])
            await send(message)

        return sent

    async def _serve(self, asked: Asked, spec: Spec, scope: Scope, receive: Receive, send: Send) -> None:
        async def vendor(choices: list[Choice], usage: dict[str, Any]) -> dict[str, JsonValue]:
            found = await self._board.take(asked.request_id, asked.num_choices)
            return await self._off_loop(partial(vendor_part, asked, spec, choices, usage, found))

        sending = _Sending(asked, spec, send, vendor)
        scope = _with_length(scope, len(asked.body))
        try:
            await self._app(scope, _replay([_message_of(asked.body)], receive), sending)
        finally:
            self._board.forget(asked.request_id)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


class _Specs:
    """Documents that were read lately."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Spec] = OrderedDict()
        self._lock = Lock()

    def of(self, document: dict[str, JsonValue]) -> Spec:
        """The spec of a document. Raises DocumentError as ``parse_document``."""
        key = sha256(json.dumps(document).encode()).digest()
        with self._lock:
            spec = self._kept.pop(key, None)
            if spec is not None:
                self._kept[key] = spec
                return spec
        spec = parse_document(document)
        with self._lock:
            self._kept[key] = spec
            while len(self._kept) > _MAX_SPECS:
                self._kept.popitem(last=False)
        return spec


class _Sending:
    """Takes what SGLang sends, and sends what goes out.

    The start waits for the first part of the body: an error has a status of its own until then.
    """

    def __init__(self, asked: Asked, spec: Spec, send: Send, vendor: VendorPart) -> None:
        self._asked = asked
        self._spec = spec
        self._send = send
        self._vendor = vendor
        self._events = StreamedAnswer(asked, vendor)
        self._start: Message | None = None
        self._body = b""
        self._has_failed = False

    async def __call__(self, message: Message) -> None:
        """One message of SGLang's."""
        if message["type"] == "http.response.start":
            self._start = message
        elif message["type"] != "http.response.body":
            await self._send(message)
        elif self._is_stream:
            await self._stream(message)
        else:
            await self._whole(message)

    @property
    def _is_stream(self) -> bool:
        headers = Headers(raw=[] if self._start is None else self._start["headers"])
        return bool(headers.get("content-type", "").startswith("text/event-stream"))

    async def _whole(self, message: Message) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        assert self._start is not None
        status = self._start["status"]
        try:
            body = await _guarded(whole_answer(self._asked, status, self._body, self._vendor))
        except Refusal as refusal:
            await self._refuse(refusal)
            return
        await self._begin(len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _stream(self, message: Message) -> None:
        if self._has_failed:
            return
        data, more = message.get("body", b""), message.get("more_body", False)
        try:
            body = await _guarded(self._events.feed(data))
        except Refusal as refusal:
            await self._fail(refusal)
            return
        if body or not more:
            await self._begin()
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _fail(self, refusal: Refusal) -> None:
        """An error in a stream: with a status of its own if nothing has gone out, else as an event."""
        self._has_failed = True
        if self._start is not None and "sent" not in self._start:
            await self._refuse(refusal)
            return
        body = f"data: {json.dumps(refusal.body)}\n\ndata: [DONE]\n\n".encode()
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _begin(self, length: int | None = None) -> None:
        """Send the start, if it has not gone out."""
        start = self._start
        assert start is not None
        if "sent" in start:
            return
        headers = [pair for pair in start["headers"] if pair[0].lower() != b"content-length"]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        if start["status"] == 200:
            headers.append((SPEC_HEADER, self._spec.hash.encode()))
        self._start = {**start, "sent": True}
        await self._send({**start, "headers": headers})

    async def _refuse(self, refusal: Refusal) -> None:
        self._has_failed = True
        answer = JSONResponse(refusal.body, refusal.status)
        await self._send(
            {"type": "http.response.start", "status": refusal.status, "headers": answer.raw_headers}
        )
        await self._send({"type": "http.response.body", "body": answer.body})


async def _guarded(work: Awaitable[bytes]) -> bytes:
    """What some work gives; where it fails on an answer as none was foreseen, that is told as an error."""
    try:
        return await work
    except (Refusal, OSError):  # OSError: the client is gone
        raise
    except Exception as error:
        _logger.exception("an answer cannot be read")
        raise Refusal(500, defect_body()) from error


async def _read(receive: Receive, most: int) -> tuple[bytes | None, list[Message]]:
    """A request's body, None if it is longer than ``most`` or the client went away; and what was received."""
    messages: list[Message] = []
    parts: list[bytes] = []
    while True:
        message = await receive()
        messages.append(message)
        if message["type"] != "http.request":
            return None, messages
        parts.append(message.get("body", b""))
        if sum(map(len, parts)) > most:
            return None, messages
        if not message.get("more_body"):
            return b"".join(parts), messages


def _replay(messages: list[Message], receive: Receive) -> Receive:
    """A ``receive`` that gives what was received before, and then goes on."""
    waiting = iter(messages)

    async def received() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return received


def _message_of(body: bytes) -> Message:
    return {"type": "http.request", "body": body, "more_body": False}


def _with_length(scope: Scope, length: int) -> Scope:
    """The request's scope with another length of its body."""
    headers = [pair for pair in scope["headers"] if pair[0].lower() != b"content-length"]
    return {**scope, "headers": [*headers, (b"content-length", str(length).encode())]}

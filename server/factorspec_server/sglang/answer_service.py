"""Serves requests whose answer may be more than one record: ASGI, beside SGLang's own chat completions.

::

    request ─► read_answer_asked ─► prompt ─► SGLang's /generate ─► tokens ─► answer + {"factorspec": {…}}
                      │                │               │
                     400              400      the scheduler's refusals, in our form
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_sdk.wire import Spec
from factorspec_server.http.error_body import defect_body, status_of
from factorspec_server.http.refused_chat import refused_body
from factorspec_server.settings import Budgets
from factorspec_server.sglang import compat
from factorspec_server.sglang.answer_asked import (
    AnswerAsked,
    RefusedRequest,
    is_ours,
    offers_tools,
    read_answer_asked,
    read_body,
    tools_have_relations,
    with_messages,
)
from factorspec_server.sglang.answer_chunks import AnswerChunks
from factorspec_server.sglang.generate_request import Generation, generation_of
from factorspec_server.sglang.refusals import Refusal
from factorspec_server.sglang.reports import ReportBoard
from factorspec_server.sglang.served_chat import ServedChat

_PATH = "/generate"
_SPEC_HEADER = b"x-factorspec-spec"
_END, _DATA = b"\n\n", b"data: "

T = TypeVar("T")
SpecOf = Callable[[dict[str, JsonValue]], Spec]
OffLoop = Callable[[Callable[[], T]], Awaitable[T]]

_logger = logging.getLogger(__name__)


class AnswerService:
    """See above. One for each process that serves."""

    def __init__(self, app: ASGIApp, board: ReportBoard, spec_of: SpecOf, budgets: Budgets) -> None:
        """
        Args:
            app: SGLang's own.
            board: where reports come.
            spec_of: parses documents, and keeps what it read.
            budgets: of requests.
        """
        self._app = app
        self._board = board
        self._spec_of = spec_of
        self._budgets = budgets
        self._lock = threading.Lock()
        self._served: ServedChat | None = None

    def started(self, app: Any) -> None:
        """SGLang's app serves from now on: get ready meanwhile."""
        threading.Thread(target=self._prepare, args=(app,), name="factorspec-chat", daemon=True).start()

    def _prepare(self, app: Any) -> None:
        try:
            self._served_by(app).prepare()
        except Exception as error:  # noqa: BLE001 - requests that need it are told
            _logger.warning("tools with relations cannot be served: %s", error)

    def read(self, body: bytes, app: Any) -> tuple[AnswerAsked, Generation] | bytes:
        """The request that a body holds, and what SGLang is asked for; else the body to go on with.

        Takes as long as rendering a prompt, the first time as making the tokenizer's tables.

        Raises:
            RefusedRequest: it is refused.
        """
        request = read_body(body)
        if request is None:
            return body
        if not is_ours(request):
            is_told = (
                bool(request.get("tools")) and not offers_tools(request) and tools_have_relations(request)
            )
            return self._without_tools(body, request, app) if is_told else body
        asked: AnswerAsked | None = None
        try:
            served = self._served_by(app)
            asked = self._asked(request, served)
            return asked, generation_of(asked, served, self._budgets)
        except FactorspecError as error:
            raise RefusedRequest(error, None if asked is None else asked.chat) from error

    def _asked(self, request: dict[str, JsonValue], served: ServedChat) -> AnswerAsked:
        most, num_tokens = self._budgets.choices, served.words.num_tokens
        return read_answer_asked(request, self._spec_of, most_choices=most, num_tokens=num_tokens)

    def _without_tools(self, body: bytes, request: dict[str, JsonValue], app: Any) -> bytes:
        """No tool may be called: SGLang's own affair, but for earlier calls that its template drops."""
        try:
            messages = self._served_by(app).plain_messages(request.get("messages"))
        except FactorspecError:
            return body  # SGLang reads more than we do, or says itself what is wrong
        return body if messages is None else with_messages(request, messages)

    def _served_by(self, app: Any) -> ServedChat:
        with self._lock:
            if self._served is None:
                self._served = ServedChat(compat.chat_handler(app))
            return self._served

    async def serve(
        self,
        found: tuple[AnswerAsked, Generation],
        scope: Scope,
        receive: Receive,
        send: Send,
        off_loop: OffLoop[AnswerChunks],
    ) -> None:
        """Serve a request that ``read`` gave."""
        asked, generation = found
        served = self._served
        assert served is not None

        async def take(request_id: str, deadline_s: float) -> Any:
            return await self._board.take(request_id, 1, deadline_s=deadline_s)

        chunks = await off_loop(partial(AnswerChunks, asked, served, generation, take))
        sending = _Sending(asked, chunks, send)
        length = str(len(generation.body)).encode()
        headers = [pair for pair in scope["headers"] if pair[0].lower() not in _OWN_HEADERS]
        inner = {
            **scope,
            "path": scope.get("root_path", "") + _PATH,
            "raw_path": _PATH.encode(),
            "headers": [*headers, (b"content-length", length), (b"content-type", b"application/json")],
        }
        try:
            await self._app(inner, _given(generation.body, receive), sending)
            await sending.end()
        finally:
            for request_id in generation.ids:
                self._board.forget(request_id)


_OWN_HEADERS = frozenset({b"content-length", b"content-type", b"transfer-encoding"})


def refused_answer(refused: RefusedRequest) -> JSONResponse:
    """The answer to a request that is refused."""
    return JSONResponse(refused_body(refused.error, refused.chat), status_of(refused.error))


def _given(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives a body, and then goes on."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received


class _Sending:
    """Takes what ``/generate`` sends, and sends the answer.

    The start waits for the first chunk: an error has a status of its own until then.
    """

    def __init__(self, asked: AnswerAsked, chunks: AnswerChunks, send: Send) -> None:
        self._asked = asked
        self._chunks = chunks
        self._send = send
        self._status = 0
        self._is_stream = False
        self._body = bytearray()
        self._has_begun = False
        self._is_over = False

    async def __call__(self, message: Message) -> None:
        """One message of SGLang's."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
            self._is_stream = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if self._is_stream and not self._is_over:
                await self._guarded(self._events)
            elif not self._is_stream and not message.get("more_body"):
                await self._guarded(self._whole)

    async def end(self) -> None:
        """SGLang sends no more."""
        if not self._is_over:
            await self._fail(Refusal(500, defect_body()))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Refusal as refusal:
            await self._fail(refusal)
        except (OSError, asyncio.CancelledError):
            raise  # the client is gone
        except Exception:
            _logger.exception("an answer cannot be read")
            await self._fail(Refusal(500, defect_body()))

    async def _whole(self) -> None:
        told = json.loads(bytes(self._body))
        if self._status != 200:
            raise self._chunks.refused(self._status, told)
        body = json.dumps(await self._chunks.whole(told), ensure_ascii=False).encode()
        await self._begin(b"application/json", len(body))
        await self._finish(body)

    async def _events(self) -> None:
        *events, rest = bytes(self._body).split(_END)
        self._body[:] = rest
        for event in events:
            data = event.removeprefix(_DATA).strip()
            if not event.startswith(_DATA) or data == b"[DONE]":
                continue
            told = json.loads(data)
            if "error" in told:
                code = told["error"].get("code") if isinstance(told["error"], dict) else None
                raise self._chunks.refused(code if isinstance(code, int) else 500, told)
            parts = [_event(chunk) for chunk in await self._chunks.chunks(told)]
            if self._chunks.is_complete:
                await self._begin(b"text/event-stream")
                await self._finish(b"".join([*parts, b"data: [DONE]\n\n"]))
                return
            if parts:
                await self._begin(b"text/event-stream")
                await self._send({"type": "http.response.body", "body": b"".join(parts), "more_body": True})

    async def _begin(self, kind: bytes, length: int | None = None) -> None:
        """Send the start, if it has not gone out."""
        if self._has_begun:
            return
        self._has_begun = True
        headers = [(b"content-type", kind)]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        if self._asked.record is not None:
            headers.append((_SPEC_HEADER, self._asked.record.hash.encode()))
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _finish(self, body: bytes) -> None:
        self._is_over = True
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _fail(self, refusal: Refusal) -> None:
        """An error: with a status of its own if nothing has gone out, else as an event."""
        if self._has_begun:
            await self._finish(_event(refusal.body) + b"data: [DONE]\n\n")
            return
        self._is_over = self._has_begun = True
        answer = JSONResponse(refusal.body, refusal.status)
        start: Message = {"type": "http.response.start", "status": refusal.status}
        await self._send({**start, "headers": answer.raw_headers})
        await self._send({"type": "http.response.body", "body": answer.body})


def _event(chunk: dict[str, JsonValue]) -> bytes:
    return _DATA + json.dumps(chunk, ensure_ascii=False).encode() + _END

"""An app that answers as SGLang does, behind the middleware."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from factorspec_server.settings import Budgets
from factorspec_server.sglang.answers import Answers
from factorspec_server.sglang.deaf_paths import DEAF_PATHS
from factorspec_server.sglang.reports import Report, ReportBoard
from tests.server.http.serving import TRIP

Post = Callable[..., httpx.Response]

RECORD = {"first": "Oslo", "second": "Rome", "days": 3, "note": "x"}
TEXT = json.dumps(RECORD)
AT = "/response_format/json_schema/schema"
COUNTED: Report = {"exact": True, "tokens": 9, "certificates": [], "digest": "", "error": None}


def asked(**fields: Any) -> dict[str, Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": "trip", "schema": TRIP}}
    return {"model": "m", "messages": [{"role": "user", "content": "Go"}], "response_format": wanted} | fields


class Upstream:
    """What SGLang's app does: notes the request, lets the scheduler report, and answers."""

    def __init__(self, board: ReportBoard) -> None:
        self.board = board
        self.seen: dict[str, Any] = {}
        self.texts = [TEXT]
        self.reason = "stop"
        self.report: Report | None = dict(COUNTED)
        self.error: JSONResponse | None = None
        self.events: list[str] | None = None

    async def chat(self, request: Request) -> Response:
        self.seen = await request.json()
        schema = self.seen.get("response_format", {}).get("json_schema", {})
        options = schema.get("schema", {}).get("x-factorspec-request") if isinstance(schema, dict) else None
        if options is not None and self.report is not None:
            for _ in self.texts:
                self.board._note(options["id"], dict(self.report))
        if self.error is not None:
            return self.error
        if self.seen.get("stream"):
            return StreamingResponse(self._stream(), media_type="text/event-stream")
        choices = [
            {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": self.reason}
            for at, text in enumerate(self.texts)
        ]
        usage = {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15}
        return JSONResponse({"id": "1", "choices": choices, "usage": usage})

    async def _stream(self) -> AsyncIterator[str]:
        for event in self._events() if self.events is None else self.events:
            for piece in (event[:7], event[7:]):  # events may come in parts
                yield piece

    def _events(self) -> Iterator[str]:
        for piece in (TEXT[:5], TEXT[5:]):
            yield event(choices=[{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        yield event(choices=[{"index": 0, "delta": {}, "finish_reason": self.reason}])
        yield event(choices=[], usage={"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15})
        yield "data: [DONE]\n\n"


def event(**chunk: Any) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def poster(upstream: Upstream) -> Post:
    """Sends a request to the app."""
    paths = ("/v1/chat/completions", "/invocations", *DEAF_PATHS)
    app = Starlette(routes=[Route(path, upstream.chat, methods=["POST"]) for path in paths])
    app.add_middleware(Answers, board=upstream.board, budgets=Budgets(body_bytes=100_000))

    def send(content: Any, path: str = "/v1/chat/completions", root_path: str = "") -> httpx.Response:
        async def main() -> httpx.Response:
            transport = httpx.ASGITransport(app, root_path=root_path)
            client = httpx.AsyncClient(transport=transport, base_url="http://x")
            async with aclosing(client):
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                headers = {"content-type": "application/json"}
                return await client.post(root_path + path, content=body, headers=headers)

        return asyncio.run(main())

    return send


def events_of(answer: httpx.Response) -> list[Any]:
    datas = [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]
    assert datas.pop() == "[DONE]"
    return [json.loads(data) for data in datas]

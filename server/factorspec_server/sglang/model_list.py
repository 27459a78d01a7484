"""``/v1/models`` with what is enforced, as the embedded engine tells it: ASGI middleware."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire import Limits
from factorspec_server.http.capabilities import enforced
from factorspec_server.http.route import route_of
from factorspec_server.settings import Budgets

_PATH = "/v1/models"


def capabilities() -> dict[str, JsonValue]:
    """The ``factorspec`` object of a model."""
    limits: dict[str, JsonValue] = {"body_bytes": Budgets().body_bytes, **asdict(Limits())}
    return {**enforced(), "engine": "sglang", "limits": limits}


class ModelList:
    """Adds ``capabilities`` to each model that is listed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_list = scope["type"] == "http" and scope["method"] == "GET" and route_of(scope).startswith(_PATH)
        await self._app(scope, receive, _Sending(send) if is_list else send)


class _Sending:
    """Takes what SGLang sends, and sends what goes out."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        """One message of SGLang's."""
        if message["type"] == "http.response.start":
            self._start = message
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._finish()
        else:
            await self._send(message)

    async def _finish(self) -> None:
        assert self._start is not None
        body = _told(self._body)
        headers = MutableHeaders(raw=list(self._start["headers"]))
        headers["content-length"] = str(len(body))
        await self._send({**self._start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _told(body: bytes) -> bytes:
    """The answer's body with capabilities; as it was if it lists no models."""
    try:
        answer: Any = json.loads(body)
    except ValueError:
        return body
    listed = answer.get("data", [answer]) if isinstance(answer, dict) else []
    models = [each for each in listed if isinstance(each, dict) and each.get("object") == "model"]
    for model in models:
        model["factorspec"] = capabilities()
    return json.dumps(answer, ensure_ascii=False).encode() if models else body

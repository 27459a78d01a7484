"""Who may come in: the API key and the host name, checked before anything else is read."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from factorspec_server.http.error_body import plain_error
from factorspec_server.http.route import route_of
from factorspec_server.settings import ServerSettings

_REFUSED = 1008
"""RFC 6455: against the server's policy. Before a connection stands, servers answer 403 for it."""
_OPEN_PATHS = frozenset({"/health"})


class Gate:
    """ASGI middleware that answers 401 without the API key and 421 for foreign host names."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._hosts = settings.allowed_hosts
        self._expected = None if settings.api_key is None else f"Bearer {settings.api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on or refuse."""
        response = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if response is not None and scope["type"] == "websocket":
            await send(
                {"type": "websocket.close", "code": _REFUSED, "reason": "no API key, or a foreign host"}
            )
            return
        await (response or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        if self._hosts is not None and _name(headers.get("host", "")) not in self._hosts:
            body = plain_error("this server does not answer for that host name", code="wrong_host")
            return JSONResponse(body, 421)
        if self._expected is None or route_of(scope) in _OPEN_PATHS:
            return None
        given = headers.get("authorization", "").encode("latin-1")  # the bytes as they were sent
        if hmac.compare_digest(given, self._expected):
            return None
        body = plain_error("the API key is missing or wrong; send a bearer token", code="invalid_api_key")
        return JSONResponse(body, 401, {"www-authenticate": "Bearer"})


def _name(host: str) -> str:
    """A Host header without its port."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") and ":" in host else host
    return name.strip("[]").lower()

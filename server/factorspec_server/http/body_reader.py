"""Reading a request's body within the budgets, however it is sent."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from factorspec_sdk.errors import DocumentError, Problem, RequestTooLarge
from factorspec_server.settings import Budgets

# A client that sends all before it reads would miss the answer: so much more is read and thrown away.
_DRAINED_BYTES = 64 << 20


async def read_body(request: Request, budgets: Budgets) -> bytes:
    """The body, at most ``budgets.body_bytes`` long.

    Raises:
        RequestTooLarge: the body is longer.
        DocumentError: it did not arrive in time.
        starlette.requests.ClientDisconnect: the client went away.
    """
    try:
        async with asyncio.timeout(budgets.body_timeout_s):
            return await _read(request, budgets.body_bytes)
    except TimeoutError as error:
        problem = Problem("", f"not complete after {budgets.body_timeout_s:g} s", hint="send it in one go")
        raise DocumentError("the request body did not arrive in time", [problem]) from error


async def _read(request: Request, most: int) -> bytes:
    chunks: list[bytes] = []
    num_bytes = 0
    async for chunk in request.stream():
        num_bytes += len(chunk)
        if num_bytes <= most:
            chunks.append(chunk)
        elif num_bytes > most + _DRAINED_BYTES:
            break
        else:
            chunks.clear()
    if num_bytes > most:
        raise RequestTooLarge(
            "the request is too large",
            [Problem("", f"the body has more than {most} bytes", str(num_bytes), "send smaller tables")],
        )
    return b"".join(chunks)

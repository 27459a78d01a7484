"""Work that ends when the client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

T = TypeVar("T")


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled if the client disconnects first.

    Args:
        receive: of a request whose body was read to its end.
        work: what to do.

    Raises:
        ClientDisconnect: the client went away; ``work`` has ended by then.
    """
    task = asyncio.ensure_future(work)
    watcher = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()
        watcher.cancel()
        await asyncio.gather(task, watcher, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """Server-sent events; the generator is closed when the client goes away."""

    media_type = "text/event-stream"

    def __init__(
        self,
        first: str,
        rest: AsyncGenerator[str],
        *,
        headers: Mapping[str, str],
        dropped: Callable[[], None],
    ) -> None:
        """``dropped`` is called if the client goes away before the end."""
        super().__init__(headers={**headers, "cache-control": "no-cache"})
        del self.headers["content-length"]
        self._first = first
        self._rest = rest
        self._dropped = dropped

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events as they come."""
        async with aclosing(self._rest):
            try:
                await while_connected(receive, self._write(send))
            except (ClientDisconnect, OSError):
                self._dropped()

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send(_part(self._first))
        async for event in self._rest:
            await send(_part(event))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _part(event: str) -> Message:
    return {"type": "http.response.body", "body": event.encode(), "more_body": True}

"""The seam between a client and what answers: a server over HTTP, or an engine in this process.

Bodies are those of OpenAI's chat completions, as JSON values, in both directions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Protocol

from factorspec_sdk.errors import JsonValue

JsonObject = dict[str, JsonValue]

#: brings what clients use beyond Pydantic
INSTALL = "pip install 'factorspec[client]'"


class Transport(Protocol):
    """Answers one request at a time. Safe to use from several threads."""

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        """The answer's body.

        Raises:
            FactorspecError: what the server said is wrong, as the same class that it raises there.
            ConnectionLost: the request or the answer did not arrive.
        """

    def stream(self, body: JsonObject, *, timeout_s: float) -> Generator[JsonObject]:
        """The answer's chunks, for a body that asks for a stream. Closing it drops the request.

        Raises as ``complete``, before the first chunk or later.
        """

    def model_name(self, *, timeout_s: float) -> str:
        """The first model that is served. Raises as ``complete``."""

    def close(self) -> None:
        """Give up connections, threads and memory."""


class AsyncTransport(Protocol):
    """``Transport`` for asyncio."""

    async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        """The answer's body; cancelling the task drops the request."""

    def stream(self, body: JsonObject, *, timeout_s: float) -> AsyncGenerator[JsonObject]:
        """The answer's chunks, for a body that asks for a stream. Closing it drops the request."""

    async def model_name(self, *, timeout_s: float) -> str:
        """The first model that is served."""

    async def close(self) -> None:
        """Give up connections."""

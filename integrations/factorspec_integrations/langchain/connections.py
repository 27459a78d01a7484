"""What answers a chat model's requests: connections to a server, or an engine in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Self
from weakref import WeakKeyDictionary, finalize

from factorspec_sdk.client.openai_transport import AsyncOpenAITransport, OpenAITransport
from factorspec_sdk.client.transport import AsyncTransport, Transport

# What keeps a connection open until its loop ends stands beside it.
_ByLoop = WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncTransport, AsyncGenerator[None]]]


@dataclass(slots=True, weakref_slot=True)
class Connections:
    """Opened where they are first used, and reused.

    An asynchronous connection belongs to the event loop that opened it, so each loop has its own; it is
    closed when its loop shuts down, as ``asyncio.run`` does at its end.

    Attributes:
        base_url, api_key, attempts: as ``Client`` takes them.
        engine: what answers instead of a server.
    """

    base_url: str
    api_key: str | None = field(repr=False)
    attempts: int
    engine: Transport | None = None
    _name: str | None = field(default=None, compare=False)
    _sync: Transport | None = field(default=None, compare=False)
    _lock: Lock = field(default_factory=Lock, compare=False)
    _by_loop: _ByLoop = field(default_factory=WeakKeyDictionary, compare=False)

    @property
    def sync(self) -> Transport:
        """For threads."""
        if self.engine is not None:
            return self.engine
        with self._lock:
            if self._sync is None:
                made = OpenAITransport(self.base_url, api_key=self.api_key, attempts=self.attempts)
                finalize(self, made.close)  # chat models are dropped, never closed
                self._sync = made
            return self._sync

    async def of_loop(self) -> AsyncTransport:
        """For the running event loop. An engine in this process has none: it is asked on threads."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            made = AsyncOpenAITransport(self.base_url, api_key=self.api_key, attempts=self.attempts)
            keeper = self._open_until_the_loop_ends(made)
            self._by_loop[loop] = made, keeper
            await anext(keeper)
        return self._by_loop[loop][0]

    async def _open_until_the_loop_ends(self, transport: AsyncTransport) -> AsyncGenerator[None]:
        """An event loop closes asynchronous generators when it shuts down, which is when this goes on."""
        try:
            yield
        finally:
            self._by_loop.pop(asyncio.get_running_loop(), None)  # the generator holds the loop
            await transport.close()

    def model_name(self, *, timeout_s: float) -> str:
        """The first model that is served; looked up once."""
        if self._name is None:
            self._name = self.sync.model_name(timeout_s=timeout_s)
        return self._name

    async def model_name_async(self, *, timeout_s: float) -> str:
        """``model_name`` for asyncio."""
        if self._name is None:
            self._name = await (await self.of_loop()).model_name(timeout_s=timeout_s)
        return self._name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without open connections; an engine in this process cannot be."""
        return type(self), (self.base_url, self.api_key, self.attempts, self.engine)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same settings without open connections; an engine is shared, as it holds the weights."""
        return type(self)(self.base_url, self.api_key, self.attempts, self.engine)

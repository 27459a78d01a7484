"""Asking a server for a valid record, for asyncio."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Self, TypeVar, Unpack

from pydantic import BaseModel

from factorspec_sdk.client.asking import ask_async
from factorspec_sdk.client.client import ATTEMPTS, DEFAULT_BASE_URL, TIMEOUT_S
from factorspec_sdk.client.exchange import Exchange, Message, Options, Wishes
from factorspec_sdk.client.many import CONCURRENCY, Failure, Prompt, Run, exchanges_of, run_many_async
from factorspec_sdk.client.patience import PATIENCE_S
from factorspec_sdk.client.planning import CallPlan, plan_of
from factorspec_sdk.client.result import Result
from factorspec_sdk.client.strategies import steps_of
from factorspec_sdk.client.streaming import AsyncRecordStream, StreamOpening
from factorspec_sdk.client.tool_calls import ToolAnswer, ToolExchange, ToolMessage, ToolWishes
from factorspec_sdk.client.transport import AsyncTransport, JsonObject

T = TypeVar("T", bound=BaseModel)


class AsyncClient:
    """``Client`` for asyncio; see there."""

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        *,
        api_key: str | None = None,
        model: str | None = None,
        timeout_s: float = TIMEOUT_S,
        attempts: int = ATTEMPTS,
        engine: AsyncTransport | None = None,
    ) -> None:
        self._transport = engine if engine is not None else _async_http(base_url, api_key, attempts)
        self._model = model
        self._timeout_s = timeout_s

    async def generate(
        self, record: type[T], messages: str | Sequence[Message], **wishes: Unpack[Wishes]
    ) -> Result[T]:
        """A valid record; arguments and errors as for ``Client.generate``. Cancelling drops the request."""
        options = Options(model=await self._name(), **wishes)
        return await self._result(Exchange.of(record, messages, options))

    async def generate_many(
        self,
        record: type[T] | Sequence[type[T]],
        prompts: Sequence[Prompt],
        *,
        concurrency: int = CONCURRENCY,
        resume: str | PathLike[str] | None = None,
        progress: bool = False,
        patience_s: float = PATIENCE_S,
        **wishes: Unpack[Wishes],
    ) -> list[Result[T] | Failure]:
        """As ``Client.generate_many``. Cancelling drops requests under way; the file keeps what is done."""
        run = Run(concurrency=concurrency, resume=resume, progress=progress, patience_s=patience_s)
        exchanges = exchanges_of(record, prompts, Options(model=await self._name(), **wishes))
        return await run_many_async(exchanges, run, self._send)

    def stream(
        self, record: type[T], messages: str | Sequence[Message], **wishes: Unpack[Wishes]
    ) -> StreamOpening[T]:
        """``Client.stream`` for asyncio::

        async with client.stream(Trip, "A trip, please.") as stream:
            async for partial in stream:
                print(partial.text)
            trip = (await stream.result()).value

        ``await client.stream(...)`` gives the stream. Raises as ``Client.stream``, once it is awaited or
        entered.
        """

        async def opened() -> AsyncRecordStream[T]:
            exchange = Exchange.of(record, messages, Options(model=await self._name(), **wishes))
            return AsyncRecordStream(
                exchange, lambda body: self._transport.stream(body, timeout_s=self._timeout_s)
            )

        return StreamOpening(opened)

    async def call_tools(
        self,
        tools: Sequence[type[BaseModel]],
        messages: str | Sequence[ToolMessage],
        **wishes: Unpack[ToolWishes],
    ) -> ToolAnswer:
        """As ``Client.call_tools``. Cancelling drops the request."""
        exchange = ToolExchange.of(tools, messages, await self._name(), wishes)
        return exchange.answer(await self._transport.complete(exchange.body, timeout_s=self._timeout_s))

    def plan(self, record: type[T], messages: str | Sequence[Message], **wishes: Unpack[Wishes]) -> CallPlan:
        """As ``Client.plan``: nothing is sent, so that there is nothing to await."""
        return plan_of(Exchange.of(record, messages, Options(model=self._model or "", **wishes)))

    async def _result(self, exchange: Exchange[T]) -> Result[T]:
        return await ask_async(steps_of(exchange), self._send)

    async def _send(self, body: JsonObject) -> JsonObject:
        return await self._transport.complete(body, timeout_s=self._timeout_s)

    async def _name(self) -> str:
        if self._model is None:
            self._model = await self._transport.model_name(timeout_s=self._timeout_s)
        return self._model

    async def close(self) -> None:
        """Give up connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _async_http(base_url: str, api_key: str | None, attempts: int) -> AsyncTransport:
    from factorspec_sdk.client.openai_transport import AsyncOpenAITransport

    return AsyncOpenAITransport(base_url, api_key=api_key, attempts=attempts)

"""Records that come piece by piece: partial records while the answer is written, the result at its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import aclosing, closing
from time import perf_counter
from typing import Generic, Self, TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.asking import Done, advance
from factorspec_sdk.client.exchange import Exchange
from factorspec_sdk.client.partial import Partial, PartialReader
from factorspec_sdk.client.reading import usage_of
from factorspec_sdk.client.result import Result
from factorspec_sdk.client.strategies import Answer, steps_of
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import Attempt, ConnectionLost, DeclarationError, FactorspecError, Problem

T = TypeVar("T", bound=BaseModel)

_STREAMED: JsonObject = {"stream": True, "stream_options": {"include_usage": True}}


class _Gathered:
    """What the chunks of one answer come to."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._parts: JsonObject = {}
        self._finish_reason: object = None
        self.text = ""

    def add(self, chunk: JsonObject) -> bool:
        """Take a chunk, and say whether it brought text."""
        self._parts |= {
            name: value for name, value in chunk.items() if name != "choices" and value is not None
        }
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return False
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = choice.get("delta")
        text = delta.get("content") if isinstance(delta, dict) else None
        self.text += text if isinstance(text, str) else ""
        return bool(text)

    def answer(self) -> Answer | FactorspecError:
        """The answer as it would have come in one piece."""
        if not isinstance(self._finish_reason, str):
            return ConnectionLost("the stream ended before the answer did; is the server still running?")
        choice: JsonObject = {
            "index": 0,
            "message": {"role": "assistant", "content": self.text},
            "finish_reason": self._finish_reason,
        }
        body: JsonObject = {**self._parts, "object": "chat.completion", "choices": [choice]}
        return Answer(body, perf_counter() - self._started)

    def as_attempt(self, error: FactorspecError) -> Attempt:
        """What came before an error."""
        problem = Problem("", error.message)
        return Attempt(self.text, (problem,), usage_of(self._parts), None, perf_counter() - self._started)


class _Streaming(Generic[T]):
    """What both streams share: the steps, and what came so far."""

    def __init__(self, exchange: Exchange[T]) -> None:
        options = exchange.options
        if options.strategy in ("retry", "repair") or options.fallback is not None:
            hint = "take generate, or leave strategy and fallback out"
            problem = Problem("strategy", "only what a server enforces can be streamed", hint=hint)
            raise DeclarationError("the record cannot be streamed", [problem])
        self._steps = steps_of(exchange)
        self._reader = PartialReader(exchange.record, exchange.spec)
        self._result: Result[T] | None = None

    def _body(self) -> JsonObject | None:
        """What to send; None where no model has to be asked."""
        now = advance(self._steps, None)
        if isinstance(now, Done):
            self._result = now.result
            return None
        return {**now, **_STREAMED}

    def _first(self) -> Partial[T] | None:
        """What is certain before anything is written."""
        partial = self._reader.read("")
        return partial if partial.certain else None

    def _finished(self) -> Result[T]:
        if self._result is None:
            raise ConnectionLost("the stream was left, or failed, before its end")
        return self._result

    def _end(self, gathered: _Gathered, answer: Answer | FactorspecError) -> None:
        try:
            now = advance(self._steps, answer)
        except FactorspecError as error:
            if not error.attempts and gathered.text:
                error.attempts = (gathered.as_attempt(error),)
            raise
        assert isinstance(now, Done), "one answer is all that is asked for"
        self._result = now.result


class RecordStream(_Streaming[T]):
    """Partial records as they are written; iterate once. Leaving the ``with`` block early drops the request.

    Errors are those of ``Client.generate``; they come while iterating.
    """

    def __init__(self, exchange: Exchange[T], send: Callable[[JsonObject], Generator[JsonObject]]) -> None:
        super().__init__(exchange)
        self._partials = self._run(send)

    def __iter__(self) -> Iterator[Partial[T]]:
        return self._partials

    def result(self) -> Result[T]:
        """The finished record, once the rest of the stream has come."""
        for _ in self._partials:
            pass
        return self._finished()

    def close(self) -> None:
        """Drop the request, if it is still under way."""
        self._partials.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, send: Callable[[JsonObject], Generator[JsonObject]]) -> Generator[Partial[T]]:
        body = self._body()
        if body is None:
            return
        if (first := self._first()) is not None:
            yield first
        gathered = _Gathered()
        answer: Answer | FactorspecError
        try:
            with closing(send(body)) as chunks:
                for chunk in chunks:
                    if gathered.add(chunk):
                        yield self._reader.read(gathered.text)
            answer = gathered.answer()
        except FactorspecError as error:
            answer = error
        self._end(gathered, answer)


class AsyncRecordStream(_Streaming[T]):
    """``RecordStream`` for asyncio."""

    def __init__(
        self, exchange: Exchange[T], send: Callable[[JsonObject], AsyncGenerator[JsonObject]]
    ) -> None:
        super().__init__(exchange)
        self._partials = self._run(send)

    def __aiter__(self) -> AsyncIterator[Partial[T]]:
        return self._partials

    async def result(self) -> Result[T]:
        """The finished record, once the rest of the stream has come."""
        async for _ in self._partials:
            pass
        return self._finished()

    async def close(self) -> None:
        """Drop the request, if it is still under way."""
        await self._partials.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(
        self, send: Callable[[JsonObject], AsyncGenerator[JsonObject]]
    ) -> AsyncGenerator[Partial[T]]:
        body = self._body()
        if body is None:
            return
        if (first := self._first()) is not None:
            yield first
        gathered = _Gathered()
        answer: Answer | FactorspecError
        try:
            async with aclosing(send(body)) as chunks:
                async for chunk in chunks:
                    if gathered.add(chunk):
                        yield self._reader.read(gathered.text)
            answer = gathered.answer()
        except FactorspecError as error:
            answer = error
        self._end(gathered, answer)


class StreamOpening(Generic[T]):
    """An ``AsyncRecordStream`` that is still to be opened: await it, or enter it by ``async with``."""

    def __init__(self, opened: Callable[[], Coroutine[None, None, AsyncRecordStream[T]]]) -> None:
        self._opened = opened
        self._stream: AsyncRecordStream[T] | None = None

    def __await__(self) -> Generator[None, None, AsyncRecordStream[T]]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncRecordStream[T]:
        self._stream = await self._opened()
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        if self._stream is not None:
            await self._stream.close()

"""Structured output: a runnable that asks a chat model for a record, as the SDK's strategies do.

::

    steps of a strategy ──body──► RecordRunnable ──messages, fields──► chat model
                        ◄─answer─                ◄────── message ─────

So each attempt of ``retry`` and ``repair`` is a run of the chat model: traced, counted, rate limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from time import perf_counter
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig

from factorspec_integrations.langchain.record_call import RecordCall
from factorspec_integrations.langchain.refusals import ModelRefusalError
from factorspec_sdk.client.asking import Done, advance, ask, ask_async
from factorspec_sdk.client.partial import PartialReader, committed
from factorspec_sdk.client.strategies import Answer, steps_of
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import FactorspecError


class RecordRunnable(Runnable[LanguageModelInput, Any]):
    """Asks a chat model for a record; see ``ChatFactorSpec.with_structured_output``."""

    def __init__(self, model: BaseChatModel, call: RecordCall) -> None:
        self._model = model
        self._call = call
        self.name = f"record:{call.wanted.model.__name__}"

    @property
    def OutputType(self) -> Any:  # noqa: N802 - LangChain's name
        """What ``invoke`` gives."""
        is_dict = self._call.include_raw or self._call.wanted.is_plain
        return dict[str, Any] if is_dict else self._call.wanted.model

    def invoke(
        self,
        input: LanguageModelInput,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """A valid record."""
        return self._call_with_config(self._ask, input, config, **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """``invoke`` for asyncio."""
        return await self._acall_with_config(self._ask_async, input, config, **kwargs)

    def stream(
        self,
        input: LanguageModelInput,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any | None,
    ) -> Iterator[Any]:
        """Partial records, then the record; the record alone where answers may be taken back."""
        yield from self._transform_stream_with_config(iter([input]), self._partials, config, **kwargs)

    async def astream(
        self,
        input: LanguageModelInput,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any | None,
    ) -> AsyncIterator[Any]:
        """``stream`` for asyncio."""

        async def inputs() -> AsyncIterator[LanguageModelInput]:
            yield input

        async for partial in self._atransform_stream_with_config(
            inputs(), self._partials_async, config, **kwargs
        ):
            yield partial

    # -- one call ---------------------------------------------------------------------------------------

    def _ask(
        self,
        given: LanguageModelInput,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> object:
        heard = list[AIMessage]()

        def send(body: JsonObject) -> JsonObject:
            heard.append(self._model.invoke(_turns(body), config, **self._call.fields(body), **kwargs))
            return self._call.answer(heard[-1])

        try:
            result = ask(steps_of(self._call.exchange(given)), send)
        except (FactorspecError, ModelRefusalError) as error:
            return self._failed(error, heard)
        return self._call.output(_last(heard), result)

    async def _ask_async(
        self,
        given: LanguageModelInput,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> object:
        heard = list[AIMessage]()

        async def send(body: JsonObject) -> JsonObject:
            heard.append(await self._model.ainvoke(_turns(body), config, **self._call.fields(body), **kwargs))
            return self._call.answer(heard[-1])

        try:
            result = await ask_async(steps_of(self._call.exchange(given)), send)
        except (FactorspecError, ModelRefusalError) as error:
            return self._failed(error, heard)
        return self._call.output(_last(heard), result)

    def _failed(self, error: Exception, heard: list[AIMessage]) -> object:
        """The error beside the message that it is about, where the caller wants that; else it is raised."""
        if not self._call.include_raw or not heard:
            raise error
        return {"raw": heard[-1], "parsed": None, "parsing_error": error}

    # -- records that come piece by piece ---------------------------------------------------------------

    def _partials(
        self,
        inputs: Iterator[LanguageModelInput],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[object]:
        if self._call.is_checked or self._call.include_raw:
            yield self._ask(next(inputs), run_manager, config, **kwargs)
            return
        pieces = _Pieces(self._call, next(inputs))
        if pieces.body is not None:
            chunks = self._model.stream(
                _turns(pieces.body), config, **self._call.fields(pieces.body), **kwargs
            )
            try:
                for chunk in chunks:
                    yield from pieces.add(chunk)
            except FactorspecError as error:
                pieces.fail(error)
        yield pieces.end()

    async def _partials_async(
        self,
        inputs: AsyncIterator[LanguageModelInput],
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[object]:
        if self._call.is_checked or self._call.include_raw:
            yield await self._ask_async(await anext(inputs), run_manager, config, **kwargs)
            return
        pieces = await asyncio.to_thread(_Pieces, self._call, await anext(inputs))
        if pieces.body is not None:
            chunks = self._model.astream(
                _turns(pieces.body), config, **self._call.fields(pieces.body), **kwargs
            )
            try:
                async for chunk in chunks:
                    for partial in pieces.add(chunk):
                        yield partial
            except FactorspecError as error:
                pieces.fail(error)
        yield await asyncio.to_thread(pieces.end)


class _Pieces:
    """One streamed answer: the partial records so far, and the steps that judge it at its end.

    body: what to send; None where no model has to be asked.
    """

    def __init__(self, call: RecordCall, given: LanguageModelInput) -> None:
        exchange = call.exchange(given)
        self._call = call
        self._reader = PartialReader(exchange.record, exchange.spec)
        self._steps = steps_of(exchange)
        self._started = perf_counter()
        self._text = ""
        self._shown: object = None
        self._message: AIMessageChunk | None = None
        self._now = advance(self._steps, None)
        self.body = None if isinstance(self._now, Done) else self._now

    def add(self, chunk: AIMessageChunk) -> Iterator[object]:
        """Take a chunk; the partial record, where that brought something new."""
        self._message = chunk if self._message is None else self._message + chunk
        piece = self._call.piece(chunk)
        if not piece:
            return
        self._text += piece
        wanted = self._call.wanted
        partial = (
            wanted.partial_of(committed(self._text))
            if wanted.is_plain
            else self._reader.read(self._text).value
        )
        if partial != self._shown:
            self._shown = partial
            yield partial

    def fail(self, error: FactorspecError) -> None:
        """Tell the steps of an error; raises it with the attempts."""
        self._now = advance(self._steps, error)

    def end(self) -> object:
        """The finished record. Raises as ``Client.generate``."""
        if self.body is not None:
            assert self._message is not None, "a stream without chunks is an error of the chat model"
            answer = Answer(self._call.answer(self._message), perf_counter() - self._started)
            self._now = advance(self._steps, answer)
        assert isinstance(self._now, Done), "one answer is all that is asked for"
        return self._call.output(self._message, self._now.result)


def _turns(body: JsonObject) -> list[BaseMessage]:
    return convert_to_messages(cast("list[dict[str, Any]]", body["messages"]))


def _last(heard: list[AIMessage]) -> AIMessage | None:
    return heard[-1] if heard else None

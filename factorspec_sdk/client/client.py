"""Asking a server, or an engine in this process, for a valid record."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import Self, TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.exchange import Exchange, Message, OnBudget, Options
from factorspec_sdk.client.local import local_engine
from factorspec_sdk.client.result import Result
from factorspec_sdk.client.transport import AsyncTransport, Transport

T = TypeVar("T", bound=BaseModel)

DEFAULT_BASE_URL = "http://127.0.0.1:8000/v1"
_TIMEOUT_S = 600.0
_ATTEMPTS = 3


class Client:
    """Asks for records. Safe to use from several threads; close it, or use it in a ``with`` block.

    Args:
        base_url: of an OpenAI-compatible server that has FactorSpec.
        api_key: what the server asks for, if it does.
        model: name of the model; None takes the first that is served.
        timeout_s: longest time for an answer, in seconds.
        attempts: how often a connection is tried; answers are never asked for twice.
        engine: what answers instead of a server; ``base_url`` and ``api_key`` are not used then.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        *,
        api_key: str | None = None,
        model: str | None = None,
        timeout_s: float = _TIMEOUT_S,
        attempts: int = _ATTEMPTS,
        engine: Transport | None = None,
    ) -> None:
        self._transport = engine if engine is not None else _http(base_url, api_key, attempts)
        self._model = model
        self._timeout_s = timeout_s

    @classmethod
    def local(
        cls,
        model: str = "smollm2",
        *,
        dtype: str | None = None,
        device: str | None = None,
        timeout_s: float = _TIMEOUT_S,
        progress: bool = True,
    ) -> Self:
        """A client with the embedded engine in this process: no server, no network.

        Args:
            model: ``smollm2``, or a directory with a Hugging Face causal model.
            dtype: of the weights; None is float32 on CPU and bfloat16 on CUDA.
            device: ``cpu`` or ``cuda``; None takes CUDA where present.
            timeout_s: longest time for an answer, in seconds.
            progress: show progress while the default model is converted, once.

        Raises:
            MissingExtra: the engine is not installed.
            ModelNotFound: there is no such model.
        """
        engine = local_engine(model, dtype=dtype, device=device, progress=progress)
        return cls(engine=engine, timeout_s=timeout_s)

    def generate(
        self,
        record: type[T],
        messages: str | Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        origins: bool = False,
        on_budget: OnBudget = "narrow",
        canonical_text: bool = False,
    ) -> Result[T]:
        """A valid record.

        Args:
            record: a Pydantic model, bound if it has parameters.
            messages: the conversation, each message with ``role`` and ``content``; a text is one of the user.
            max_tokens: most tokens of the record; None leaves it to the server.
            temperature: 0 takes the most likely token.
            top_p: share of probability that is kept when sampling.
            seed: of the sampling noise; None lets the server draw one.
            origins: report where each token came from.
            on_budget: where the budget for proving feasibility ends in mid-record: ``narrow`` goes on among
                the values that are proven (``report.exact`` is False), ``abort`` raises ``BudgetSpent``.
            canonical_text: free text is written in the tokenizer's own tokens too: the record's ids are
                those of its text. ``report.text_filter`` says what that cost.

        Raises:
            DeclarationError: the model cannot be sent.
            DocumentError: the server cannot enforce what it asks for.
            InfeasibleError: no record can satisfy it, or none within ``max_tokens``.
            NotEnforced: the server did not confirm that it enforces the spec.
            Incomplete: the answer ended before the record was complete.
            RecordError: the record does not pass the model's own validation.
            ConnectionLost: there was no answer.
            EngineError: the server or the model failed.
        """
        options = Options(
            model=self.model,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            origins=origins,
            on_budget=on_budget,
            canonical_text=canonical_text,
        )
        exchange = Exchange.of(record, messages, options)
        started = perf_counter()
        answer = self._transport.complete(exchange.body, timeout_s=self._timeout_s)
        return exchange.result(answer, perf_counter() - started)

    @property
    def model(self) -> str:
        """Name of the model that is asked; looked up at the server the first time, if none was given."""
        if self._model is None:
            self._model = self._transport.model_name(timeout_s=self._timeout_s)
        return self._model

    def close(self) -> None:
        """Give up connections, or the engine in this process."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient:
    """``Client`` for asyncio, over HTTP; see there."""

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        *,
        api_key: str | None = None,
        model: str | None = None,
        timeout_s: float = _TIMEOUT_S,
        attempts: int = _ATTEMPTS,
    ) -> None:
        self._transport = _async_http(base_url, api_key, attempts)
        self._model = model
        self._timeout_s = timeout_s

    async def generate(
        self,
        record: type[T],
        messages: str | Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        origins: bool = False,
        on_budget: OnBudget = "narrow",
        canonical_text: bool = False,
    ) -> Result[T]:
        """A valid record; arguments and errors as for ``Client.generate``. Cancelling drops the request."""
        if self._model is None:
            self._model = await self._transport.model_name(timeout_s=self._timeout_s)
        options = Options(
            model=self._model,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            origins=origins,
            on_budget=on_budget,
            canonical_text=canonical_text,
        )
        exchange = Exchange.of(record, messages, options)
        started = perf_counter()
        answer = await self._transport.complete(exchange.body, timeout_s=self._timeout_s)
        return exchange.result(answer, perf_counter() - started)

    async def close(self) -> None:
        """Give up connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _http(base_url: str, api_key: str | None, attempts: int) -> Transport:
    from factorspec_sdk.client.openai_transport import OpenAITransport

    return OpenAITransport(base_url, api_key=api_key, attempts=attempts)


def _async_http(base_url: str, api_key: str | None, attempts: int) -> AsyncTransport:
    from factorspec_sdk.client.openai_transport import AsyncOpenAITransport

    return AsyncOpenAITransport(base_url, api_key=api_key, attempts=attempts)

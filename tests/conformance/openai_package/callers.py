"""The package's two clients behind one face, so that each test runs through both."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, cast

import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.conformance.openai_package.target import Target

DEADLINE_S = 60.0


class Caller(Protocol):
    """One of the two clients. Requests are given as the fields of ``chat.completions.create``."""

    def create(self, **fields: Any) -> ChatCompletion:
        """A whole answer."""

    def headers(self, **fields: Any) -> dict[str, str]:
        """The headers of a whole answer."""

    def chunks(self, most: int | None = None, **fields: Any) -> list[ChatCompletionChunk]:
        """A streamed answer; after ``most`` chunks the stream is closed."""

    def parse(self, **fields: Any) -> Any:
        """An answer through the package's ``parse``."""

    def events(self, **fields: Any) -> tuple[list[Any], Any]:
        """The events of the package's ``stream``, and its final completion."""

    def models(self) -> list[str]:
        """Names of the models."""

    def close(self) -> None:
        """Close the client's connections."""


class SyncCaller:
    """``openai.OpenAI``."""

    def __init__(self, target: Target, **options: Any) -> None:
        self._client = openai.OpenAI(**options_for(target, **options))

    def create(self, **fields: Any) -> ChatCompletion:
        return cast(ChatCompletion, self._client.chat.completions.create(**fields))

    def headers(self, **fields: Any) -> dict[str, str]:
        return dict(self._client.chat.completions.with_raw_response.create(**fields).headers)

    def chunks(self, most: int | None = None, **fields: Any) -> list[ChatCompletionChunk]:
        found: list[ChatCompletionChunk] = []
        with self._client.chat.completions.create(**fields, stream=True) as stream:
            for chunk in stream:
                found.append(chunk)
                if len(found) == most:
                    break
        return found

    def parse(self, **fields: Any) -> Any:
        return self._client.chat.completions.parse(**fields)

    def events(self, **fields: Any) -> tuple[list[Any], Any]:
        with self._client.chat.completions.stream(**fields) as stream:
            return list(stream), stream.get_final_completion()

    def models(self) -> list[str]:
        return [model.id for model in self._client.models.list()]

    def close(self) -> None:
        self._client.close()


class AsyncCaller:
    """``openai.AsyncOpenAI`` in an event loop that runs while something is asked."""

    def __init__(self, target: Target, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = openai.AsyncOpenAI(**options_for(target, **options))

    def create(self, **fields: Any) -> ChatCompletion:
        async def ask() -> ChatCompletion:
            return cast(ChatCompletion, await self._client.chat.completions.create(**fields))

        return self._runner.run(ask())

    def headers(self, **fields: Any) -> dict[str, str]:
        async def ask() -> dict[str, str]:
            return dict((await self._client.chat.completions.with_raw_response.create(**fields)).headers)

        return self._runner.run(ask())

    def chunks(self, most: int | None = None, **fields: Any) -> list[ChatCompletionChunk]:
        async def ask() -> list[ChatCompletionChunk]:
            found: list[ChatCompletionChunk] = []
            async with await self._client.chat.completions.create(**fields, stream=True) as stream:
                async for chunk in stream:
                    found.append(chunk)
                    if len(found) == most:
                        break
            return found

        return self._runner.run(ask())

    def parse(self, **fields: Any) -> Any:
        return self._runner.run(self._client.chat.completions.parse(**fields))

    def events(self, **fields: Any) -> tuple[list[Any], Any]:
        async def ask() -> tuple[list[Any], Any]:
            async with self._client.chat.completions.stream(**fields) as stream:
                return [event async for event in stream], await stream.get_final_completion()

        return self._runner.run(ask())

    def models(self) -> list[str]:
        async def ask() -> list[str]:
            return [model.id async for model in self._client.models.list()]

        return self._runner.run(ask())

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


def options_for(target: Target, **options: Any) -> dict[str, Any]:
    """What both clients are made with: no retries, so that a test sees each answer."""
    plain = {"base_url": target.url, "api_key": target.key or "none", "max_retries": 0, "timeout": DEADLINE_S}
    return plain | options

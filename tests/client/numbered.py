"""A transport that answers many requests, each with the number of its prompt; synchronous and not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from factorspec_sdk import errors
from factorspec_sdk.client import AsyncClient, Client, Failure, Result
from factorspec_sdk.client.transport import JsonObject
from tests.client.canned import BAD, GOOD, Canned, Stay, as_text, chunks_of, completion

PROMPTS = [f"Stay {number}." for number in range(20)]


class Numbered(Canned):
    """Answers with the number of the prompt as the note, in any order; some prompts fail or interrupt."""

    def __init__(
        self, *, failing: Sequence[int] = (), interrupting: int | None = None, bad: bool = False
    ) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.most = 0
        self._failing = failing
        self._interrupting = interrupting
        self._bad = bad
        self._running = 0
        self._lock = threading.Lock()

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        with self._lock:
            number = self._number(body)
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            return self._answer(number)
        finally:
            with self._lock:
                self._running -= 1

    def _number(self, body: JsonObject) -> int:
        messages: Any = body["messages"]
        number = int(messages[-1]["content"].split()[1].rstrip("."))
        self.asked.append(number)
        return number

    def _answer(self, number: int) -> JsonObject:
        if number == self._interrupting:
            raise KeyboardInterrupt
        if number in self._failing:
            raise errors.ConnectionLost("dropped")
        return completion(as_text({**(BAD if self._bad else GOOD), "note": str(number)}))


class AsyncNumbered(Numbered):
    """``Numbered`` for asyncio: requests meet in the middle."""

    async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:  # type: ignore[override]
        number = self._number(body)
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            return self._answer(number)
        finally:
            self._running -= 1

    async def stream(  # type: ignore[override]
        self, body: JsonObject, *, timeout_s: float
    ) -> AsyncGenerator[JsonObject]:
        for chunk in chunks_of(await self.complete(body, timeout_s=timeout_s)):
            yield chunk

    async def model_name(self, *, timeout_s: float) -> str:  # type: ignore[override]
        return "numbered"

    async def close(self) -> None:  # type: ignore[override]
        """Nothing to close."""


def ask(
    transport: Numbered, prompts: Sequence[str] = PROMPTS, record: type[Stay] = Stay, **more: Any
) -> list[Result[Stay] | Failure]:
    options = {"strategy": "retry", "max_answers": 1, "patience_s": 0, **more}
    if not isinstance(transport, AsyncNumbered):
        return Client(engine=transport).generate_many(record, prompts, **options)

    async def run() -> list[Result[Stay] | Failure]:
        async with AsyncClient(engine=transport) as client:
            return await client.generate_many(record, prompts, **options)

    return asyncio.run(run())


def notes(results: Sequence[Result[Stay] | Failure]) -> list[str | None]:
    return [result.value.note if isinstance(result, Result) else None for result in results]


both = pytest.mark.parametrize("kind", [Numbered, AsyncNumbered])

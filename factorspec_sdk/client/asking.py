"""Drivers: they send what the steps of a strategy ask for, on a thread or in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.result import Result
from factorspec_sdk.client.strategies import Answer, Steps
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import FactorspecError

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The steps are over, with this result."""

    result: Result[T]


def ask(steps: Steps[T], send: Callable[[JsonObject], JsonObject]) -> Result[T]:
    """Take the steps to their end. Raises as they do, and as ``send``."""
    now = advance(steps, None)
    while not isinstance(now, Done):
        now = advance(steps, _sent(now, send))
    return now.result


async def ask_async(steps: Steps[T], send: Callable[[JsonObject], Awaitable[JsonObject]]) -> Result[T]:
    """``ask`` for asyncio; what the steps work out between answers does not hold up the event loop."""
    now = await asyncio.to_thread(advance, steps, None)
    while not isinstance(now, Done):
        started = perf_counter()
        answer: Answer | FactorspecError
        try:
            answer = Answer(await send(now), perf_counter() - started)
        except FactorspecError as error:
            answer = error
        now = await asyncio.to_thread(advance, steps, answer)
    return now.result


def _sent(body: JsonObject, send: Callable[[JsonObject], JsonObject]) -> Answer | FactorspecError:
    started = perf_counter()
    try:
        return Answer(send(body), perf_counter() - started)
    except FactorspecError as error:
        return error


def advance(steps: Steps[T], answer: Answer | FactorspecError | None) -> JsonObject | Done[T]:
    """The next request body, or the end. What sending raised is raised in the steps."""
    try:
        if answer is None:
            return next(steps)
        if isinstance(answer, FactorspecError):
            return steps.throw(answer)
        return steps.send(answer)
    except StopIteration as end:
        return Done(end.value)

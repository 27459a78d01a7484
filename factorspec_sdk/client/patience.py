"""How long a run of many records goes on sending while nothing comes through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import uniform
from threading import Event, Lock
from time import monotonic

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import ConnectionLost, FactorspecError, Overloaded

#: a server that starts again loads its model
PATIENCE_S = 120.0
# An address where nothing has answered yet is more likely wrong.
_FIRST_PATIENCE_S = 10.0
_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
# A request that breaks again and again while others come through is itself the reason.
_MOST_ALONE = 5

Send = Callable[[JsonObject], JsonObject]
AsyncSend = Callable[[JsonObject], Awaitable[JsonObject]]


class Patience:
    """Shared by the requests of a run; safe to use from several threads.

    What is waited out: connections that are refused or break, and servers that have no room. Not a timeout,
    after which the server may still be at work.

    Args:
        patience_s: longest time, in seconds, in which no request at all comes through.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._until = monotonic() + min(patience_s, _FIRST_PATIENCE_S)
        self._lock = Lock()
        self.num_came = 0

    def came_through(self) -> None:
        """An answer has arrived: the time begins anew."""
        with self._lock:
            self.num_came += 1
            self._until = monotonic() + self._patience_s

    @property
    def is_over(self) -> bool:
        """Nothing has come through for too long."""
        return monotonic() >= self._until


class _Sending:
    """One request that is sent until its answer comes."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._num_sent = 0
        self._num_alone = 0
        self._num_came = patience.num_came

    def wait_s(self, error: FactorspecError) -> float | None:
        """Seconds until it is sent again after an error; None: not any more."""
        is_lost = isinstance(error, ConnectionLost) and not error.timed_out
        if self._patience.is_over or not (is_lost or isinstance(error, Overloaded)):
            return None
        num_came = self._patience.num_came
        self._num_alone += is_lost and num_came > self._num_came
        self._num_came = num_came
        self._num_sent += 1
        if self._num_alone > _MOST_ALONE:
            return None
        longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(self._num_sent, 16))
        return uniform(longest / 2, longest)


def patiently(send: Send, patience: Patience, stopped: Event) -> Send:
    """``send`` until an answer comes, patience ends, or the run is stopped; then it raises as ``send``."""

    def sent(body: JsonObject) -> JsonObject:
        sending = _Sending(patience)
        while True:
            try:
                answer = send(body)
            except FactorspecError as error:
                wait_s = sending.wait_s(error)
                if wait_s is None or stopped.wait(wait_s):
                    raise
            else:
                patience.came_through()
                return answer

    return sent


def patiently_async(send: AsyncSend, patience: Patience) -> AsyncSend:
    """``patiently`` for asyncio; cancelling the task ends it."""

    async def sent(body: JsonObject) -> JsonObject:
        sending = _Sending(patience)
        while True:
            try:
                answer = await send(body)
            except FactorspecError as error:
                wait_s = sending.wait_s(error)
                if wait_s is None:
                    raise
                await asyncio.sleep(wait_s)
            else:
                patience.came_through()
                return answer

    return sent

"""Load on SGLang's ``/generate``: waves and closed loops of gold requests, streamed, bounded in number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.benchmarks.serving_records import Record

if TYPE_CHECKING:
    import aiohttp

_TIMEOUT_S = 120.0
_TRIES = 50


@dataclass
class Answer:
    """What became of a request. Times are of ``perf_counter``.

    Attributes:
        sent_s, first_s, last_s: when it was sent, and when its first and last tokens came.
        gaps_s: between pieces of the stream.
        tokens: of the answer.
        steps: verify steps, 0 where the engine counts none.
        is_gold: the answer is the gold one.
        solved_s: how long a solver had it before it was sent on, waiting included; from ``sent_s`` on.
        error: why there is none.
    """

    sent_s: float
    first_s: float = 0.0
    last_s: float = 0.0
    gaps_s: list[float] = field(default_factory=list)
    tokens: int = 0
    steps: int = 0
    is_gold: bool = False
    error: str = ""
    solved_s: float = 0.0


#: what a request does before it is sent on: a solver's work
Before = Callable[[], Awaitable[None]]


class Request(NamedTuple):
    """What is sent, the text that is to come, and what is done before."""

    body: dict[str, Any]
    text: str = ""
    before: Before | None = None


def body(record: Record, *, relations: bool, constrained: bool = True) -> dict[str, Any]:
    """The request of a record; ``relations``: with them, else its schema alone."""
    sampling: dict[str, Any] = {
        "temperature": 0.0,
        "max_new_tokens": len(record.gold),
        "custom_params": {"gold": record.gold},
    }
    if record.document and constrained:
        sampling["json_schema"] = record.document if relations else record.schema_text
    else:
        sampling["ignore_eos"] = True
    return {"input_ids": record.prompt, "sampling_params": sampling, "stream": True}


def fixed(record: Record) -> dict[str, Any]:
    """The request of a record that is known: a grammar with its text alone."""
    made = body(record, relations=False, constrained=False)
    del made["sampling_params"]["ignore_eos"]
    made["sampling_params"]["ebnf"] = f"root ::= {json.dumps(record.text)}"
    return made


class Client:
    """Sends requests to one server. Use as an asynchronous context manager."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Client:
        import aiohttp

        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=2.0),
            read_bufsize=2**20,
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._http is not None
        await self._http.close()

    async def flush(self) -> None:
        """Have the server forget prompts and what it drafts from. Nothing may run."""
        assert self._http is not None
        for _ in range(_TRIES):
            async with self._http.post(f"{self._url}/flush_cache") as response:
                if response.status == 200:
                    return
            await asyncio.sleep(0.1)
        raise RuntimeError("the server does not flush its cache")

    async def send(self, request: Request) -> Answer:
        """Send a request and read its answer; errors stand in it."""
        import aiohttp

        assert self._http is not None
        answer = Answer(perf_counter())
        try:
            if request.before is not None:
                await request.before()
                answer.solved_s = perf_counter() - answer.sent_s
            async with self._http.post(f"{self._url}/generate", json=request.body) as response:
                if response.status != 200:
                    answer.error = (await response.text())[:300]
                    return answer
                await _read(response, answer, request.text)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            answer.error = repr(error)[:300]
        return answer

    async def wave(self, requests: Sequence[Request]) -> list[Answer]:
        """All at once."""
        return list(await asyncio.gather(*map(self.send, requests)))

    async def loop(self, requests: Sequence[Request], in_flight: int) -> list[Answer]:
        """So many at a time, the next as soon as one has ended."""
        gate = asyncio.Semaphore(in_flight)

        async def one(request: Request) -> Answer:
            async with gate:
                return await self.send(request)

        return list(await asyncio.gather(*map(one, requests)))


async def _read(response: aiohttp.ClientResponse, answer: Answer, text: str) -> None:
    written = ""
    async for line in response.content:
        if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
            continue
        now = perf_counter()
        piece = json.loads(line[5:])
        if "error" in piece:
            answer.error = str(piece["error"])[:300]
            return
        meta = piece["meta_info"]
        answer.tokens, answer.steps = meta["completion_tokens"], meta.get("spec_verify_ct") or 0
        written = piece.get("text") or written
        if answer.first_s:
            answer.gaps_s.append(now - answer.last_s)
        answer.first_s, answer.last_s = answer.first_s or now, now
        reason = meta.get("finish_reason") or {}
        if reason.get("type") == "abort":
            answer.error = str(reason.get("message"))[:300]
    answer.is_gold = not text or written == text
    if not answer.first_s and not answer.error:
        answer.error = "no answer"

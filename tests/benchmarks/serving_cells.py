"""One cell of the serving benchmark: a workload at a number of requests in flight on one engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tests.benchmarks.serving_client import Answer, Client, Request, body, fixed
from tests.benchmarks.serving_records import CHAT, MIXED, TOOL_BEFORE, TOOL_NEW, Record
from tests.benchmarks.serving_servers import EngineKind
from tests.benchmarks.serving_solver import Solvers

#: requests of a closed loop for each place, and at least
_LOOPS, _LEAST = 2, 6
_READING = 32
#: workloads of texts that no server would meet twice: the server forgets them before each wave, and
#: others of their kind, so many, are written first; they have no closed loop, which would bring them again
FRESH = {"trip-open": "trip-open-short", TOOL_NEW: TOOL_BEFORE}
_BEFORE = 32
#: other workloads whose answers are too long, or say too little, for a closed loop
_WAVES_ALONE = (CHAT, MIXED)


@dataclass(frozen=True)
class Cell:
    """See above.

    Attributes:
        workload: its name.
        in_flight: requests at a time.
        records: of the workload.
        kind: the engine.
        before: records that are written before each wave by a server that has forgotten all.
        solvers: of an engine that needs them.
    """

    workload: str
    in_flight: int
    records: Sequence[Record]
    kind: EngineKind
    before: Sequence[Record] = ()
    solvers: Solvers | None = None

    @property
    def is_fresh(self) -> bool:
        """The server has to forget."""
        return self.workload in FRESH

    @property
    def num_loop(self) -> int:
        """Requests of the closed loop."""
        if self.is_fresh or self.workload in _WAVES_ALONE:
            return 0
        return max(_LEAST, _LOOPS * self.in_flight)

    def picked(self, first: int, count: int) -> list[Record]:
        """Some records."""
        return [self.records[(first + at) % len(self.records)] for at in range(count)]

    def requests(self, records: Sequence[Record]) -> list[Request]:
        """Their requests."""
        return [request(each, self.kind, self.solvers) for each in records]


class Row(NamedTuple):
    """One repeat: a wave and a closed loop.

    ``cpu_s``: processor seconds of server and solvers. ``wall_s``: what both took.
    """

    wave: list[Answer]
    loop: list[Answer]
    cpu_s: float
    wall_s: float
    num_new_specs: int


def request(record: Record, kind: EngineKind, solvers: Solvers | None = None) -> Request:
    """A record's request to an engine."""
    if kind.solved and record.document:
        assert solvers is not None
        return Request(fixed(record), record.text, partial(solvers.solve, record))
    made = body(record, relations=kind.relations, constrained=kind.constrained)
    return Request(made, record.text)


async def read_prompts(client: Client, records: Sequence[Record]) -> None:
    """Have the prompts in the cache."""
    short = []
    for each in records:
        made = body(each, relations=False, constrained=False)
        made["sampling_params"]["max_new_tokens"] = 1
        short.append(Request(made))
    await client.loop(short, _READING)


async def warm_up(client: Client, cell: Cell) -> None:
    """Read all prompts, so that later requests find them in the cache; run some answers for what is compiled.

    No document is seen that the cells bring, but for the first. ``cell``: with the most in flight.
    """
    await read_prompts(client, cell.records)
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64, 128) if size <= cell.in_flight]
    for size in sizes:
        requests = []
        for each in cell.records[:size]:
            made = body(each, relations=False, constrained=False)
            made["sampling_params"]["max_new_tokens"] = 4
            requests.append(Request(made))
        await client.wave(requests)
    await client.send(request(cell.records[0], cell.kind, cell.solvers))


async def run_cell(
    client: Client, cell: Cell, repeat: int, seen: set[str], cpu_s: Callable[[], float]
) -> Row:
    """One repeat.

    Args:
        client: of the server.
        cell: which.
        repeat: which; each takes other records as far as there are.
        seen: documents that the server has met.
        cpu_s: processor seconds of the server so far.
    """
    count = cell.in_flight
    first = cell.picked(repeat * count, count)
    if cell.is_fresh:
        await client.flush()
        await read_prompts(client, first)
        await client.loop(cell.requests(cell.before[:_BEFORE]), _READING)
    documents = {each.document for each in first} - {""}
    num_new, before = len(documents - seen), cpu_s()
    wave = await client.wave(cell.requests(first))
    again = cell.picked(repeat * count, cell.num_loop)
    loop = await client.loop(cell.requests(again), count)
    spent = cpu_s() - before
    seen |= documents | ({each.document for each in again} - {""})
    return Row(wave, loop, spent, span_s(wave) + span_s(loop), num_new)


def span_s(answers: Sequence[Answer]) -> float:
    """From the first that was sent to the last that came; 0 where none came."""
    ended = [answer.last_s for answer in answers if not answer.error]
    return max(ended) - min(answer.sent_s for answer in answers) if ended else 0.0

"""One cell of the serving benchmark: a workload at a number of requests in flight on one engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any, NamedTuple

from tests.benchmarks.serving_client import Answer, Client, body
from tests.benchmarks.serving_records import Record
from tests.benchmarks.serving_servers import EngineKind

#: requests of a closed loop for each place, and at least
_LOOPS, _LEAST = 2, 6
_READING = 32


@dataclass(frozen=True)
class Cell:
    """See above."""

    workload: str
    in_flight: int
    records: Sequence[Record]
    kind: EngineKind

    def requests(self, first: int, count: int) -> list[tuple[dict[str, Any], str]]:
        """Some records' requests, each with the text that it is to get."""
        picked = [self.records[(first + at) % len(self.records)] for at in range(count)]
        kind = self.kind
        return [
            (body(each, relations=kind.relations, constrained=kind.constrained), each.text) for each in picked
        ]

    def documents(self, first: int, count: int) -> set[str]:
        """The documents of these records."""
        return {self.records[(first + at) % len(self.records)].document for at in range(count)} - {""}


class Row(NamedTuple):
    """One repeat: a wave and a closed loop."""

    wave: list[Answer]
    loop: list[Answer]
    loop_s: float
    cpu_s: float
    num_new_specs: int


async def warm_up(client: Client, records: Sequence[Record], most: int, kind: EngineKind) -> None:
    """Read all prompts, so that later requests find them in the cache; run some answers for what is compiled.

    No document is seen that the cells bring, but for the first.
    """
    short = [{**body(each, relations=False, constrained=False), "stream": True} for each in records]
    for request in short:
        request["sampling_params"] = {**request["sampling_params"], "max_new_tokens": 1}
    await client.loop([(request, "") for request in short], _READING)
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64, 128) if size <= most]
    for size in sizes:
        requests = []
        for each in records[:size]:
            request = body(each, relations=False, constrained=False)
            request["sampling_params"]["max_new_tokens"] = 4
            requests.append((request, ""))
        await client.wave(requests)
    await client.send(body(records[0], relations=kind.relations, constrained=kind.constrained))


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
    documents = cell.documents(repeat * count, count)
    num_new, before = len(documents - seen), cpu_s()
    wave = await client.wave(cell.requests(repeat * count, count))
    seen |= documents
    loop = await client.loop(cell.requests(repeat * count, max(_LEAST, _LOOPS * count)), count)
    seen |= cell.documents(repeat * count, max(_LEAST, _LOOPS * count))
    ended = [answer.last_s for answer in loop if not answer.error]
    loop_s = max(ended, default=0.0) - min(answer.sent_s for answer in loop)
    return Row(wave, loop, loop_s, cpu_s() - before, num_new)


def medians(rows: Sequence[Row]) -> dict[str, Any]:
    """What is told of a cell: medians over repeats; with specs that the server knew, where there are such."""
    known = [row for row in rows if not row.num_new_specs] or rows
    each = [_figures(row) for row in known]
    found: dict[str, Any] = {name: _rounded(median(one[name] for one in each)) for name in each[0]}
    answers = [answer for row in rows for answer in (*row.wave, *row.loop)]
    errors = [answer.error for answer in answers if answer.error]
    first = [_figures(row)["decode_ms"] for row in rows if row.num_new_specs]
    return {
        **found,
        "repeats": [_rounded(_figures(row)["decode_ms"]) for row in rows],
        "new_specs_decode_ms": _rounded(median(first)) if first else None,
        "gold": f"{sum(answer.is_gold for answer in answers)}/{len(answers)}",
        "errors": len(errors),
        "error": errors[0] if errors else "",
    }


def _figures(row: Row) -> dict[str, float]:
    """Of one repeat.

    ``decode_ms``: from a record's first token to its last, in a wave; other prompts may be read meanwhile.
    ``after_read_ms``: the same from the moment when the whole wave is read. ``loop_decode_ms``: in the loop.
    """
    wave = [answer for answer in row.wave if not answer.error]
    both = wave + [answer for answer in row.loop if not answer.error]
    if not wave:
        return dict.fromkeys(_NAMES, 0.0)
    read_s = max(answer.first_s for answer in wave)
    gaps = sorted(gap for answer in both for gap in answer.gaps_s)
    whole = sorted(answer.last_s - answer.sent_s for answer in both)
    tokens, steps = sum(answer.tokens for answer in both), sum(answer.steps for answer in both)
    drawn = tokens - len(both)
    values = (
        1e3 * mean(answer.last_s - answer.first_s for answer in wave),
        1e3 * mean(max(0.0, answer.last_s - read_s) for answer in wave),
        1e3 * mean(answer.last_s - answer.first_s for answer in both[len(wave) :] or wave),
        sum(not answer.error for answer in row.loop) / row.loop_s if row.loop_s > 0 else 0.0,
        drawn / steps if steps else 1.0,
        tokens / len(both),
        1e3 * _at(gaps, 0.5),
        1e3 * _at(gaps, 0.99),
        1e3 * median(answer.first_s - answer.sent_s for answer in both),
        1e3 * _at(whole, 0.5),
        1e3 * _at(whole, 0.99),
        1e3 * row.cpu_s / tokens,
    )
    return dict(zip(_NAMES, values, strict=True))


_NAMES = (
    "decode_ms",
    "after_read_ms",
    "loop_decode_ms",
    "records_s",
    "tokens_step",
    "tokens_record",
    "itl_p50_ms",
    "itl_p99_ms",
    "ttft_p50_ms",
    "e2e_p50_ms",
    "e2e_p99_ms",
    "cpu_s_1k",
)


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def _rounded(value: float) -> float:
    return round(value, 2 if value < 100 else 1)

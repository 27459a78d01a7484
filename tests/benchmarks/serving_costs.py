"""What a filled input costs, and with it the best that certain tokens could bring.

Certain tokens need no drawing: a server that knew all of a record but its first token could fill it in one
go. Of c records in flight with T tokens each that takes ``E(c · T)``, the time of a step with so many inputs;
no engine decodes them faster. E is what FactorSpec's worker measures at its start, and says in its log, or is
made of the prefill of prompts that the server has not seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from factorspec_server.drafting import CostModel
from tests.benchmarks.serving_client import Client, Request

#: tokens of the prompts that are read; each so many times, and the quickest counts
_SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 6144)
_TIMES = 3
_VOCABULARY = 1000
_LINE = re.compile(r"FactorSpec: ragged up to \d+ inputs, milliseconds: (.*)")
_POINT = re.compile(r"(\d+): ([\d.]+)")

Points = list[tuple[int, float]]


async def read_costs(client: Client, most: int) -> Points:
    """Milliseconds to the first token of one prompt, by its tokens; up to ``most`` of them.

    The server's own handling of a request is in them, so that they are too large by the same for all sizes.
    """
    random = Random(0)
    found = []
    for size in [size for size in _SIZES if size <= most]:
        times = []
        for _ in range(_TIMES):
            prompt = [random.randrange(_VOCABULARY) for _ in range(size)]
            sampling = {"temperature": 0.0, "max_new_tokens": 1, "ignore_eos": True}
            made: dict[str, Any] = {"input_ids": prompt, "sampling_params": sampling, "stream": True}
            answer = await client.send(Request(made))
            if not answer.error:
                times.append(1e3 * (answer.first_s - answer.sent_s))
        if times:
            found.append((size, round(min(times), 2)))
    return found


def worker_costs(log: str) -> Points:
    """Milliseconds by inputs, as FactorSpec's worker says them in its log; none where it says nothing."""
    found = _LINE.findall(log)
    return [(int(inputs), float(ms)) for inputs, ms in _POINT.findall(found[-1])] if found else []


def filled_us(points: Sequence[tuple[int, float]]) -> float:
    """Microseconds of one more input where there are many: from half the largest size to the largest."""
    (most, longest) = points[-1]
    size, shorter = min(points, key=lambda point: abs(point[0] - most / 2))
    return 1e3 * (longest - shorter) / (most - size) if most > size else 0.0


def bound_ms(points: Sequence[tuple[int, float]], in_flight: int, tokens: float) -> float:
    """Milliseconds in which so many records of so many tokens could be filled."""
    return CostModel.of(points).step_s(round(in_flight * tokens))

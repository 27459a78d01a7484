"""Kernels that lay out ragged steps are compiled when the server starts, and not in the steps that need them.

SGLang compiles them for each power of two of requests, and once more where a number is 1 or divides by 16: a
tenth of a second each, in the middle of somebody's answer. What was compiled once stays on the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

from factorspec_server.sglang import compat


def compile_layouts(graphs: Any) -> int:
    """Lay out one step of each kind that these ragged graphs can run; how many there were."""
    found = list(kinds({tier: graphs.slots(tier) for tier in graphs.capture_num_tokens}))
    for requests, tier, slots in found:
        counts = torch.ones(requests, dtype=torch.int32, device=graphs.device)
        layout = compat.RaggedVerifyLayout._assemble_device(  # noqa: SLF001
            verify_lens=counts, graph_num_tokens=tier
        )
        layout.padded_to_bucket(padded_bs=slots)
    return len(found)


def kinds(slots_of: dict[int, int]) -> Iterator[tuple[int, int, int]]:
    """Requests, tier and slots of one step of each kind; ``slots_of``: places for requests by tier."""
    seen: set[tuple[object, ...]] = set()
    for (tier, slots), requests in product(slots_of.items(), range(1, max(slots_of.values(), default=0) + 1)):
        if requests <= slots:
            padded = (slots - 1).bit_length(), _special(slots), _special(tier)
            own = (requests - 1).bit_length(), _special(requests)
            new = {("padded", *padded, own[1]), ("own", *own)} - seen
            if new:
                seen |= new
                yield requests, tier, slots


def _special(number: int) -> int:
    """What a kernel is compiled for of a number that it is called with."""
    return 1 if number == 1 else 16 if number % 16 == 0 else 0

"""Rows of logits beyond the first of each request: where they go on the GPU, and what they cost."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import torch

from factorspec_server.sglang.session_grammar import SessionGrammar

_TIMED = 3


def logits_of(model_runner: Any, rows: int) -> torch.Tensor:
    """Room for the logits of so many rows."""
    return torch.zeros(
        (rows, model_runner.model_config.vocab_size), dtype=torch.float, device=model_runner.device
    )


def row_s(logits: torch.Tensor) -> float:
    """Seconds that a row of logits takes behind the forward pass: its mask is copied, and a token drawn.

    Args:
        logits: (rows, vocabulary), written over with zeros.
    """
    words = torch.full((len(logits), (logits.shape[1] + 31) // 32), -1, dtype=torch.int32).pin_memory()

    def once(count: int) -> float:
        logits.zero_()
        torch.cuda.synchronize()
        began_s = perf_counter()
        SessionGrammar.apply_vocab_mask(logits[:count], words[:count].to(logits.device, non_blocking=True))
        torch.softmax(logits[:count], dim=-1).argmax(dim=-1)
        torch.cuda.synchronize()
        return perf_counter() - began_s

    few, all_ = max(1, len(logits) // 8), len(logits)
    seconds = [median(once(count) for _ in range(_TIMED)) for count in (all_, few, all_, few)]
    return max(0.0, seconds[2] - seconds[3]) / max(1, all_ - few)

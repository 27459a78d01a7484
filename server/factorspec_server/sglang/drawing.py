"""Drawing the tokens of a step's decisions with SGLang's own sampler: each row as plain decoding draws it."""

from __future__ import annotations

from copy import copy
from typing import Any

import torch

from factorspec_server.sglang import compat

_PER_REQUEST = ("temperatures", "top_ps", "top_ks", "min_ps", "sampling_seed", "logit_bias")
_PENALTIES = ("acc_additive_penalties", "acc_scaling_penalties")


def for_rows(sampling: Any, askers: torch.Tensor | None = None) -> Any:
    """The batch's settings with an entry for each row.

    Args:
        sampling: of the batch, an entry for each request.
        askers: (rows,) the request of each row, on the device; None: a row for each request, in order.
    """
    info = copy(sampling)
    info.grammars = None  # of a batch that has some, SGLang has ranks agree on the least of their draws
    if askers is not None:
        for name in (*_PER_REQUEST, *_PENALTIES):
            value = getattr(info, name)
            if value is not None:
                setattr(info, name, value[askers])
    return info


def mask(info: Any, logits: torch.Tensor, rows: torch.Tensor | None, apply_rows: Any) -> None:
    """Apply penalties, mask rows and biases to the logits, in place.

    Args:
        info: of ``for_rows``.
        logits: (rows, vocabulary).
        rows: (rows, words) int32 on the logits' device; None: nothing is masked.
        apply_rows: applies them.
    """
    compat.set_mask(info, rows, apply_rows)
    info.apply_logits_bias(logits)
    compat.set_mask(info, None, apply_rows)


def draw(sampler: Any, output: Any, info: Any, positions: torch.Tensor) -> torch.Tensor:
    """A token for each row: (rows,). Uses the logits up.

    Args:
        sampler: of the model runner.
        output: holds the logits.
        info: of ``for_rows``.
        positions: (rows,) of the token before each.
    """
    count = len(positions)
    drawn: torch.Tensor = sampler(output, info, False, [0] * count, [None] * count, positions)
    return drawn


def draws_one_by_one(batch: Any) -> bool:
    """True if something is told of each request once a step, so that it may have one row only."""
    info = batch.sampling_info
    penalties = info.penalizer_orchestrator  # counted for each request; without overlap they come like that
    return bool(
        batch.return_logprob
        or (penalties is not None and penalties.is_required)
        or info.has_custom_logit_processor
        or any(info.return_sampling_masks or ())
    )

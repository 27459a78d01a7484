"""Mask rows on logits, on CPU too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from factorspec_server.sglang import compat


def mask_logits(logits: torch.Tensor, rows: torch.Tensor) -> None:
    """Set the logits of tokens that are not allowed to minus infinity, in place.

    Args:
        logits: (batch, vocabulary).
        rows: (batch, row_words) int32, as in ``tokens/masks.py``, on the device of ``logits``.
    """
    if logits.device.type == "cpu":
        import xgrammar

        xgrammar.apply_token_bitmask_inplace(logits, rows)
    else:
        compat.apply_token_bitmask_inplace_triton(logits, rows)


def apply_vocab_mask(
    original: Callable[..., None], grammar: Any, logits: torch.Tensor, vocab_mask: torch.Tensor
) -> None:
    """Hook around the method of XGrammar's grammars, which raises for tensors on a CPU."""
    if logits.device.type == "cpu":
        mask_logits(logits, vocab_mask)
    else:
        original(grammar, logits, vocab_mask)

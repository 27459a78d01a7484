"""Which tokens of a step stand: the draws at the decisions against the chain's guesses, on the device.

A draw under the whole mask stands in any case; the chain behind a decision stands while the draws equal its
guesses. So what is written has the distribution of drawing token by token, and under greedy choice or seeded
noise it is the same tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class Accepted(NamedTuple):
    """What stands.

    Attributes:
        tokens: (B, S) int64; of each request the first ``lengths`` are those that stand.
        lengths: (B,) int64.
        last: (B,) int64, the last of them.
    """

    tokens: torch.Tensor
    lengths: torch.Tensor
    last: torch.Tensor


class Ends(NamedTuple):
    """Parts of ``StepLayout``'s block on the device: each (B, K) int64; ``tokens``: (B, S) int64."""

    offsets: torch.Tensor
    guesses: torch.Tensor
    known: torch.Tensor
    tokens: torch.Tensor


def accept(ends: Ends, drawn: torch.Tensor) -> Accepted:
    """Follow the chains. Changes ``ends.tokens``; never waits for the device.

    Args:
        ends: of the step.
        drawn: (B, K) integers, drawn at each decision; what stands where a token is known counts for nothing.
    """
    values = torch.where(ends.known >= 0, ends.known, drawn.to(torch.int64))
    stands = values == ends.guesses
    # the decision that ends the chain: the first whose draw is not its guess; the last one has none
    at = stands.to(torch.int64).cumprod(dim=1).sum(dim=1, keepdim=True)
    offset, last = ends.offsets.gather(1, at), values.gather(1, at)
    ends.tokens.scatter_(1, offset, last)
    return Accepted(ends.tokens, offset.squeeze(1) + 1, last.squeeze(1))


def accept_reference(
    offsets: list[int], guesses: list[int], known: list[int], drawn: list[int]
) -> tuple[int, int]:
    """The same for one request, in plain words: how many tokens stand, and the last of them."""
    for offset, guess, certain, draw in zip(offsets, guesses, known, drawn, strict=True):
        value = draw if certain < 0 else certain
        if value != guess:
            return offset + 1, value
    raise AssertionError("the last decision has no guess")

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
        entries: (B,) int64, the entry that each request's path ends in; None: its own chain.
    """

    tokens: torch.Tensor
    lengths: torch.Tensor
    last: torch.Tensor
    entries: torch.Tensor | None = None


class Ends(NamedTuple):
    """Parts of ``StepLayout``'s block on the device: each (B, K) int64; ``tokens``: (B, S) int64."""

    offsets: torch.Tensor
    guesses: torch.Tensor
    known: torch.Tensor
    tokens: torch.Tensor


class Branches(NamedTuple):
    """The N branches of a step behind its B chains, on the device; see ``StepBranches``.

    Attributes:
        owners, parents, decisions, heads: (N,) int64.
        nodes: (N, S) int64.
        depth: most branches on one path.
    """

    owners: torch.Tensor
    parents: torch.Tensor
    decisions: torch.Tensor
    heads: torch.Tensor
    nodes: torch.Tensor
    depth: int


def accept(ends: Ends, drawn: torch.Tensor, branches: Branches | None = None) -> Accepted:
    """Follow the chains, and branches that begin with what was drawn. Changes ``ends.tokens``; nobody waits.

    Args:
        ends: of the step.
        drawn: (B, K) integers, drawn at each decision; what stands where a token is known counts for nothing.
        branches: entries of ``ends`` and ``drawn`` behind those of requests.
    """
    values = torch.where(ends.known >= 0, ends.known, drawn.to(torch.int64))
    stands = values == ends.guesses
    # the decision that ends the chain: the first whose draw is not its guess; the last one has none
    at = stands.to(torch.int64).cumprod(dim=1).sum(dim=1, keepdim=True)
    offset, last = ends.offsets.gather(1, at), values.gather(1, at)
    ends.tokens.scatter_(1, offset, last)
    lengths, last = offset.squeeze(1) + 1, last.squeeze(1)
    if branches is None:
        return Accepted(ends.tokens, lengths, last)
    entries = _last_entries(branches, at.squeeze(1), last)
    return Accepted(ends.tokens[entries], lengths[entries], last[entries], entries)


def _last_entries(branches: Branches, at: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """The entry that each request's path ends in; ``at``, ``last``: (E,) of entries, where each ends."""
    num_entries, parents = len(at), branches.parents
    every = torch.arange(num_entries, device=at.device)
    numbers = every[num_entries - len(parents) :]
    goes_on = (at[parents] == branches.decisions) & (last[parents] == branches.heads)
    # of each entry the branch that goes on where it ends, or itself; what does not go on is put behind all
    behind = torch.cat((every, every[:1]))
    behind.scatter_(0, torch.where(goes_on, parents, num_entries), numbers)
    entries = every[: num_entries - len(parents)]
    for _ in range(branches.depth):
        entries = behind[entries]
    return entries


def accept_reference(
    offsets: list[int], guesses: list[int], known: list[int], drawn: list[int]
) -> tuple[int, int]:
    """The same for one request, in plain words: how many tokens stand, and the last of them."""
    for offset, guess, certain, draw in zip(offsets, guesses, known, drawn, strict=True):
        value = draw if certain < 0 else certain
        if value != guess:
            return offset + 1, value
    raise AssertionError("the last decision has no guess")

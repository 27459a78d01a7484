"""The parts of a step's block on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch

from factorspec_server.sglang.acceptance import Branches, Ends
from factorspec_server.sglang.step_layout import StepLayout


@dataclass(frozen=True, slots=True)
class StepTensors:
    """Views of the block of ``StepLayout``: int64, on the device.

    Attributes:
        ids: (inputs,), the last tokens not filled in yet.
        positions: (inputs,).
        owners: (inputs,), -1 where padded.
        rows: (R,).
        askers: (R,).
        picks: (B, K).
        firsts: (B,).
        counts: (B,).
        ends: decisions, and the chains' tokens.
        branches: those that are there; None: there are none.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    owners: torch.Tensor
    rows: torch.Tensor
    askers: torch.Tensor
    picks: torch.Tensor
    firsts: torch.Tensor
    counts: torch.Tensor
    ends: Ends
    branches: Branches | None = None

    @classmethod
    def of(cls, block: torch.Tensor, layout: StepLayout) -> Self:
        """Split the block."""
        parts = torch.split(block, list(layout.sizes))
        ids, positions, owners, rows, askers, picks, offsets, guesses, known, firsts, counts, tokens = parts[
            :12
        ]
        shape = layout.num_entries, layout.num_ends
        ends = Ends(
            offsets.view(shape),
            guesses.view(shape),
            known.view(shape),
            tokens.view(layout.num_entries, layout.stride),
        )
        branches = None
        if layout.branches is not None:
            own, parents, at, heads, nodes = parts[12:]
            nodes = nodes.view(-1, layout.stride)
            branches = Branches(own, parents, at, heads, nodes, layout.branches.depth)
        return cls(ids, positions, owners, rows, askers, picks.view(shape), firsts, counts, ends, branches)

    def start_with(self, last_tokens: torch.Tensor) -> None:
        """Fill in each request's last token, which only the device may know yet."""
        self.ids[self.firsts[: len(last_tokens)]] = last_tokens

    def cache_places(self, requests: torch.Tensor, req_to_token: torch.Tensor) -> torch.Tensor:
        """Where keys and values of the inputs go: (inputs,) int64; those of padding to the dummy place 0.

        Args:
            requests: (B,) rows of ``req_to_token``.
            req_to_token: the place of each position of each request.
        """
        places = req_to_token[requests[self.owners.clamp(min=0)], self.positions].to(torch.int64)
        return torch.where(self.owners >= 0, places, 0)

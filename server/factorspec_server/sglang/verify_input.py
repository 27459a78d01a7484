"""What SGLang carries for a verify step of chains, and between two of them.

A chain is causal, so there is no tree mask; logits are wanted at a few rows only (``select_index``). Between
steps only the last token of each request is kept, so that filtering and merging batches do not depend on the
width of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from factorspec_server.sglang import compat
from factorspec_server.sglang.step_layout import StepLayout

_KEPT = ("future_indices", "new_seq_lens", "last_tokens")


class ChainInput(compat.NgramVerifyInput):
    """A verify input without a tree.

    Attributes:
        last_tokens: (B,) int64, the last token of each request; its keys and values are not there yet.
        select_index: (rows,) int64, the inputs whose logits are wanted; None: all.
    """

    def __init__(
        self,
        *,
        width: int,
        new_seq_lens: torch.Tensor,
        last_tokens: torch.Tensor | None = None,
        draft_token: torch.Tensor | None = None,
        positions: torch.Tensor | None = None,
        select_index: torch.Tensor | None = None,
    ) -> None:
        super().__init__(
            draft_token=draft_token, positions=positions, draft_token_num=width, new_seq_lens=new_seq_lens
        )
        self.last_tokens = last_tokens
        self.select_index = select_index
        self.capture_hidden_mode = compat.CaptureHiddenMode.NULL

    @classmethod
    def between(cls, new_seq_lens: torch.Tensor, last_tokens: torch.Tensor) -> ChainInput:
        """What is kept between two steps; newer releases relay accepted tokens: the last is enough."""
        info = cls(width=1, new_seq_lens=new_seq_lens, last_tokens=last_tokens)
        info.accept_tokens, info.accept_lens = last_tokens, torch.ones_like(last_tokens, dtype=torch.int32)
        return info

    def filter_batch(
        self,
        new_indices: torch.Tensor,
        has_been_filtered: bool = True,
        new_indices_cpu: list[int] | None = None,
    ) -> None:
        """Keep some requests."""
        for name in _KEPT:
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, value[new_indices])

    def merge_batch(self, spec_info: Any) -> None:
        """Append another batch's requests."""
        for name in _KEPT:
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, torch.cat((value, getattr(spec_info, name))))


def ragged_layout(counts: torch.Tensor, layout: StepLayout, num_inputs: int) -> Any:
    """How SGLang's attention sees a ragged step.

    Args:
        counts: (B,) inputs of each request, on the device.
        layout: of the step.
        num_inputs: of the step, padding included.
    """
    if counts.device.type == "cpu":
        return HostLayout(list(layout.counts))
    return compat.RaggedVerifyLayout._assemble_device(  # noqa: SLF001
        verify_lens=counts.to(torch.int32),
        graph_num_tokens=num_inputs,
        verify_lens_cpu=list(layout.counts),
        total_verify_tokens=sum(layout.counts),
    )


@dataclass(frozen=True, slots=True)
class HostLayout:
    """As much of a layout as attention on the CPU reads."""

    verify_lens_cpu: list[int]

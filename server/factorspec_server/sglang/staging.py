"""Host memory that is copied to the device without waiting: two blocks of a kind in turn.

A block may be written again when the copy out of it is done. SGLang launches a step only once the result of
the step before the last is there, so a block that was used two steps ago is free.
"""

from __future__ import annotations

from math import prod

import torch

_LEAST = 1024


class Staging:
    """Blocks by name, grown as needed.

    Args:
        pinned: the memory is pinned, so that copies to a GPU do not wait.
    """

    def __init__(self, *, pinned: bool) -> None:
        self._pinned = pinned
        self._turn = 0
        self._blocks: dict[tuple[str, int], torch.Tensor] = {}

    def next_step(self) -> None:
        """Use the other blocks from here on."""
        self._turn ^= 1

    def block(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """The block of that name for this step, with whatever it holds."""
        size, key = prod(shape), (name, self._turn)
        found = self._blocks.get(key)
        if found is None or found.numel() < size:
            room = max(_LEAST, size + size // 2)
            found = self._blocks[key] = torch.zeros(room, dtype=dtype, pin_memory=self._pinned)
        return found[:size].view(shape)

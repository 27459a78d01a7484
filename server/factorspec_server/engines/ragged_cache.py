"""Keys and values of a ragged batch: each row has its own length, nothing is ever moved to make room.

::

    column      0  1  2  3  4  5  6           length
    row 0       p  p  p  p  a  .  .           5        next token goes to column 5
    row 1       p  p  a  b  x  x  .           4        x: rejected or padding, overwritten by what comes next

A token's column is its position in the row, whatever the other rows do. Extending by T columns writes row b
to columns length[b] .. length[b] + T - 1; where row b has fewer than T tokens, the rest is padding behind its
end. A query at position q sees the columns up to q, so that neither padding nor rejected tokens are ever seen
by a token that counts, and forgetting tokens is setting a length. Unwritten columns hold zeros, so that
masked positions are finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

_COLUMN_BLOCK = 64


class Placement:
    """Where the tokens of the current forward pass go; shared by all layers.

    Attributes:
        rows: (batch, 1) int64, row indices.
        columns: (batch, T) int64, target columns of each row's tokens, padding included.
        width: columns in use after this pass.
    """

    def __init__(self) -> None:
        self.rows = torch.empty(0, 1, dtype=torch.int64)
        self.columns = torch.empty(0, 0, dtype=torch.int64)
        self.width = 0
        self.single_start: int | None = None

    def place(self, lengths: Sequence[int], num_columns: int, device: torch.device) -> None:
        """Set the target of a pass that extends rows of these lengths by ``num_columns`` each."""
        starts = torch.tensor(lengths, dtype=torch.int64, device=device)
        self.columns = starts[:, None] + torch.arange(num_columns, device=device)
        self.rows = torch.arange(len(lengths), device=device)[:, None]
        self.width = max(lengths) + num_columns
        self.single_start = lengths[0] if len(lengths) == 1 else None


class RaggedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer: (batch, heads, capacity, head_dim) each, capacity grown by doubling."""

    is_sliding = False

    def __init__(self, placement: Placement) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._placement = placement

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Make empty buffers of the states' shape, type and device."""
        self.keys = key_states.new_zeros((*key_states.shape[:2], 0, key_states.shape[-1]))
        self.values = value_states.new_zeros((*value_states.shape[:2], 0, value_states.shape[-1]))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (batch, heads, T, head_dim) states to their columns; returns views of the columns in use."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        width = self._placement.width
        assert self.keys is not None and self.values is not None
        self.keys, self.values = _grown(self.keys, width), _grown(self.values, width)
        self._write(self.keys, key_states)
        self._write(self.values, value_states)
        return self.keys[:, :, :width], self.values[:, :, :width]

    def _write(self, buffer: torch.Tensor, states: torch.Tensor) -> None:
        start = self._placement.single_start
        if start is not None:
            buffer[:, :, start : start + states.shape[2]] = states
        else:
            buffer[self._placement.rows, :, self._placement.columns] = states.transpose(1, 2)

    def keep(self, rows: torch.Tensor) -> None:
        """Keep these rows, in this order."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.index_select(0, rows)
            self.values = self.values.index_select(0, rows)

    def get_seq_length(self) -> int:
        """Columns before the current pass. Models ask only where no positions are given."""
        return self._placement.width - self._placement.columns.shape[1]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Columns in use and their offset."""
        return self._placement.width, 0

    def get_max_length(self) -> int:
        """No maximum."""
        return -1


def _grown(buffer: torch.Tensor, width: int) -> torch.Tensor:
    """The buffer, or a larger copy if it has fewer than ``width`` columns."""
    capacity = buffer.shape[2]
    if capacity >= width:
        return buffer
    wanted = -(-max(width, 2 * capacity) // _COLUMN_BLOCK) * _COLUMN_BLOCK
    larger = buffer.new_zeros((*buffer.shape[:2], wanted, buffer.shape[3]))
    larger[:, :, :capacity] = buffer
    return larger


class RaggedCache(Cache):
    """The cache of a ragged batch, in the form that transformers' models take."""

    def __init__(self, num_layers: int) -> None:
        self.placement = Placement()
        self._own_layers = [RaggedLayer(self.placement) for _ in range(num_layers)]
        super().__init__(layers=list(self._own_layers))

    def keep(self, rows: Sequence[int], device: torch.device) -> None:
        """Keep these rows, in this order."""
        index = torch.tensor(list(rows), dtype=torch.int64, device=device)
        for layer in self._own_layers:
            layer.keep(index)

"""Keys and values of a ragged batch: each row has its own length, nothing is moved to make room.

::

    column      0  1  2  3  4  5  6           length
    row 0       p  p  p  p  a  .  .           5        next token goes to column 5
    row 1       p  p  a  b  x  x  .           4        x: rejected or padding, overwritten by what comes next

A held token's column is its position in the row, whatever the other rows do. A pass of T columns writes row b
to columns length[b] .. length[b] + T - 1; where row b has fewer than T tokens, the rest is padding behind its
end. What a token sees is the mask's business; accepting tokens is setting a length, and moving those columns
that stand behind a rejected token. Unwritten columns hold zeros, so that masked positions are finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

_COLUMN_BLOCK = 64


class Placement:
    """Where the tokens of the current forward pass go; shared by all layers.

    Attributes:
        num_rows: rows of the batch.
        index: (B, 1) int64, indices of the rows that take part.
        rows: those rows as a slice, None where they do not follow each other.
        columns: (B, T) int64, target columns of each row's tokens, padding included.
        width: columns in use after this pass.
    """

    def __init__(self) -> None:
        self.num_rows = 0
        self.index = torch.empty(0, 1, dtype=torch.int64)
        self.rows: slice | None = None
        self.columns = torch.empty(0, 0, dtype=torch.int64)
        self.width = 0
        self.single_start: int | None = None

    def place(self, rows: Sequence[int], lengths: Sequence[int], num_columns: int) -> None:
        """Set the target of a pass that extends ``rows``, of these lengths, by ``num_columns`` each."""
        device = self.columns.device
        starts = torch.tensor(lengths, dtype=torch.int64, device=device)
        self.columns = starts[:, None] + torch.arange(num_columns, device=device)
        self.index = torch.tensor(rows, dtype=torch.int64, device=device)[:, None]
        adjoin = rows[-1] - rows[0] == len(rows) - 1
        self.rows = slice(rows[0], rows[-1] + 1) if adjoin else None
        self.width = max(lengths) + num_columns
        self.single_start = lengths[0] if len(lengths) == 1 else None


@dataclass(frozen=True, slots=True)
class Moves:
    """Columns to copy within rows, for all layers alike: (n,) int64 each."""

    rows: torch.Tensor
    sources: torch.Tensor
    targets: torch.Tensor


class RaggedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer: (rows, heads, columns, head_dim) each, grown by doubling."""

    is_sliding = False

    def __init__(self, placement: Placement) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._placement = placement

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Make empty buffers of the states' shape, type and device."""
        self.keys = key_states.new_zeros((0, key_states.shape[1], 0, key_states.shape[-1]))
        self.values = value_states.new_zeros((0, value_states.shape[1], 0, value_states.shape[-1]))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (B, heads, T, head_dim) states to their columns; returns the columns in use of their rows."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.grow(self._placement.num_rows, self._placement.width)
        keys, values = self.buffers
        return self._written(keys, key_states), self._written(values, value_states)

    @property
    def buffers(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values."""
        assert self.keys is not None and self.values is not None
        return self.keys, self.values

    def grow(self, num_rows: int, width: int) -> None:
        """Make room for that many rows and columns."""
        keys, values = self.buffers
        self.keys, self.values = _grown(keys, num_rows, width), _grown(values, num_rows, width)

    def _written(self, buffer: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        place = self._placement
        if place.single_start is not None and place.rows is not None:
            start = place.single_start
            buffer[place.rows, :, start : start + states.shape[2]] = states
        else:
            buffer[place.index, :, place.columns] = states.transpose(1, 2)
        rows = place.index[:, 0] if place.rows is None else place.rows
        return buffer[rows, :, : place.width]

    def get_seq_length(self) -> int:
        """Columns before the current pass. Models ask only where no positions are given."""
        return self._placement.width - self._placement.columns.shape[1]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Columns in use and their offset."""
        return self._placement.width, 0

    def get_max_length(self) -> int:
        """No maximum."""
        return -1


def _grown(buffer: torch.Tensor, num_rows: int, width: int) -> torch.Tensor:
    """The buffer, or a larger copy if it has fewer rows or columns than wanted."""
    old_rows, _, old_width, _ = buffer.shape
    if old_rows >= num_rows and old_width >= width:
        return buffer
    if old_width < width:
        width = -(-max(width, 2 * old_width) // _COLUMN_BLOCK) * _COLUMN_BLOCK
    num_rows = old_rows if old_rows >= num_rows else max(num_rows, 2 * old_rows)
    larger = buffer.new_zeros((num_rows, buffer.shape[1], max(width, old_width), buffer.shape[3]))
    larger[:old_rows, :, :old_width] = buffer
    return larger


class RaggedCache(Cache):
    """The cache of a ragged batch, in the form that transformers' models take."""

    def __init__(self, num_layers: int, device: torch.device) -> None:
        self.placement = Placement()
        self.placement.columns = self.placement.columns.to(device)
        self._own_layers = [RaggedLayer(self.placement) for _ in range(num_layers)]
        super().__init__(layers=list(self._own_layers))

    def _buffers(self) -> Iterator[torch.Tensor]:
        for layer in self._own_layers:
            if layer.is_initialized:
                yield from layer.buffers

    @torch.inference_mode()
    def move(self, moves: Moves) -> None:
        """Copy columns; all sources are read before a target is written."""
        for buffer in self._buffers():
            buffer[moves.rows, :, moves.targets] = buffer[moves.rows, :, moves.sources]

    @torch.inference_mode()
    def copy_row(self, source: int, target: int, length: int) -> None:
        """Overwrite a row's first ``length`` columns by those of another."""
        for buffer in self._buffers():
            buffer[target, :, :length] = buffer[source, :, :length]

    @torch.inference_mode()
    def clean(self, row: int, start: int) -> None:
        """Zero a row's columns from ``start`` on."""
        for buffer in self._buffers():
            if row < buffer.shape[0]:
                buffer[row, :, start:] = 0

    @torch.inference_mode()
    def save(self, row: int, start: int, stop: int) -> list[torch.Tensor]:
        """Copies of a row's columns: (heads, stop - start, head_dim) for each layer's keys and values."""
        return [buffer[row, :, start:stop].clone() for buffer in self._buffers()]

    @torch.inference_mode()
    def restore(self, row: int, start: int, saved: Sequence[torch.Tensor], length: int) -> None:
        """Write the first ``length`` columns of what ``save`` returned to a row, from ``start`` on."""
        for layer, keys, values in zip(self._own_layers, saved[::2], saved[1::2], strict=True):
            if not layer.is_initialized:
                layer.lazy_initialization(keys[None], values[None])
            layer.grow(self.placement.num_rows, start + length)
            for buffer, states in zip(layer.buffers, (keys, values), strict=True):
                buffer[row, :, start : start + length] = states[:, :length]

"""What the runner needs of a model: batches of rows that are extended, cut back and dropped.

A batch is a set of rows; a row is a sequence of tokens whose keys and values the model holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from factorspec_server.drafting.seam import FloatArray, IntArray

Want = tuple[int, IntArray | None]
"""A position whose logits are asked for: index into the row's fed tokens, and the token ids (None: all)."""


class Batch(Protocol):
    """Rows that run together. Row indices are positions in the batch and shift when rows are dropped."""

    def extend(
        self, tokens: Sequence[Sequence[int]], wanted: Sequence[Sequence[Want]]
    ) -> list[list[FloatArray]]:
        """Append to each row its own number of tokens (at least one) in one forward pass.

        Args:
            tokens: for each row the tokens to append.
            wanted: for each row the positions after which logits are wanted.

        Returns:
            For each row and each of its wants, in order, the logits: (len(ids),) or (logit_width,) float32.
        """

    def truncate(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order, and drop the others."""


class Model(Protocol):
    """A causal language model together with what its tokenizer says about ids."""

    @property
    def name(self) -> str:
        """The name under which the model is served."""

    @property
    def logit_width(self) -> int:
        """Columns of the logits."""

    @property
    def num_tokens(self) -> int:
        """Ids that the tokenizer knows: 0 to ``num_tokens`` - 1; columns beyond them are never chosen."""

    @property
    def max_positions(self) -> int:
        """Most tokens in a row."""

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Tokens that end an answer."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, special ones left out."""

    def open(self, num_rows: int) -> Batch:
        """A batch of empty rows."""

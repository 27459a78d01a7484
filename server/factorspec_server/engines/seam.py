"""What the runner needs of a model: batches of rows that are extended, verified, shared and dropped.

A batch is a set of rows; a row is a sequence of tokens whose keys and values the model holds. A step feeds
tokens to some rows; what was fed belongs to a row only once it is accepted::

    row      held          fed as a tree            accept(row, (0, 2))      held afterwards
             p p p p       a ─ b                                              p p p p a c
                             └ c ─ d
    index                  0   1  2  3   parents -1 0 0 2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from factorspec_server.drafting.seam import FloatArray, IntArray

Want = tuple[int, IntArray | None]
"""A position whose logits are asked for: index into the row's fed tokens, and the token ids (None: all)."""

Parents = Sequence[int] | None
"""For each fed token of a row the fed token before it, -1 for what the row holds; None is a chain."""


Segment = object
"""Keys and values of successive tokens, kept outside of any batch; only the model's own batches read it."""


class Batch(Protocol):
    """Rows that run together. Row indices are positions in the batch."""

    def join(self) -> None:
        """Append an empty row."""

    def drop(self, row: int) -> None:
        """Take a row out; the last row gets its index."""

    def extend(
        self,
        tokens: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[Want]],
        parents: Sequence[Parents] | None = None,
    ) -> list[list[FloatArray]]:
        """Run each row's own number of tokens behind what it holds; rows without tokens take no part.

        Each token sees what the row holds and its own ancestors, at the position that its depth gives.

        Args:
            tokens: for each row the tokens to run.
            wanted: for each row the fed tokens after which logits are wanted.
            parents: for each row how its tokens hang together, each parent before its children; None: chains.

        Returns:
            For each row and each of its wants, in order, the logits: (len(ids),) or (logit_width,) float32.
        """

    def accept(self, row: int, path: Sequence[int]) -> None:
        """Hold these of the tokens that the last step fed, from the root down, and forget the others."""

    def save(self, row: int, start: int) -> Segment | None:
        """A copy of what the row holds from its ``start``-th token on; None if that is broken numbers."""

    def restore(self, row: int, segment: Segment, length: int) -> None:
        """Append a copy of a segment's first ``length`` tokens to what the row holds."""


class Wording(Protocol):
    """What a model's tokenizer says about ids and their text."""

    @property
    def num_tokens(self) -> int:
        """Ids of the tokenizer are 0 to ``num_tokens`` - 1; columns beyond them are never chosen."""

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Tokens that end an answer."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, special ones left out."""


class Model(Wording, Protocol):
    """A causal language model together with what its tokenizer says about ids."""

    @property
    def name(self) -> str:
        """The name under which the model is served."""

    @property
    def logit_width(self) -> int:
        """Columns of the logits."""

    @property
    def max_positions(self) -> int:
        """Most tokens in a row."""

    @property
    def takes_trees(self) -> bool:
        """False if rows may be extended by chains only."""

    @property
    def token_bytes(self) -> int:
        """Bytes that the keys and values of one token take."""

    def open(self) -> Batch:
        """A batch without rows."""

"""A model without opinions: every allowed token has the same logit, so only the constraint is at work."""

from collections.abc import Sequence

import numpy as np

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.drafting.seam import FloatArray
from factorspec_server.engines.seam import Parents, Segment, Want


class UniformModel:
    """Sampled at temperature 1, it draws uniformly among the allowed tokens. Holds no keys and values."""

    name = "random"
    max_positions = 1_000_000
    takes_trees = True
    token_bytes = 1

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.logit_width = vocabulary.logit_width
        self.num_tokens = len(vocabulary.all_bytes)
        self.end_ids = vocabulary.end_ids

    def decode(self, token_ids: Sequence[int]) -> str:
        return self._vocabulary.decode(token_ids, errors="replace")

    def open(self) -> "UniformBatch":
        return UniformBatch(self.logit_width)


class UniformBatch:
    """Rows of nothing."""

    def __init__(self, logit_width: int) -> None:
        self._logit_width = logit_width

    def join(self) -> None:
        """There is nothing to hold."""

    def drop(self, row: int) -> None:
        """There is nothing to drop."""

    def extend(
        self,
        tokens: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[Want]],
        parents: Sequence[Parents] | None = None,
    ) -> list[list[FloatArray]]:
        return [
            [np.zeros(self._logit_width if ids is None else len(ids), dtype=np.float32) for _, ids in wants]
            for wants in wanted
        ]

    def accept(self, row: int, path: Sequence[int]) -> None:
        """There is nothing to hold."""

    def save(self, row: int, start: int) -> Segment:
        """Nothing."""
        return ()

    def restore(self, row: int, segment: Segment, length: int) -> None:
        """There is nothing to restore."""

"""A model without weights: its logits are a hash of the whole context.

Any token run in the wrong place, left out, or kept although it was rejected changes every later logit, so
that an engine whose drafting is not exact writes something else. Implements the model seam of the embedded
engine (``open`` -> batch with ``extend``, ``truncate``, ``keep``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_PHI = 0x9E3779B97F4A7C15


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _mix_array(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class ScriptedModel:
    """Logits between 0 and ``scale`` by a hash of (seed, context, token).

    With ``scale`` 0 all logits are equal: sampling at temperature 1 then draws uniformly among the allowed
    tokens.

    Attributes:
        forward_passes: calls of ``extend`` so far, over all batches.
        tokens_run: tokens fed so far, over all batches.
    """

    def __init__(
        self,
        logit_width: int,
        *,
        seed: int = 0,
        scale: float = 8.0,
        end_ids: Sequence[int] = (),
        max_positions: int = 1 << 20,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.logit_width = logit_width
        self.num_tokens = logit_width
        self.max_positions = max_positions
        self.end_ids = tuple(end_ids)
        self.seed = seed
        self.scale = scale
        self.forward_passes = 0
        self.tokens_run = 0
        self._all_ids = np.arange(logit_width, dtype=np.int32)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Bytes of UTF-8 where ids are below 256, ``<id>`` beyond; end tokens left out."""
        parts = [
            bytes([token_id]) if token_id < 256 else f"<{token_id}>".encode()
            for token_id in token_ids
            if token_id not in self.end_ids
        ]
        return b"".join(parts).decode("utf-8", errors="replace")

    def open(self, num_rows: int) -> ScriptedBatch:
        """A batch of empty rows."""
        return ScriptedBatch(self, num_rows)

    def logits(self, context: int, token_ids: NDArray[np.int32] | None) -> NDArray[np.float32]:
        """Logits after the context with hash ``context``: (n,) float32, of ``token_ids`` or of all tokens."""
        ids = self._all_ids if token_ids is None else token_ids
        if self.scale == 0.0:
            return np.zeros(len(ids), dtype=np.float32)
        bits = _mix_array((ids.astype(np.uint64) + np.uint64(1)) * np.uint64(_PHI) + np.uint64(context))
        return ((bits >> np.uint64(40)).astype(np.float32) * np.float32(self.scale / (1 << 24))).astype(
            np.float32
        )


class ScriptedBatch:
    """Rows of a ``ScriptedModel``: for each the hashes of all its prefixes, the empty one included."""

    def __init__(self, model: ScriptedModel, num_rows: int) -> None:
        self._model = model
        self._contexts: list[list[int]] = [[_mix((model.seed + _PHI) & _MASK)] for _ in range(num_rows)]

    def extend(
        self,
        tokens: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[tuple[int, NDArray[np.int32] | None]]],
    ) -> list[list[NDArray[np.float32]]]:
        """Append to each row its own tokens; returns the wanted logits for each row."""
        self._model.forward_passes += 1
        outputs: list[list[NDArray[np.float32]]] = []
        for contexts, row_tokens, row_wanted in zip(self._contexts, tokens, wanted, strict=True):
            if not row_tokens:
                raise ValueError("each row must be extended by at least one token")
            start = len(contexts)
            self._model.tokens_run += len(row_tokens)
            for token_id in row_tokens:
                contexts.append(_mix((contexts[-1] ^ ((token_id + 1) * _PHI)) & _MASK))
            outputs.append([self._model.logits(contexts[start + index], ids) for index, ids in row_wanted])
        return outputs

    def truncate(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        del self._contexts[row][length + 1 :]

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        self._contexts = [self._contexts[row] for row in rows]

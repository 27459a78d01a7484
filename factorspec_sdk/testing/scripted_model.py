"""A model without weights: its logits are a hash of the whole context.

Any token run in the wrong place, left out, or kept although it was rejected changes every later logit, so
that an engine whose drafting is not exact writes something else. Implements the model seam of the embedded
engine (``open`` -> batch with ``join``, ``drop``, ``extend``, ``accept``, ``save``, ``restore``).
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
        takes_trees: True if rows may be extended by trees.
    """

    token_bytes = 8  # one hash

    def __init__(
        self,
        logit_width: int,
        *,
        seed: int = 0,
        scale: float = 8.0,
        end_ids: Sequence[int] = (),
        max_positions: int = 1 << 20,
        name: str = "scripted",
        takes_trees: bool = True,
    ) -> None:
        self.name = name
        self.logit_width = logit_width
        self.num_tokens = logit_width
        self.max_positions = max_positions
        self.end_ids = tuple(end_ids)
        self.seed = seed
        self.scale = scale
        self.takes_trees = takes_trees
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

    def open(self) -> ScriptedBatch:
        """A batch without rows."""
        return ScriptedBatch(self)

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

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self._contexts: list[list[int]] = []
        self._fed: list[list[int]] = []
        self._parents: list[list[int]] = []

    def join(self) -> None:
        """Append an empty row."""
        self._contexts.append([_mix((self._model.seed + _PHI) & _MASK)])
        self._fed.append([])
        self._parents.append([])

    def drop(self, row: int) -> None:
        """Take a row out; the last row gets its index."""
        for rows in (self._contexts, self._fed, self._parents):
            rows[row] = rows[-1]
            del rows[-1]

    def extend(
        self,
        tokens: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[tuple[int, NDArray[np.int32] | None]]],
        parents: Sequence[Sequence[int] | None] | None = None,
    ) -> list[list[NDArray[np.float32]]]:
        """Run tokens behind what each row holds, as chains or trees; returns each row's wanted logits."""
        self._model.forward_passes += 1
        hung = parents or [None] * len(tokens)
        self._parents = [
            [*range(-1, len(row_tokens) - 1)] if row is None else [*row]
            for row_tokens, row in zip(tokens, hung, strict=True)
        ]
        self._fed = [_hashes(*row) for row in zip(self._contexts, tokens, self._parents, strict=True)]
        self._model.tokens_run += sum(map(len, tokens))
        return [
            [self._model.logits(fed[index], ids) for index, ids in row_wanted]
            for fed, row_wanted in zip(self._fed, wanted, strict=True)
        ]

    def accept(self, row: int, path: Sequence[int]) -> None:
        """Hold these of the fed tokens, from the root down, and forget the others."""
        parents = [self._parents[row][index] for index in path]
        assert parents == [-1, *path[:-1]][: len(path)], "a path goes from the root down, nothing left out"
        self._contexts[row] += [self._fed[row][index] for index in path]
        self._fed[row], self._parents[row] = [], []

    def save(self, row: int, start: int) -> tuple[int, ...]:
        """What the row holds from its ``start``-th token on."""
        return tuple(self._contexts[row][start + 1 :])

    def restore(self, row: int, segment: object, length: int) -> None:
        """Append a segment's first ``length`` tokens to what the row holds."""
        assert isinstance(segment, tuple)
        self._contexts[row] += segment[:length]


def _hashes(held: list[int], tokens: Sequence[int], parents: Sequence[int]) -> list[int]:
    """The hash of each fed token's own context, behind what a row holds."""
    found: list[int] = []
    for token_id, parent in zip(tokens, parents, strict=True):
        assert -1 <= parent < len(found), "parents stand before their children"
        before = found[parent] if parent >= 0 else held[-1]
        found.append(_mix((before ^ ((token_id + 1) * _PHI)) & _MASK))
    return found

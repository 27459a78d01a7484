"""The tokens of one forward pass, padded to a rectangle, with what each of them sees.

Rows that are extended by very different numbers of tokens are run in passes of their own: a prompt's chunk
beside seven rows that take one token each would otherwise cost eight chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from factorspec_server.engines.seam import Parents


@dataclass(frozen=True, slots=True)
class FedTokens:
    """One pass over some rows of a batch: B rows of T tokens, padding behind each row's own.

    Attributes:
        rows: the rows' indices in the batch.
        lengths: (B,) int64, tokens that each row holds.
        tokens: (B, T) int64, 0 where padded.
        depths: (B, T) int64, tokens of the pass before each one in its row.
        ancestors: (B, T, T) bool, [b, i, j]: token i sees token j; None where all rows are chains.
    """

    rows: tuple[int, ...]
    lengths: NDArray[np.int64]
    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    ancestors: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls,
        rows: Sequence[int],
        lengths: Sequence[int],
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Parents],
    ) -> FedTokens:
        """Collect the fed tokens of ``rows``; the other arguments are those of the whole batch."""
        shape = len(rows), max(len(tokens[row]) for row in rows)
        padded = np.zeros(shape, dtype=np.int64)
        depths = np.arange(shape[1])[None].repeat(shape[0], axis=0)
        for at, row in enumerate(rows):
            padded[at, : len(tokens[row])] = tokens[row]
        ancestors = None
        if any(parents[row] is not None for row in rows):
            ancestors = np.tril(np.ones((shape[1], shape[1]), dtype=np.bool_))[None].repeat(shape[0], axis=0)
            for at, row in enumerate(rows):
                _hang(parents[row], ancestors[at], depths[at])
        held = np.array([lengths[row] for row in rows], dtype=np.int64)
        return cls(tuple(rows), held, padded, depths, ancestors)


def _hang(parents: Parents, ancestors: NDArray[np.bool_], depths: NDArray[np.int64]) -> None:
    """Turn the rows of a chain into those of a tree, in place; a node's row is its parent's and itself."""
    for node, parent in enumerate(parents or ()):
        if parent == node - 1 and (node == 0 or depths[parent] == parent):
            continue  # still the chain that it was
        ancestors[node] = ancestors[parent] if parent >= 0 else False
        ancestors[node, node] = True
        depths[node] = depths[parent] + 1 if parent >= 0 else 0


def passes(num_tokens: Sequence[int], split_tokens: int) -> list[list[int]]:
    """Groups of rows to run together, rows without tokens left out.

    Args:
        num_tokens: of each row.
        split_tokens: padding of more than this many tokens costs more than a pass of its own.

    Returns:
        The rows of each pass, ascending.
    """
    order = sorted((row for row, count in enumerate(num_tokens) if count), key=lambda row: -num_tokens[row])
    groups: list[list[int]] = []
    while order:
        widest = num_tokens[order[0]]
        saved = [(widest - num_tokens[row]) * (len(order) - at) for at, row in enumerate(order)]
        best = max(range(len(order)), key=saved.__getitem__)
        cut = best if saved[best] > split_tokens else len(order)
        groups.append(sorted(order[:cut]))
        order = order[cut:]
    return groups

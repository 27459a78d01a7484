"""Rows of a table as a trie whose equal subtries are one object: the states of a table automaton.

Level k of the trie branches on the k-th key column; a leaf is ``True`` (membership) or the value of
the last column (lookup).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from factorspec_sdk.fields.domains import Scalar, typed_key

Row = Sequence[Scalar]


class Trie:
    """An inner node: typed key of a cell -> subtrie or leaf. Compared by identity.

    lo, hi: bounds of the numbers at the leaves below, None if some leaf is no number.
    """

    __slots__ = ("children", "hi", "lo")

    def __init__(self, children: dict[Hashable, Trie | Leaf]) -> None:
        self.children = children
        self.lo: int | None
        self.hi: int | None
        lows = [child.lo for child in children.values()]
        highs = [child.hi for child in children.values()]
        known = bool(children) and None not in lows and None not in highs
        self.lo = min(v for v in lows if v is not None) if known else None
        self.hi = max(v for v in highs if v is not None) if known else None


class Leaf:
    """The end of a row: its last column (lookup), or None (membership)."""

    __slots__ = ("code", "hi", "lo")

    def __init__(self, code: Scalar) -> None:
        self.code = code
        self.lo = self.hi = code if isinstance(code, int) and not isinstance(code, bool) else None


def build_trie(rows: Sequence[Row], order: Sequence[int], leaf_column: int | None) -> Trie:
    """The trie of ``rows`` by the columns in ``order``; leaves hold ``leaf_column``. O(cells).

    Of two rows with equal keys the first counts.
    """
    root = _grow(list(rows), 0, order, leaf_column, {})
    assert isinstance(root, Trie)
    return root


def _grow(
    group: list[Row],
    depth: int,
    order: Sequence[int],
    leaf_column: int | None,
    made: dict[Hashable, Trie | Leaf],
) -> Trie | Leaf:
    """The subtrie of rows that agree on the first ``depth`` columns; equal ones come from ``made``."""
    if depth == len(order):
        code = None if leaf_column is None else group[0][leaf_column]
        return made.setdefault(("leaf", typed_key(code)), Leaf(code))
    parts: dict[Hashable, list[Row]] = {}
    for row in group:
        parts.setdefault(typed_key(row[order[depth]]), []).append(row)
    children = {key: _grow(part, depth + 1, order, leaf_column, made) for key, part in parts.items()}
    return made.setdefault(frozenset((key, id(child)) for key, child in children.items()), Trie(children))

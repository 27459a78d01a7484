"""Branches of a step as attention sees them: each is one more request, which shares its cached tokens.

An attention kernel runs chains, each behind the cached tokens that its row of places (``req_to_token``)
names. A branch is such a chain with a row of its own: the places of its request up to where it begins, then
those where the tokens before it on its path run in this very step, and its own. Keys and values are written
before any are read, layer by layer, so it finds those of its path::

    request    … l │ a b c d        row       … 0 1 2 3 4     inputs stand where the request has room, the
    branch         │   e f          its row   … 0 1 5 6       chain's first, then behind the places of the
                                                              longest path branch by branch

Where a branch stands in the end, keys and values of its path are copied to where they belong
(``kv_copies.py``), from places that none is copied to; rows of requests are never changed.

Source of the step: Miao et al., SpecInfer (2024), verify trees under a tree mask; here no kernel needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factorspec_server.sglang.chains import Chain

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBranches:
    """B requests, E entries: the chain of each request in order, then all branches, ``N = E - B`` of them.

    Attributes:
        num_requests: B.
        entries: (E,) chains.
        owners: (E,) the request of each.
        numbers: (E,) of each among those of its request: 0 of chains.
        befores: (E,) of each ``Chain.befores``.
        parents, decisions: (N,) the entry that each hangs from, and the index of the decision there.
        heads: (N,) its first token.
        paths: (N,) all tokens of its path.
        nodes: (N,) of each token of its path, where it runs: at the n-th place from the request's last
            token on, which has 0.
    """

    num_requests: int
    entries: Sequence[Chain]
    owners: Ints
    numbers: Ints
    befores: Ints
    parents: Sequence[int]
    decisions: Sequence[int]
    heads: Sequence[int]
    paths: Sequence[Sequence[int]]
    nodes: Sequence[Sequence[int]]

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> StepBranches | None:
        """The branches of these chains; None: there are none. O(tokens of all paths)."""
        if not any(chain.branches for chain in chains):
            return None
        entries, owners = [*chains], [*range(len(chains))]
        numbers, befores = [0] * len(chains), [0] * len(chains)
        parents: list[int] = []
        decisions: list[int] = []
        heads: list[int] = []
        paths: list[list[int]] = []
        nodes: list[list[int]] = []
        for owner, chain in enumerate(chains):
            own = [owner]  # where its entries stand
            every = [([*chain.tokens], [*range(1, len(chain.tokens) + 1)])]
            own_befores = chain.befores
            lengths = [len(entry.tokens) for entry in chain.entries]
            ran = max(map(add, own_befores, lengths))  # behind the places of the longest path
            for branch, before in zip(chain.branches, own_befores[1:], strict=True):
                path, places = every[branch.parent]
                shared, size = before - 1, branch.size
                path = [*path[:shared], branch.token, *branch.chain.tokens]
                places = [*places[:shared], *range(ran + 1, ran + 1 + size)]
                ran += size
                every.append((path, places))
                parents.append(own[branch.parent])
                numbers.append(len(own))
                own.append(len(entries))
                entries.append(branch.chain)
                owners.append(owner)
                befores.append(before)
                decisions.append(branch.decision)
                heads.append(branch.token)
                paths.append(path)
                nodes.append(places)
        return cls(
            num_requests=len(chains),
            entries=entries,
            owners=np.array(owners, dtype=np.int64),
            numbers=np.array(numbers, dtype=np.int64),
            befores=np.array(befores, dtype=np.int64),
            parents=parents,
            decisions=decisions,
            heads=heads,
            paths=paths,
            nodes=nodes,
        )

    def of_entries(self, requests: Sequence[Any]) -> list[Any]:
        """(E,) of each entry its request."""
        return [requests[owner] for owner in self.owners]

    @property
    def count(self) -> int:
        """N."""
        return len(self.parents)

    @property
    def depth(self) -> int:
        """Most branches on one path."""
        depths = [0] * len(self.entries)
        for at, parent in enumerate(self.parents, self.num_requests):
            depths[at] = depths[parent] + 1
        return max(depths)

    @property
    def longest(self) -> int:
        """Tokens of the longest path."""
        return max(*map(len, self.paths), *(len(chain.tokens) for chain in self.entries[: self.num_requests]))

    @property
    def most_nodes(self) -> int:
        """Most places of a request in this step, that of its last token included."""
        return 1 + max(*map(max, self.nodes), self.longest)

    def sizes(self, stride: int) -> tuple[int, ...]:
        """Sizes of its parts in the step's block; ``stride``: of the step."""
        return (*[self.count] * 4, self.count * stride)

    def fill(self, parts: Sequence[Ints], tokens: Ints) -> None:
        """Write these parts: owners, parents, decisions, heads, and nodes (N, S), n itself behind a path.

        Args:
            parts: as ``sizes`` says.
            tokens: (E, S) the tokens of paths; those of branches are written.
        """
        owners, parents, decisions, heads, nodes = parts
        first, stride = self.num_requests, tokens.shape[1]
        owners[:], parents[:], decisions[:] = self.owners[first:], self.parents, self.decisions
        heads[:] = self.heads
        places = nodes.reshape(self.count, stride)
        places[:] = np.arange(stride)
        for at, (path, ran) in enumerate(zip(self.paths, self.nodes, strict=True)):
            tokens[first + at, : len(path)] = path
            places[at, 1 : 1 + len(path)] = ran

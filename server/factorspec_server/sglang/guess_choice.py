"""Which guesses of a batch are run, and in which shape: what is expected to bring the most tokens a second.

::

    tokens  = Σ over the inputs that are run of the chance that they stand, and one for each request
    seconds = host + cost(inputs) + row_s · (rows - requests)

Certain tokens stand with chance 1, a guess and what is certain behind it with what the plan says of it. A
request's chances descend along its chain, so each threshold cuts every chain somewhere: a ragged step runs
what is at least as likely as some threshold; a uniform one what its width holds, and as likely as it must be
for its rows of logits to suffice. Steps without guesses are among the candidates, as ``Shapes`` has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.shapes import Candidate, ManyRows, Shape, Shapes, host_s, next_size

#: least chances of what is run, descending
THRESHOLDS = (0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.02, 0.0)
_COLUMN = np.array(THRESHOLDS)[:, None]


class Chosen(NamedTuple):
    """A step.

    Attributes:
        shape: of it.
        cuts: of each chain, the tokens that are run.
        step: what it is expected to bring.
        without: the best step without guesses.
    """

    shape: Shape
    cuts: Sequence[int]
    step: Candidate
    without: Candidate


def choose(shapes: Shapes, chains: Sequence[Chain]) -> Chosen:
    """The best step for these chains. O(guesses of all)."""
    certain = [chain.decisions[0].offset if chain.decisions else len(chain.tokens) for chain in chains]
    without = shapes.best_of([size + 1 for size in certain])
    most = without.shape.width - 1
    cuts = certain if most >= max(certain) else [min(size, most) for size in certain]
    best = Chosen(without.shape, cuts, without, without)
    many = shapes.many
    if many is None or len(chains) > many.most or certain == [len(chain.tokens) for chain in chains]:
        return best
    parts = _Parts.of(chains)
    chosen = parts.sizes
    for shape, kept, seconds in (*_uniform(shapes, many, parts), *_ragged(shapes, many, parts)):
        seconds += host_s(len(chains)) + many.row_s * (parts.rows(kept) - len(chains))
        step = Candidate(shape, parts.tokens(kept), seconds)
        if step.rate > best.step.rate:
            best = Chosen(shape, (), step, without)
            chosen = kept
    if best.step is without:
        return best
    cuts = parts.cuts(chosen)
    shape = best.shape if best.shape.num_inputs is None else Shape(max(cuts) + 1, best.shape.num_inputs)
    return Chosen(shape, cuts, best.step._replace(shape=shape), without)


class _Parts(NamedTuple):
    """Parts of chains whose tokens are equally likely: certain ones in front, then a guess and its run each.

    Attributes:
        sizes: (parts,) tokens.
        starts: (parts,) tokens of the chain in front.
        chances: (parts,) float.
        guessed: (parts,) 1 where it begins with a guess.
        owners: (parts,) index of the chain.
        num_chains: of all.
    """

    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    chances: NDArray[np.float64]
    guessed: NDArray[np.int64]
    owners: NDArray[np.int64]
    num_chains: int

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> Self:
        """The parts of all chains, in order."""
        found: list[tuple[int, int, float, int, int]] = []
        for owner, chain in enumerate(chains):
            size = len(chain.tokens)
            guesses = [decision for decision in chain.decisions if decision.offset < size]
            bounds = [0, *(guess.offset for guess in guesses), size]
            chances = [1.0, *(guess.chance for guess in guesses)]
            found += [
                (bounds[at + 1] - bounds[at], bounds[at], chance, min(at, 1), owner)
                for at, chance in enumerate(chances)
            ]
        sizes, starts, chances_, guessed, owners = zip(*found, strict=True)
        ints = [np.array(each, dtype=np.int64) for each in (sizes, starts, guessed, owners)]
        return cls(ints[0], ints[1], np.array(chances_, dtype=np.float64), ints[2], ints[3], len(chains))

    def tokens(self, kept: NDArray[np.int64]) -> float:
        """What a step is expected to bring that runs ``kept`` tokens of each part."""
        return self.num_chains + float(np.dot(kept, self.chances))

    def rows(self, kept: NDArray[np.int64]) -> int:
        """The rows of logits that it needs, at most."""
        return self.num_chains + int(np.dot(kept > 0, self.guessed))

    def cuts(self, kept: NDArray[np.int64]) -> list[int]:
        """How many tokens of each chain it runs."""
        found: list[int] = np.bincount(self.owners, weights=kept).astype(np.int64).tolist()
        return found


_Found = Iterator[tuple[Shape, NDArray[np.int64], float]]
"""Shapes with the tokens of each part that are run, and the forward pass's seconds."""


def _uniform(shapes: Shapes, many: ManyRows, parts: _Parts) -> _Found:
    """Of each width what fits into it; where that has too many rows, the likelier of it."""
    count = next_size(parts.num_chains, shapes.batches)
    longest = int((parts.starts + parts.sizes).max())
    for width in shapes.widths[1:]:
        if parts.num_chains <= many.requests.get(width, 0):
            fitting = np.clip(width - 1 - parts.starts, 0, parts.sizes)
            kept = fitting
            for threshold in reversed(THRESHOLDS[:-1]):
                if parts.rows(kept) <= many.most:
                    break
                kept = np.where(parts.chances >= threshold, fitting, 0)
            if parts.rows(kept) <= many.most:
                yield Shape(width), kept, many.uniform.step_s(count * width)
        if width > longest:
            return


def _ragged(shapes: Shapes, many: ManyRows, parts: _Parts) -> _Found:
    """Of each threshold what is as likely; nothing where that is more than the largest step holds."""
    if not many.tiers or many.ragged is None:
        return
    fitting = np.clip(shapes.ragged_width - 1 - parts.starts, 0, parts.sizes)
    every = np.where(parts.chances >= _COLUMN, fitting, 0)
    before = 0
    for kept, inputs in zip(every, (every.sum(axis=1) + parts.num_chains).tolist(), strict=True):
        if inputs > many.tiers[-1]:
            return
        tier = next_size(inputs, many.tiers)
        if inputs > before and tier <= parts.num_chains * shapes.ragged_width:
            if parts.rows(kept) > many.most:
                return
            yield Shape(1, tier), kept, many.ragged.step_s(tier)
        before = inputs

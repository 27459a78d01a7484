"""Which guesses of a batch are run, and in which shape: what is expected to bring the most tokens a second.

::

    tokens  = Σ over the inputs that are run of the chance that they stand, and one for each request
    seconds = host + cost(inputs) + row_s · (rows - requests), and some more where branches run

Certain tokens stand with chance 1, a guess and what is certain behind it with what the plan says of it. A
request's chances descend along its chain and from it to its branches, so each threshold cuts every one of
them somewhere: a ragged step runs what is at least as likely as some threshold, with branches and without; a
uniform one, which has none, what its width holds, and as likely as it must be for its rows of logits to
suffice. Steps without guesses are among the candidates, as ``Shapes`` has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import add
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from factorspec_server.drafting import CostModel
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.shapes import Candidate, ManyRows, Shape, Shapes, host_s, next_size

#: least chances of what is run, descending
THRESHOLDS = (0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.02, 0.0)
_COLUMN = np.array(THRESHOLDS)[:, None]
#: seconds that the host needs more for a step with branches (measured beside an H200: 0.4 to 0.7 ms)
_BRANCHES_S = 0.0005


class Chosen(NamedTuple):
    """A step.

    Attributes:
        shape: of it.
        cuts: of each chain, the tokens that are run.
        step: what it is expected to bring.
        without: the best step without guesses.
        branches: of each chain, the tokens of each branch that are run; empty: no branches are.
    """

    shape: Shape
    cuts: Sequence[int]
    step: Candidate
    without: Candidate
    branches: Sequence[Sequence[int]] = ()

    def of(self, chains: Sequence[Chain]) -> list[Chain]:
        """What is run of the chains."""
        if not self.branches:
            return [chain.cut(most) for chain, most in zip(chains, self.cuts, strict=True)]
        every = zip(chains, self.cuts, self.branches, strict=True)
        return [chain.pruned((most, *sizes)) for chain, most, sizes in every]


def choose(shapes: Shapes, chains: Sequence[Chain]) -> Chosen:
    """The best step for these chains. O(guesses of all)."""
    certain = [chain.decisions[0].offset if chain.decisions else len(chain.tokens) for chain in chains]
    without = shapes.best_of([size + 1 for size in certain])
    most = without.shape.width - 1
    cuts = certain if most >= max(certain) else [min(size, most) for size in certain]
    best = Chosen(without.shape, cuts, without, without)
    many = shapes.many
    if many is None or len(chains) > many.most or all(chain.is_certain for chain in chains):
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
    cuts, branches = parts.cuts(chosen)
    shape = best.shape
    if shape.is_ragged:
        beside = [sum(sizes) for sizes in branches] or [0] * len(cuts)
        shape = Shape(max(map(add, cuts, beside)) + 1, shape.num_inputs)
    return Chosen(shape, cuts, best.step._replace(shape=shape), without, branches)


class _Parts(NamedTuple):
    """Parts of chains whose tokens are equally likely: certain ones in front, then a guess and its run each;
    behind each chain's parts those of its branches.

    Attributes:
        sizes: (parts,) tokens.
        starts: (parts,) tokens of the request in front.
        chances: (parts,) float; none is likelier than what it runs behind.
        guessed: (parts,) 1 where it begins with a guess.
        entries: (parts,) index of the entry, request by request.
        begins: (parts,) 1 where a branch begins.
        nums: entries of each chain.
    """

    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    chances: NDArray[np.float64]
    guessed: NDArray[np.int64]
    entries: NDArray[np.int64]
    begins: NDArray[np.int64]
    nums: Sequence[int]

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> Self:
        """The parts of all chains, in order."""
        found: list[tuple[int, int, float, int, int, int]] = []
        entry = 0
        for chain in chains:
            start, head, first = 0, 0, 1.0  # of a branch a token stands in front of its chain
            behind: list[list[float]] = []  # of each entry, its parts' chances
            for at, each in enumerate(chain.entries):
                if at:
                    branch = chain.branches[at - 1]
                    head, first = 1, min(branch.chance, behind[branch.parent][branch.decision + 1])
                size = len(each.tokens) + head
                guesses = [decision for decision in each.decisions if decision.offset < len(each.tokens)]
                bounds = [0, *(guess.offset + head for guess in guesses), size]
                chances = [*accumulate((guess.chance for guess in guesses), min, initial=first)]
                behind.append(chances)
                found += [
                    (
                        bounds[n + 1] - bounds[n],
                        start + bounds[n],
                        chance,
                        min(n + at, 1),
                        entry,
                        at and not n,
                    )
                    for n, chance in enumerate(chances)
                ]
                start += size
                entry += 1
        sizes, starts, chances_, guessed, entries, begins = zip(*found, strict=True)
        ints = [np.array(each, dtype=np.int64) for each in (sizes, starts, guessed, entries, begins)]
        nums = [1 + len(chain.branches) for chain in chains]
        likely = np.array(chances_, dtype=np.float64)
        return cls(ints[0], ints[1], likely, ints[2], ints[3], ints[4], nums)

    @property
    def num_chains(self) -> int:
        """Requests."""
        return len(self.nums)

    @property
    def has_branches(self) -> bool:
        """Some chain has a branch."""
        return sum(self.nums) > len(self.nums)

    @property
    def in_chains(self) -> NDArray[np.bool_]:
        """(parts,) which belong to a chain itself."""
        firsts = np.cumsum(self.nums) - self.nums
        return np.isin(self.entries, firsts)

    def tokens(self, kept: NDArray[np.int64]) -> float:
        """What a step is expected to bring that runs ``kept`` tokens of each part."""
        return self.num_chains + float(np.dot(kept, self.chances))

    def rows(self, kept: NDArray[np.int64]) -> int:
        """The rows of logits that it needs, at most."""
        return self.num_chains + int(np.dot(kept > 0, self.guessed))

    def cuts(self, kept: NDArray[np.int64]) -> tuple[list[int], list[list[int]]]:
        """How many tokens of each chain it runs, and of each one's branches; none at all: an empty list."""
        sizes: list[int] = np.bincount(self.entries, weights=kept).astype(np.int64).tolist()
        if not self.has_branches:
            return sizes, []
        firsts = (np.cumsum(self.nums) - self.nums).tolist()
        branches = [sizes[at + 1 : at + num] for at, num in zip(firsts, self.nums, strict=True)]
        return [sizes[at] for at in firsts], branches if any(map(any, branches)) else []


_Found = Iterator[tuple[Shape, NDArray[np.int64], float]]
"""Shapes with the tokens of each part that are run, and the forward pass's seconds."""


def _uniform(shapes: Shapes, many: ManyRows, parts: _Parts) -> _Found:
    """Of each width what fits into it; where that has too many rows, the likelier of it."""
    count = next_size(parts.num_chains, shapes.batches)
    in_chains = parts.in_chains if parts.has_branches else np.ones(len(parts.sizes), dtype=np.bool_)
    longest = int(np.where(in_chains, parts.starts + parts.sizes, 0).max())
    for width in shapes.widths[1:]:
        if parts.num_chains <= many.requests.get(width, 0):
            fitting = np.where(in_chains, np.clip(width - 1 - parts.starts, 0, parts.sizes), 0)
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
    if not parts.has_branches:
        yield from _by_threshold(shapes, many, many.ragged, parts, fitting)
        return
    yield from _by_threshold(shapes, many, many.ragged, parts, np.where(parts.in_chains, fitting, 0))
    if many.branches:
        for shape, kept, seconds in _by_threshold(shapes, many, many.ragged, parts, fitting):
            yield shape, kept, seconds + _BRANCHES_S


def _by_threshold(
    shapes: Shapes, many: ManyRows, cost: CostModel, parts: _Parts, fitting: NDArray[np.int64]
) -> _Found:
    every = np.where(parts.chances >= _COLUMN, fitting, 0)
    before, most = 0, min(many.branches, many.entries - parts.num_chains)
    for kept, inputs in zip(every, (every.sum(axis=1) + parts.num_chains).tolist(), strict=True):
        if inputs > many.tiers[-1]:
            return
        tier = next_size(inputs, many.tiers)
        if inputs > before and tier <= parts.num_chains * shapes.ragged_width:
            num_branches = int(np.dot(kept > 0, parts.begins))
            if parts.rows(kept) > many.most or num_branches > max(0, most):
                return
            yield Shape(1, tier), kept, cost.step_s(tier)
        before = inputs

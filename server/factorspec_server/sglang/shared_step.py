"""What the first rank decides of a step, as a message to those that follow it (``ranks.py``).

::

    width │ inputs │ requests │ ended │ sizes │ decisions │ then │ ends   │ tokens        │ offsets
    1       1        1          1       B       B           B      ended    Σ sizes         Σ decisions

=========  ==============================================================================================
width      of the shape
inputs     of a ragged one; -1: it is uniform
requests   B, the batch's
ended      how many requests are given up
sizes      tokens of each chain
decisions  of each chain
then       the certain token behind it; -1: none
ends       index of each request that is given up
tokens     of all chains, one behind the other
offsets    of all decisions
=========  ==============================================================================================

What a decision allows stays with the first rank, which masks and draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain as joined
from typing import Self

import numpy as np

from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.ranks import Numbers
from factorspec_server.sglang.shapes import Shape

_HEAD = 4
_NONE = -1


@dataclass(frozen=True, slots=True)
class SharedStep:
    """See above.

    Attributes:
        chains: of the requests.
        shape: of the step.
        ended: indices of requests that are given up in it.
    """

    chains: Sequence[Chain]
    shape: Shape
    ended: Sequence[int] = ()

    @property
    def numbers(self) -> Numbers:
        """The message."""
        chains, shape = self.chains, self.shape
        inputs = _NONE if shape.num_inputs is None else shape.num_inputs
        head = (shape.width, inputs, len(chains), len(self.ended))
        parts = (
            head,
            [len(chain.tokens) for chain in chains],
            [len(chain.decisions) for chain in chains],
            [_NONE if chain.then is None else chain.then for chain in chains],
            self.ended,
            joined.from_iterable(chain.tokens for chain in chains),
            (decision.offset for chain in chains for decision in chain.decisions),
        )
        return np.array([*joined.from_iterable(parts)], dtype=np.int32)

    @classmethod
    def of(cls, numbers: Numbers) -> Self:
        """What a message says."""
        width, inputs, count, num_ended = numbers[:_HEAD].tolist()
        at, found = _HEAD, list[list[int]]()
        for size in (count, count, count, num_ended):
            found.append(numbers[at : at + size].tolist())
            at += size
        sizes, decisions, then, ended = found
        rest = numbers[at:].tolist()
        tokens, offsets = iter(rest), iter(rest[sum(sizes) :])
        chains = [
            Chain(
                tuple(next(tokens) for _ in range(size)),
                tuple(Decision(next(offsets), None) for _ in range(many)),
                None if certain == _NONE else certain,
            )
            for size, many, certain in zip(sizes, decisions, then, strict=True)
        ]
        return cls(chains, Shape(width, None if inputs == _NONE else inputs), ended)

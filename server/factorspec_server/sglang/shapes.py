"""Which shape a verify step has: one width for all requests, or each request's own.

An engine captures graphs for a few shapes. A uniform step of width W runs W inputs for each request, needed
or not; a ragged one runs what each request has, filled up to a captured number of inputs (a tier). The best
shape brings the most tokens a second::

    tokens(m) = Σ min(wanted_i, m)          m: most inputs of a request
    seconds   = host + cost(inputs)         inputs: requests · m, or the tier that holds Σ min(wanted_i, m)

with ``cost`` measured when the server starts. Up to some hundred inputs a step costs hardly more than one of
a single input, so small batches run wide; beyond that each input counts, so that large ones run ragged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factorspec_server.drafting import CostModel

#: seconds of a step in which the device waits for the host: of each, and for each request (measured beside an
#: H200: 2 ms with one request, 7 with 128)
_HOST_S, _REQUEST_S = 0.002, 0.00004


def host_s(num_requests: int) -> float:
    """Seconds of a step in which the device waits for the host, about."""
    return _HOST_S + _REQUEST_S * num_requests


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a step.

    Attributes:
        width: inputs of each request; of a ragged step the most that one may have.
        num_inputs: of all requests together, padding included; None: the step is uniform.
    """

    width: int
    num_inputs: int | None = None

    @property
    def is_ragged(self) -> bool:
        """Each request runs only what it has."""
        return self.num_inputs is not None

    @property
    def is_decode(self) -> bool:
        """Each request runs its last token alone, as without speculation."""
        return self.width == 1 and self.num_inputs is None


class Candidate(NamedTuple):
    """A step that may be run.

    Attributes:
        shape: of it.
        tokens: that it is expected to bring.
        seconds: that it takes.
    """

    shape: Shape
    tokens: float
    seconds: float

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyRows:
    """Steps with more than one row of logits for each request; guesses need them.

    Attributes:
        most: rows of a step.
        uniform: seconds of a uniform step by its inputs.
        requests: by width, the most requests of a uniform step; a width that is not there has none such.
        tiers: numbers of inputs that ragged steps are filled up to, ascending; empty: there are none.
        ragged: seconds of a ragged step by its inputs.
        row_s: seconds of a row beyond the first of each request: its mask and its draw.
        branches: most branches of a ragged step beside the chains; 0: none can run.
        entries: most chains and branches together.
    """

    most: int
    uniform: CostModel
    requests: Mapping[int, int]
    tiers: tuple[int, ...] = ()
    ragged: CostModel | None = None
    row_s: float = 0.0
    branches: int = 0
    entries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The shapes that there are, and what they cost.

    Attributes:
        widths: of uniform steps, ascending, the first is 1.
        uniform: seconds of a uniform step by its inputs.
        batches: numbers of requests that uniform steps are filled up to, ascending; empty: any number.
        most_inputs: of a uniform step wider than 1; None: any number.
        tiers: numbers of inputs that ragged steps are filled up to, ascending; empty: no ragged steps.
        ragged: seconds of a ragged step by its inputs.
        ragged_width: most inputs of a request in a ragged step.
        many: steps with rows for guesses; None: a step has one row of each request.
    """

    widths: tuple[int, ...]
    uniform: CostModel
    batches: tuple[int, ...] = ()
    most_inputs: int | None = None
    tiers: tuple[int, ...] = ()
    ragged: CostModel | None = None
    ragged_width: int = 0
    many: ManyRows | None = None

    def __post_init__(self) -> None:
        for name, values in (("widths", self.widths), ("batches", self.batches), ("tiers", self.tiers)):
            if list(values) != sorted(set(values)) or (values and values[0] < 1):
                raise ValueError(f"{name} must ascend from 1 on, got {values!r}")
        if not self.widths or self.widths[0] != 1:
            raise ValueError(f"widths must begin with 1, got {self.widths!r}")

    def costing(self, cost: CostModel) -> Shapes:
        """The same shapes, all of which cost by their inputs alone."""
        ragged = None if self.ragged is None else cost
        many = None if self.many is None else replace(self.many, uniform=cost, ragged=ragged)
        return replace(self, uniform=cost, ragged=ragged, many=many)

    @property
    def most(self) -> int:
        """Most inputs that a request may have in any step."""
        return max(self.widths[-1], self.ragged_width if self.tiers else 0)

    def best(self, wanted: Sequence[int]) -> Shape:
        """The shape with the most tokens a second.

        Args:
            wanted: of each request, the inputs that it would run if it could; at least 1.
        """
        return self.best_of(wanted).shape

    def best_of(self, wanted: Sequence[int]) -> Candidate:
        """The same, and what it brings; see ``best``."""
        sizes, most = np.array(wanted, dtype=np.int64), max(wanted)
        found = self._uniform(sizes, most)
        if most == 1:
            return next(found)
        return max((*found, *self._ragged(sizes, most)), key=lambda candidate: candidate.rate)

    def _uniform(self, wanted: NDArray[np.int64], most: int) -> Iterator[Candidate]:
        rows = next_size(len(wanted), self.batches)
        for width in self.widths:
            if width > 1 and self.most_inputs is not None and rows * width > self.most_inputs:
                return
            seconds = host_s(len(wanted)) + self.uniform.step_s(rows * width)
            yield Candidate(Shape(width), _tokens(wanted, width), seconds)
            if width >= most:
                return

    def _ragged(self, wanted: NDArray[np.int64], most: int) -> Iterator[Candidate]:
        """Ragged steps: all that is wanted, or as much of it as the largest tier holds."""
        if not self.tiers or self.ragged is None or len(wanted) > self.tiers[-1]:
            return
        width = min(self.ragged_width, most)
        while _tokens(wanted, width) > self.tiers[-1]:
            width -= max(1, width // 8)
        tokens = _tokens(wanted, width)
        tier = next_size(tokens, self.tiers)
        if tier > len(wanted) * self.ragged_width:
            return
        yield Candidate(Shape(width, tier), tokens, host_s(len(wanted)) + self.ragged.step_s(tier))


def cost_of(measured: Sequence[tuple[int, float]]) -> CostModel:
    """What inputs cost, from (inputs, seconds) in any order; of equal numbers of inputs the mean counts."""
    seconds: dict[int, list[float]] = {}
    for inputs, took_s in measured:
        seconds.setdefault(inputs, []).append(took_s)
    return CostModel.of([(inputs, mean(each)) for inputs, each in seconds.items()])


def _tokens(wanted: NDArray[np.int64], width: int) -> int:
    return int(np.minimum(wanted, width).sum())


def next_size(size: int, steps: tuple[int, ...]) -> int:
    """The least step that holds ``size``; itself where none does."""
    at = bisect_left(steps, size)
    return steps[at] if at < len(steps) else size

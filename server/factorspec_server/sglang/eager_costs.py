"""What steps cost where no graphs are captured: learnt from those that ran.

::

    sizes       1   2   4   8  16 …       inputs of a step, to a power of two: mean inputs and seconds of late
    model       a line between each two, ascending (``CostModel.of``)

Until steps of several sizes were seen, all that is wanted runs.
"""

from __future__ import annotations

from factorspec_server.drafting import CostModel
from factorspec_server.sglang.shapes import cost_of

_FADE = 0.8
#: steps of a size that count, the first being slow; and sizes that make a curve
_LEAST_STEPS, _LEAST_SIZES = 3, 3


class EagerCosts:
    """Means by size; a few numbers each."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._means: dict[int, tuple[float, float]] = {}

    def ran(self, inputs: int, seconds: float) -> None:
        """A step took so long."""
        size = inputs.bit_length()
        self._seen[size] = self._seen.get(size, 0) + 1
        before = self._means.get(size)
        if before is None or self._seen[size] <= _LEAST_STEPS:
            self._means[size] = float(inputs), seconds
        else:
            mean_inputs, mean_s = before
            self._means[size] = (
                mean_inputs * _FADE + inputs * (1.0 - _FADE),
                mean_s * _FADE + seconds * (1.0 - _FADE),
            )

    @property
    def model(self) -> CostModel | None:
        """What is known; None: too little."""
        points = [
            (max(1, round(inputs)), seconds)
            for size, (inputs, seconds) in self._means.items()
            if self._seen[size] >= _LEAST_STEPS
        ]
        return cost_of(points) if len(points) >= _LEAST_SIZES else None

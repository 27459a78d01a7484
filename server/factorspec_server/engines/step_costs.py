"""Measuring, once a model is loaded, how long a step takes by the tokens that run in it.

What one more token costs decides how wide drafts pay: on a GPU with a large model some hundred tokens are
nearly free, on a CPU each one costs. A few steps of growing size are timed, as many as the budget allows, on
the thread that will decode: a thread's pool of helpers is its own, and so is the speed of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from factorspec_server.drafting import CostModel
from factorspec_server.engines.seam import Batch, Model

BUDGET_S = 1.0
_SIZES = (1, 4, 16, 64, 256, 1024)
#: a step is timed again if it took at most this share of the time that is left
_SHARE_TO_REPEAT = 0.25
#: how much longer the second size is taken to need than the first
_GROWTH = 2.0

#: a step with other requests' prompts in it should take no longer than this
_STEP_S = 0.25
_LEAST_STEP, _MOST_STEP = 64, 2048


def measure_costs(model: Model, *, budget_s: float = BUDGET_S) -> CostModel:
    """Time steps of one row by their number of tokens. Call it on the thread that will run the model.

    Stops before the next size would not fit into the budget. On a slow machine the smallest size is all that
    does: the costs are no curve then (``CostModel.is_curve``).

    Args:
        model: what to time; nothing else may use it meanwhile.
        budget_s: seconds that the timed steps may take together; the first step of all is not counted.
    """
    batch = model.open()
    batch.join()
    _time_of(batch, _tokens(model, 1))  # the first of its kind takes longer
    batch.accept(0, (0,))
    left_s = budget_s
    points: list[tuple[int, float]] = []
    for size in _SIZES:
        if 1 + size > model.max_positions or (points and _expected_s(points, size) > left_s):
            break
        tokens = _tokens(model, size)
        step_s = _time_of(batch, tokens)
        left_s -= step_s
        if step_s <= _SHARE_TO_REPEAT * left_s:
            # the first step of a size may take longer, while a GPU loads what it needs
            again_s = _time_of(batch, tokens)
            left_s -= again_s
            step_s = min(step_s, again_s)
        points.append((size, step_s))
    return CostModel.of(points)


def _expected_s(points: Sequence[tuple[int, float]], size: int) -> float:
    """What a step of the next size may take: as all measured ones go on, not only the last two."""
    (first, least_s), (last, last_s) = points[0], points[-1]
    if first == last:
        return _GROWTH * last_s
    return last_s + max(0.0, last_s - least_s) * (size - last) / (last - first)


def _time_of(batch: Batch, tokens: list[int]) -> float:
    """Seconds of a step that is not accepted."""
    wanted = np.array([tokens[0]], dtype=np.int32)
    started = perf_counter()
    batch.extend([tokens], [[(len(tokens) - 1, wanted)]])
    return perf_counter() - started


def _tokens(model: Model, count: int) -> list[int]:
    return [(7919 * index + 13) % model.num_tokens for index in range(count)]


def step_tokens(costs: CostModel) -> int:
    """Most tokens of a step that keep other requests waiting for a quarter of a second at most."""
    return _largest(_MOST_STEP, lambda size: size <= _LEAST_STEP or costs.step_s(size) <= _STEP_S)


def split_tokens(costs: CostModel) -> int:
    """How many tokens of padding cost as much as a pass of its own for those without."""
    alone = costs.step_s(1)
    return _largest(_MOST_STEP, lambda size: costs.step_s(size) - alone <= alone)


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest power of two up to ``most`` that fits, at least 1."""
    size = 1
    while 2 * size <= most and fits(2 * size):
        size *= 2
    return size

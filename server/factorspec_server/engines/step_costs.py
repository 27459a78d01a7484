"""Measuring, once a model is loaded, how long a step takes by the tokens that run in it.

What one more token costs decides how wide drafts pay: on a GPU with a large model some hundred tokens are
nearly free, on a CPU each one costs. A few steps of growing size are timed, as many as the budget allows.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from factorspec_server.drafting import CostModel
from factorspec_server.engines.seam import Batch, Model

BUDGET_S = 1.0
_SIZES = (1, 4, 16, 64, 256, 1024)
_LEAST_SIZES = 3
_REPEATS = 2
_HELD = 32

#: a step with other requests' prompts in it should take no longer than this
_STEP_S = 0.25
_LEAST_STEP, _MOST_STEP = 64, 2048


def measure_costs(model: Model, *, budget_s: float = BUDGET_S) -> CostModel:
    """Time steps of one row by their number of tokens.

    Stops where the next size would not fit into the budget; the first three sizes are always measured, since
    one or two points say nothing about what more tokens cost.
    """
    batch = model.open()
    batch.join()
    held = min(_HELD, model.max_positions // 4)
    batch.extend([_tokens(model, held)], [[]])
    batch.accept(0, range(held))
    _time_of(batch, _tokens(model, 1))  # the first of its kind takes longer
    left_s = budget_s
    points: list[tuple[int, float]] = []
    for size in _SIZES:
        if held + size > model.max_positions:
            break
        if len(points) >= _LEAST_SIZES and _REPEATS * CostModel.of(points).step_s(size) > left_s:
            break
        tokens = _tokens(model, size)
        # the first step of a size may take much longer, while a GPU loads what it needs: not counted
        step_s = min(_time_of(batch, tokens) for _ in range(_REPEATS))
        points.append((size, step_s))
        left_s -= _REPEATS * step_s
    return CostModel.of(points)


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

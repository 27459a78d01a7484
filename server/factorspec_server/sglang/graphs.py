"""The shapes that a worker can run, and the graphs behind them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

from factorspec_server.drafting import CostModel
from factorspec_server.sglang import compat, many_rows
from factorspec_server.sglang.eager_costs import EagerCosts
from factorspec_server.sglang.layout_kernels import compile_layouts
from factorspec_server.sglang.shapes import ManyRows, Shape, Shapes
from factorspec_server.sglang.speculation import Speculation

logger = logging.getLogger(__name__)
_MOST_EAGER = 1 << 14
#: steps between two looks at what steps cost
_LEARNT_EVERY = 16


class Graphs:
    """Captured shapes; without CUDA none are captured and any number of inputs runs.

    Args:
        model_runner: of the model.
        algorithm: the registered one.
        settings: of the worker.
        most: most inputs of a request in a step.
        guesses: steps may have guesses.
    """

    def __init__(
        self, model_runner: Any, algorithm: Any, settings: Speculation, most: int, *, guesses: bool = False
    ) -> None:
        self._model_runner = model_runner
        self._algorithm = algorithm
        self._settings = settings
        self._most = most
        self._guesses = guesses
        self._uniform: dict[int, Any] = {}
        self._ragged: Any = None
        self.shapes = _eager(most, ragged=settings.ragged is not False)
        #: None: nobody waits for a step, so what it takes is not seen here
        self._costs = EagerCosts() if model_runner.device == "cpu" else None
        self._num_ran = self._branches = self._entries = 0

    def allow_branches(self, most: int, entries: int) -> None:
        """Ragged steps may have branches beside their chains.

        Args:
            most: of a step.
            entries: that SGLang has room for, of requests and branches together.
        """
        self._branches, self._entries = most, entries
        many = self.shapes.many
        if many is not None and self.shapes.tiers:
            self.shapes = replace(self.shapes, many=replace(many, branches=most, entries=entries))

    def ran(self, inputs: int, seconds: float) -> None:
        """A step took so long, if it was waited for."""
        if self._costs is not None:
            self._costs.ran(inputs, seconds)
            self._num_ran += 1
            cost = self._costs.model if self._num_ran % _LEARNT_EVERY == 0 else None
            if cost is not None:
                self.shapes = self.shapes.costing(cost)

    @property
    def _has_ragged(self) -> bool:
        return bool(self._model_runner.attn_backend.supports_ragged_verify_graph)

    def capture(self) -> None:
        """Capture all shapes and measure what they cost; call it once SGLang has captured its own.

        Where SGLang captures none, attention is made for one input of each request: ragged steps are right
        then, which say how many there are, and steps of width 1.
        """
        if self._model_runner.device != "cuda":
            return
        if not _wants_graphs(self._model_runner.server_args):
            if not (self._settings.ragged is not False and self._has_ragged):
                self.shapes = Shapes(widths=(1,), uniform=CostModel(((1, 1.0),)))
            return
        from factorspec_server.sglang import runners

        mr, algorithm = self._model_runner, self._algorithm
        widths = [width for width in self._settings.widths if width <= self._most]
        has_ragged = self._settings.ragged is not False and self._has_ragged
        logits = many_rows.logits_of(mr, self._settings.rows) if self._guesses else None
        wide: dict[str, Any] = {"many": logits}
        most = runners.MANY_UNIFORM if has_ragged else runners.MOST_INPUTS
        self._uniform = {
            width: runners.build(mr, algorithm, width, many_inputs=most, **wide) for width in reversed(widths)
        }
        # a decode's graph runs with what its attention has prepared for the batch: not by itself; and up to
        # some inputs a step costs what one of a single input does
        chains = [built.graphs for width, built in self._uniform.items() if width > 1]
        tiers: tuple[int, ...] = ()
        cost = None
        if has_ragged:
            most = runners.MANY_RAGGED
            self._ragged = runners.build(mr, algorithm, self._most, ragged=True, many_inputs=most, **wide)
            began_s = perf_counter()
            num_kinds = compile_layouts(self._ragged.graphs)
            logger.info(
                "FactorSpec: laid out %d kinds of ragged steps, %.1f s", num_kinds, perf_counter() - began_s
            )
            tiers = tuple(self._ragged.graphs.capture_num_tokens)
            cost = runners.costs([self._ragged.graphs])
        self.shapes = Shapes(
            widths=tuple(widths),
            uniform=runners.costs(chains) if chains else CostModel(((1, 1.0),)),
            batches=tuple(self._uniform[min(widths[1:], default=1)].graphs.capture_bs),
            most_inputs=runners.MOST_INPUTS,
            tiers=tiers,
            ragged=cost,
            ragged_width=self._most,
            many=None if logits is None or not chains else self._many(chains, logits),
        )
        _log(self.shapes)

    def _many(self, chains: Sequence[Any], logits: Any) -> ManyRows | None:
        """What there is of steps with many rows; ``chains``: graphs of one width beyond 1."""
        from factorspec_server.sglang import runners

        sizes = {width: built.graphs.many_sizes for width, built in self._uniform.items()}
        ragged = None if self._ragged is None else self._ragged.graphs
        return ManyRows(
            most=len(logits),
            uniform=runners.costs([graphs for graphs in chains if graphs.many_sizes], many=True),
            requests={width: found[-1] for width, found in sizes.items() if found},
            tiers=() if ragged is None else tuple(ragged.many_sizes),
            ragged=None if ragged is None else runners.costs([ragged], many=True),
            row_s=many_rows.row_s(logits),
            branches=0 if ragged is None else self._branches,
            entries=0 if ragged is None else min(self._entries, ragged.max_bs),
        )

    @contextmanager
    def in_place(self, shape: Shape, rows: Any, *, many: bool = False) -> Iterator[None]:
        """Have the model run that shape, with logits at these rows; ``many``: more than requests."""
        built = self._ragged if shape.is_ragged else self._uniform.get(shape.width)
        if built is None:
            yield
            return
        mr = self._model_runner
        before = mr.attn_backend, mr.decode_cuda_graph_runner
        built.graphs.point_at(rows, many=many)
        built.put_in_place(mr)
        try:
            yield
        finally:
            mr.attn_backend, mr.decode_cuda_graph_runner = before


def _wants_graphs(server_args: Any) -> bool:
    return compat.graph_sizes(server_args) is not None


def _eager(most: int, *, ragged: bool) -> Shapes:
    """Any shape up to ``most`` inputs of a request; nothing is known of costs, so all that is wanted runs."""
    cost = CostModel(((1, 1.0), (_MOST_EAGER, 1.0)))
    if not ragged:
        widths = tuple(width for width in (1, 2, 4, 8, 16, 32, 64, 128) if width <= most)
        many = ManyRows(most=_MOST_EAGER, uniform=cost, requests=dict.fromkeys(widths, _MOST_EAGER))
        return Shapes(widths=widths, uniform=cost, many=many)
    tiers = tuple(range(1, _MOST_EAGER + 1))
    many = ManyRows(most=_MOST_EAGER, uniform=cost, requests={}, tiers=tiers, ragged=cost)
    return Shapes(widths=(1,), uniform=cost, tiers=tiers, ragged=cost, ragged_width=most, many=many)


def _log(shapes: Shapes) -> None:
    points = ", ".join(f"{tokens}: {1e3 * seconds:.1f}" for tokens, seconds in shapes.uniform.points[::4])
    logger.info("FactorSpec: widths %s, milliseconds by inputs: %s", shapes.widths, points)
    if shapes.ragged is not None:
        points = ", ".join(f"{tokens}: {1e3 * seconds:.1f}" for tokens, seconds in shapes.ragged.points[::4])
        logger.info("FactorSpec: ragged up to %d inputs, milliseconds: %s", shapes.tiers[-1], points)
    if shapes.many is not None:
        many = shapes.many
        points = ", ".join(
            f"{tokens}: {1e3 * seconds:.1f}" for tokens, seconds in (many.ragged or many.uniform).points[::4]
        )
        row_us = 1e6 * many.row_s
        logger.info("FactorSpec: up to %d rows, %.1f us each; milliseconds: %s", many.most, row_us, points)

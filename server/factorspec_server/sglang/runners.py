"""CUDA graphs for chains: one for each width, and one set for ragged steps, each with its attention backend.

A captured graph and the attention backend behind it hold for one width only, so each width has both, and the
worker puts them in place for the step at hand::

    width 1             graphs by number of requests, those of a decode without speculation
    width 8, 16, …      graphs by number of requests
    ragged              graphs by number of inputs (tiers)

The graphs of one width beyond 1, and the ragged ones, compute logits at one row of each request only: which,
stands in a buffer that the graph reads (``row_index``). Guesses need more rows. Where there are guesses, most
of these graphs exist a second time, with as many rows as they have inputs, up to some number; a step takes
those only if it has more rows than requests. The logits of all of them stand in one buffer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import torch

from factorspec_server.drafting import CostModel
from factorspec_server.sglang import compat
from factorspec_server.sglang.shapes import cost_of
from factorspec_server.sglang.verify_input import ChainInput

logger = logging.getLogger(__name__)

#: numbers of inputs of ragged graphs
TIERS = (
    *(4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896),
    *range(1024, 4096, 256),
    *range(4096, 8193, 512),
)
#: no graph of one width has more inputs than this: ragged steps and narrow ones are better there
MOST_INPUTS = 4096
#: numbers of requests that wide graphs are captured for
_COARSE = frozenset((1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512))
_TIMED = 3
#: graphs with many rows have at most so many inputs: of one width where there are ragged steps, and in all
MANY_UNIFORM, MANY_RAGGED = 512, 4096
_MANY = "many rows"
#: a measure of larger steps is taken once
_LARGE = 1024


class ChainRunner(compat.DecodeCudaGraphRunner):
    """Graphs for chains of one width; see ``Built`` for how one is made.

    Attributes:
        many: logits of steps with many rows, (rows, vocabulary) float32; None: there are none such.
        many_inputs: most inputs of one.
        has_many: such a step is captured, or run next.
    """

    many: torch.Tensor | None = None
    many_inputs = 0
    has_many = False

    def get_spec_info(self, num_tokens: int) -> ChainInput | None:
        """What the model sees while it is captured."""
        if self.capture_forward_mode.is_decode():
            return None
        width = self.captured_req_width
        info = ChainInput(width=width, new_seq_lens=self.buffers.seq_lens)
        if width > 1 or self.ragged_verify_mode:
            if not hasattr(self, "row_index"):
                most = self.max_bs if self.many is None else max(self.max_bs, len(self.many))
                self.row_index = torch.zeros(most, dtype=torch.int64, device=self.device)
            info.select_index = self.row_index[: self._rows(num_tokens)]
        if self.ragged_verify_mode:
            info.ragged_verify_layout = self._capture_ragged_verify_layout(num_tokens)
        return info

    def point_at(self, rows: torch.Tensor, *, many: bool = False) -> None:
        """Say whose logits are wanted in the next step; rows of an earlier, larger batch are forgotten.

        Args:
            rows: index into its inputs.
            many: they are more than there are requests.
        """
        self.has_many = many
        if hasattr(self, "row_index"):
            self.row_index.zero_()
            self.row_index[: len(rows)] = rows

    def capture_prepare(self, *args: Any, **kwargs: Any) -> Any:
        """The batch that is captured; logits of many rows go to their buffer."""
        prepared = super().capture_prepare(*args, **kwargs)
        if self.has_many and self.many is not None:
            batch = prepared[0]
            batch.next_token_logits_buffer = self.many[: len(batch.spec_info.select_index)]
        return prepared

    def _capture_one_stream(self, stream_idx: int | None = None) -> None:
        super()._capture_one_stream(stream_idx)
        self._capture_many(self.many_sizes, stream_idx)

    def _capture_many(self, sizes: Sequence[int], stream_idx: int | None) -> None:
        self.has_many = True
        for size in reversed(sizes):
            self.capture_one_shape(size, self.model_runner.model.forward, stream_idx, _MANY)
        self.has_many = False

    @property
    def many_sizes(self) -> list[int]:
        """The smaller sizes, of which there are graphs with many rows."""
        if self.many is None or (self.captured_req_width == 1 and not self.ragged_verify_mode):
            return []
        sizes = self.capture_num_tokens if self.ragged_verify_mode else self.capture_bs
        return [size for size in sizes if self._inputs(size) <= self.many_inputs]

    def _resolve_lora_variant(self, forward_batch: Any) -> str | None:
        """Which of the graphs of a size is meant; those that SGLang tells apart so are refused at start."""
        return _MANY if self.has_many else None

    def _inputs(self, size: int) -> int:
        return size if self.ragged_verify_mode else size * int(self.captured_req_width)

    def _rows(self, num_tokens: int) -> int:
        if self.has_many and self.many is not None:
            return min(num_tokens, len(self.many))
        return self.slots(num_tokens)

    def slots(self, num_tokens: int) -> int:
        """Places for requests in a step of so many inputs."""
        if self.ragged_verify_mode:
            return int(self._ragged_capture_slots(num_tokens))
        return num_tokens // int(self.captured_req_width)

    def replay_s(self, *, many: bool = False) -> list[tuple[int, float]]:
        """Seconds of a step by its inputs, from replays of what was captured."""
        found = []
        every = self.capture_num_tokens if self.ragged_verify_mode else self.capture_bs
        for size in self.many_sizes if many else every:
            key, inputs = self._make_graph_key(size, None, _MANY if many else None), self._inputs(size)
            times = 1 if many and inputs > _LARGE else _TIMED
            found.append((inputs, median(self._time_of(key) for _ in range(times))))
        return found

    def _time_of(self, key: Any) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        self.backend.replay(key, None)
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3


class RaggedRunner(ChainRunner):
    """Graphs for ragged steps, by numbers of inputs that need not be multiples of a width."""

    captured_req_width: int
    _most: int

    def _build_ragged_verify_token_buckets(self) -> list[int]:
        return [tier for tier in TIERS if tier <= max(self.capture_bs) * self.captured_req_width]

    def _capture_ragged_verify_layout(self, num_tokens: int) -> Any:
        with self._width(self._most):
            return super()._capture_ragged_verify_layout(num_tokens)

    def _capture_one_stream(self, stream_idx: int | None = None) -> None:
        self._most = self.captured_req_width
        with self._width(1):  # sizes are numbers of inputs
            for tier in reversed(self.capture_num_tokens):
                self.capture_one_shape(tier, self.model_runner.model.forward, stream_idx, None)
            self._capture_many(self.many_sizes, stream_idx)

    @contextmanager
    def _width(self, width: int) -> Iterator[None]:
        """Have the runner believe in another width for a while."""
        before, self.captured_req_width = self.captured_req_width, width
        try:
            yield
        finally:
            self.captured_req_width = before


@dataclass(frozen=True, slots=True)
class Built:
    """An attention backend and its graphs."""

    attention: Any
    graphs: Any

    def put_in_place(self, model_runner: Any) -> None:
        """Have the model runner use them."""
        model_runner.attn_backend = self.attention
        model_runner.decode_cuda_graph_runner = self.graphs


class _NoSharedLogits:
    """Stands for the buffer that graphs share for logits at all rows; ours have few, and none is needed."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def get_logits_buffer(self, vocab_size: int, *, rows: int) -> torch.Tensor:
        return torch.empty((0, vocab_size), dtype=torch.float, device=self._device)


def build(
    model_runner: Any,
    algorithm: Any,
    width: int,
    *,
    ragged: bool = False,
    many: torch.Tensor | None = None,
    many_inputs: int = 0,
) -> Built:
    """Capture graphs for chains of a width.

    Args:
        model_runner: of the model.
        algorithm: the registered algorithm, which SGLang asks for the width.
        width: inputs of each request; of ragged steps the most that one may have.
        ragged: capture ragged steps.
        many: where logits of many rows go; None: steps have one row of each request.
        many_inputs: most inputs of a step with many rows.
    """
    before, began_s = torch.cuda.mem_get_info()[0], perf_counter()
    kind = type(
        "Runner", (RaggedRunner if ragged else ChainRunner,), {"many": many, "many_inputs": many_inputs}
    )
    with _building(model_runner, algorithm, width, ragged):
        attention = model_runner._get_attention_backend(init_new_workspace=True)  # noqa: SLF001
        graphs = kind(
            model_runner,
            attn_backend=attention,
            speculative_num_steps=max(1, width - 1),
            speculative_num_draft_tokens=width,
        )
    took = (before - torch.cuda.mem_get_info()[0]) / 2**30
    what, took_s = "ragged" if ragged else "uniform", perf_counter() - began_s
    logger.info("FactorSpec: captured %s width %d, %.1f GB, %.1f s", what, width, took, took_s)
    return Built(attention, graphs)


@contextmanager
def _building(model_runner: Any, algorithm: Any, width: int, ragged: bool) -> Iterator[None]:
    """Settings that hold while graphs of a width are made, and are put back afterwards."""
    server_args, own = model_runner.server_args, model_runner.spec_algorithm
    names = ("speculative_num_draft_tokens", "speculative_num_steps")
    before = {name: compat.setting(server_args, name) for name in names}
    graph_sizes = compat.graph_sizes(server_args)
    workspace, shared = model_runner.init_new_workspace, model_runner.graph_shared_output
    sizes = graph_sizes.bs
    if not ragged and width > 1:
        graph_sizes.bs = sizes_for(width, sizes)
    compat.override(server_args, dict(zip(names, (width, max(1, width - 1)), strict=True)))
    model_runner.graph_shared_output = _NoSharedLogits(model_runner.device)
    algorithm.width, algorithm.ragged = width, ragged
    if width == 1 and not ragged:
        model_runner.spec_algorithm = compat.SpeculativeAlgorithm.NONE
    mode = "compact" if ragged else "static"
    try:
        with compat.envs.SGLANG_RAGGED_VERIFY_MODE.override(mode):
            yield
    finally:
        algorithm.width, algorithm.ragged = 1, False
        model_runner.spec_algorithm = own
        model_runner.graph_shared_output = shared
        model_runner.init_new_workspace = workspace
        graph_sizes.bs = sizes
        compat.override(server_args, before)


def sizes_for(width: int, sizes: Sequence[int]) -> list[int]:
    """The numbers of requests that graphs of a width beyond 1 are captured for: few, and none too large."""
    fitting = [size for size in sizes if size * width <= MOST_INPUTS] or list(sizes[:1])
    return [size for size in fitting if size in _COARSE or size == fitting[-1]]


def costs(runners: Sequence[Any], *, many: bool = False) -> CostModel:
    """What steps of these graphs cost; ``many``: those with many rows."""
    return cost_of([point for runner in runners for point in runner.replay_s(many=many)])

"""Rows of a torch model: ragged batches, trees of tokens, logits only where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from factorspec_server.drafting.seam import FloatArray
from factorspec_server.engines.attention_mask import Sight
from factorspec_server.engines.fed_tokens import FedTokens, passes
from factorspec_server.engines.ragged_cache import Moves, RaggedCache
from factorspec_server.engines.seam import Parents, Segment, Want

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel


@dataclass(frozen=True, slots=True)
class TorchSegment:
    """Keys and values outside of a batch: (heads, tokens, head_dim) for each layer's keys and values."""

    states: tuple[torch.Tensor, ...]


class TorchBatch:
    """Rows of a ``TorchModel`` and their keys and values; see ``seam.Batch``."""

    def __init__(self, model: TorchModel) -> None:
        self._model = model
        self._cache = RaggedCache(model.num_layers, model.device)
        self._lengths: list[int] = []
        self._moves: list[
            tuple[int, int, int]
        ] = []  # row, source and target column; done before the next use
        self._broken: set[int] = set()  # rows with columns that may hold NaN, which no mask can hide

    def join(self) -> None:
        self._lengths.append(0)
        self._cache.placement.num_rows = len(self._lengths)

    def drop(self, row: int) -> None:
        self._settle()
        if row in self._broken:
            self._cache.clean(row, 0)
        last = len(self._lengths) - 1
        if row != last:
            self._cache.copy_row(last, row, self._lengths[last])
            self._lengths[row] = self._lengths[last]
        del self._lengths[last]
        self._broken = {row if at == last else at for at in self._broken - {row}}
        self._cache.placement.num_rows = len(self._lengths)
        if not self._lengths:
            self._cache = RaggedCache(self._model.num_layers, self._model.device)

    def extend(
        self,
        tokens: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[Want]],
        parents: Sequence[Parents] | None = None,
    ) -> list[list[FloatArray]]:
        self._settle()
        hung = parents or [None] * len(tokens)
        outputs: list[list[FloatArray]] = [[] for _ in tokens]
        with torch.inference_mode():
            for rows in passes([len(row) for row in tokens], self._model.split_tokens):
                fed = FedTokens.of(rows, self._lengths, tokens, hung)
                wants = [wanted[row] for row in rows]
                run = self._by_head if self._model.own_head or not any(wants) else self._by_model
                found = run(self._inputs(fed), wants)
                for row, output in zip(rows, found, strict=True):
                    outputs[row] = output
        self._broken.update(row for row, found in enumerate(outputs) if not all(map(_is_finite, found)))
        return outputs

    def accept(self, row: int, path: Sequence[int]) -> None:
        start = self._lengths[row]
        self._moves += [(row, start + node, start + at) for at, node in enumerate(path) if node != at]
        self._lengths[row] = start + len(path)

    def save(self, row: int, start: int) -> TorchSegment | None:
        self._settle()
        states = self._cache.save(row, start, self._lengths[row])
        is_finite = torch.stack([part.isfinite().all() for part in states]).all()
        return TorchSegment(tuple(states)) if bool(is_finite) else None

    def restore(self, row: int, segment: Segment, length: int) -> None:
        assert isinstance(segment, TorchSegment)
        self._settle()
        self._cache.restore(row, self._lengths[row], segment.states, length)
        self._lengths[row] += length

    def _settle(self) -> None:
        """Move the columns that were accepted out of trees to where they belong."""
        if self._moves:
            at = torch.tensor(self._moves, dtype=torch.int64).to(self._model.device)
            self._moves = []
            self._cache.move(Moves(at[:, 0], at[:, 1], at[:, 2]))
        for row in self._broken:
            self._cache.clean(row, self._lengths[row])

    def _inputs(self, fed: FedTokens) -> dict[str, Any]:
        model = self._model
        self._cache.placement.place(fed.rows, fed.lengths.tolist(), fed.tokens.shape[1])
        sight = Sight.of(fed, model.device)
        return {
            "input_ids": torch.from_numpy(fed.tokens).to(model.device),
            "attention_mask": model.mask_form.mask(sight, model.dtype),
            # padding may stand beyond the last position; nobody looks at it
            "position_ids": sight.positions.clamp(max=model.max_positions - 1),
            model.cache_argument: self._cache,
            "use_cache": True,
        }

    def _by_head(self, inputs: dict[str, Any], wanted: Sequence[Sequence[Want]]) -> list[list[FloatArray]]:
        hidden = self._model.module.base_model(**inputs).last_hidden_state
        return _gathered(hidden, wanted, self._dense, self._sparse)

    def _dense(self, hidden: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self._model.head(hidden)).float()

    def _sparse(self, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        head = self._model.head
        logits = torch.nn.functional.linear(
            hidden, head.weight[ids], None if head.bias is None else head.bias[ids]
        )
        return logits.float()

    def _by_model(self, inputs: dict[str, Any], wanted: Sequence[Sequence[Want]]) -> list[list[FloatArray]]:
        columns = sorted({index for row in wanted for index, _ in row})
        if self._model.keeps_logits:
            inputs["logits_to_keep"] = torch.tensor(columns, device=self._model.device)
        logits = self._model.module(**inputs).logits
        if self._model.keeps_logits:
            place = {column: at for at, column in enumerate(columns)}
            wanted = [[(place[index], ids) for index, ids in row] for row in wanted]
        return _gathered(logits, wanted, torch.Tensor.float, lambda row, ids: row[ids].float())


def _is_finite(logits: FloatArray) -> bool:
    return isfinite(float(logits.max()))


def _gathered(
    states: torch.Tensor,
    wanted: Sequence[Sequence[Want]],
    dense: Callable[[torch.Tensor], torch.Tensor],
    sparse: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> list[list[FloatArray]]:
    """Logits of the wanted positions of ``states``: (batch, T, n); dense ones in one product."""
    full = [(row, index) for row, wants in enumerate(wanted) for index, ids in wants if ids is None]
    rows: list[FloatArray] = []
    if full:
        at = torch.tensor(full, device=states.device)
        rows = list(dense(states[at[:, 0], at[:, 1]]).cpu().numpy())
    dense_rows = iter(rows)
    outputs: list[list[FloatArray]] = []
    for row, wants in enumerate(wanted):
        output: list[FloatArray] = []
        for index, ids in wants:
            if ids is None:
                output.append(next(dense_rows))
            else:
                on_device = torch.from_numpy(ids.astype(np.int64)).to(states.device)
                output.append(sparse(states[row, index], on_device).cpu().numpy())
        outputs.append(output)
    return outputs

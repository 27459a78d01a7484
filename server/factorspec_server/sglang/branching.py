"""A step with branches as a larger batch: rows of places for them, and what is kept of them behind it."""

from __future__ import annotations

from copy import copy
from typing import Any

import torch

from factorspec_server.sglang.kv_copies import copy_places, keep_paths
from factorspec_server.sglang.step_branches import StepBranches
from factorspec_server.sglang.step_layout import StepLayout
from factorspec_server.sglang.step_tensors import StepTensors

#: most branches of a step
MOST_BRANCHES = 64
_PER_REQUEST = ("reqs", "multimodal_inputs")


class Branching:
    """Rows of places that belong to no request; see ``step_branches.py``.

    Args:
        places: SGLang's ``req_to_token_pool``; its table gets further rows, that it gives to nobody. Newer
            releases have told others of the table already, so it stays the same object.
        pool: of keys and values.
    """

    def __init__(self, places: Any, pool: Any) -> None:
        table: torch.Tensor = places.req_to_token
        self._first = len(table)
        table.data = torch.cat((table, table.new_zeros((MOST_BRANCHES, table.shape[1]))))
        self._places = places
        self._pool = pool
        nowhere = table.new_zeros(1, dtype=torch.int64)
        copy_places(pool, nowhere, nowhere)  # compiles what copies

    def widened(self, batch: Any, step: StepTensors, layout: StepLayout) -> Any:
        """A batch with one more request for each branch, in whose row stand the places of its path.

        Args:
            batch: of the step; not changed.
            step: of it.
            layout: of it, with branches.
        """
        assert layout.branches is not None
        assert step.branches is not None
        branches, hanging, table = layout.branches, step.branches, self._places.req_to_token
        owners, wide = hanging.owners, copy(batch)
        rows = torch.arange(self._first, self._first + branches.count, device=table.device)
        real, last = batch.req_pool_indices[owners], batch.seq_lens[owners][:, None]
        cached = int(batch.seq_lens_cpu.max()) + 1
        table[rows, :cached] = table[real, :cached]
        straight = torch.arange(layout.stride, device=table.device)
        table[rows[:, None], last + straight] = table[real[:, None], last + hanging.nodes]
        on_host = torch.from_numpy(branches.owners)
        wide.req_pool_indices = torch.cat((batch.req_pool_indices, rows.to(batch.req_pool_indices.dtype)))
        lengths = batch.seq_lens_cpu[on_host] + torch.from_numpy(branches.befores)
        wide.seq_lens_cpu, wide.seq_lens_sum = lengths.to(batch.seq_lens_cpu.dtype), None
        wide.seq_lens = step.positions[step.firsts].to(batch.seq_lens.dtype)
        if getattr(batch, "orig_seq_lens", None) is not None:
            wide.orig_seq_lens = torch.cat((batch.orig_seq_lens, batch.orig_seq_lens[owners]))
        for name in _PER_REQUEST:
            values = getattr(batch, name, None)
            if values is not None:
                setattr(wide, name, branches.of_entries(values))
        wide.sampling_info = copy(batch.sampling_info)
        return wide

    def keep(self, batch: Any, step: StepTensors, branches: StepBranches, entries: torch.Tensor) -> None:
        """Copy keys and values of the paths that stand to where their requests have their places.

        Args:
            batch: of the step, without branches.
            step: of it.
            branches: of it.
            entries: (requests,) int64, the entry that each path ends in.
        """
        assert step.branches is not None
        straight = torch.arange(branches.most_nodes, device=batch.seq_lens.device)
        columns = batch.seq_lens[:, None] + straight
        places = self._places.req_to_token[batch.req_pool_indices[:, None], columns].to(torch.int64)
        keep_paths(self._pool, places, step.branches, entries)

"""Keys and values of a path that stands are copied to where its request has its places.

SGLang's pool copies all layers with one kernel, compiled for so many places when the server starts; so that
it is not compiled again, in the middle of somebody's answer, places are filled up with the dummy one.
"""

from __future__ import annotations

from typing import Any

import torch

from factorspec_server.sglang import compat
from factorspec_server.sglang.acceptance import Branches


def can_copy(model_runner: Any) -> bool:
    """True if the model's keys and values can be copied between places: all in one pool, one row a token."""
    pool: Any = getattr(model_runner, "token_to_kv_pool", None)
    if type(pool) is not compat.MHATokenToKVPool or getattr(pool, "use_hnd", False):
        return False
    return pool.device == "cpu" or (
        getattr(pool, "_kv_copy_config", None) is not None and not pool.use_native_move_kv_cache
    )


def keep_paths(
    pool: Any,
    places: torch.Tensor,
    branches: Branches,
    entries: torch.Tensor,
) -> None:
    """Copy what the path of each request left somewhere else. Never waits for the device.

    Args:
        pool: of the model.
        places: (B, n) int64, of the positions from each request's last token on: as many as it runs tokens.
        branches: of the step.
        entries: (B,) int64, the entry that each path ends in.
    """
    stride = branches.nodes.shape[1]
    straight = torch.arange(stride, device=places.device).expand(len(places), stride)
    nodes = torch.cat((straight, branches.nodes))[entries]
    # what is where it belongs is not copied: behind a path a row may name places that are others' now
    stays = nodes == straight
    to, behind = (
        each.masked_fill(stays, 0).flatten() for each in (places[:, :stride], places.gather(1, nodes))
    )
    copy_places(pool, to, behind)


def copy_places(pool: Any, to: torch.Tensor, behind: torch.Tensor) -> None:
    """Copy keys and values to places from others, none of which is copied to: (n,) int64 each."""
    if to.device.type == "cpu":
        for buffer in (*pool.k_buffer, *pool.v_buffer):
            buffer[to] = buffer[behind]
        return
    part = int(pool._kv_copy_config["num_locs_upper"])  # noqa: SLF001
    missing = -len(to) % part
    to, behind = (torch.nn.functional.pad(each, (0, missing)) for each in (to, behind))
    for at in range(0, len(to), part):
        pool.move_kv_cache(to[at : at + part], behind[at : at + part])

"""Verification of drafts in SGLang's torch attention, which it lacks: queries behind a cached sequence.

::

    keys      cached ………………  draft 0   draft 1 … draft W-1
    query w   all of them     ≤ w, or what the tree's mask says
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from factorspec_server.sglang import compat


def forward_extend(
    original: Callable[..., torch.Tensor],
    backend: Any,
    q: torch.Tensor,
    k: torch.Tensor | None,
    v: torch.Tensor | None,
    layer: Any,
    forward_batch: Any,
    save_kv_cache: bool = True,
) -> torch.Tensor:
    """Hook around ``TorchNativeAttnBackend.forward_extend``: verification is done here, all else there."""
    if not forward_batch.forward_mode.is_target_verify():
        return original(backend, q, k, v, layer, forward_batch, save_kv_cache)
    pool = backend.token_to_kv_pool
    if save_kv_cache and k is not None and v is not None:
        place = compat.KVWriteLoc(forward_batch.out_cache_loc, backend.swa_out_cache_loc)
        pool.set_kv_buffer(layer, place, k, v)
    keys, values = pool.get_key_buffer(layer.layer_id), pool.get_value_buffer(layer.layer_id)
    width = forward_batch.spec_info.draft_token_num
    among = _among_drafts(forward_batch, width)
    queries = q.view(-1, width, layer.tp_q_head_num, layer.qk_head_dim).transpose(1, 2)
    out = q.new_empty((len(queries), width, layer.tp_q_head_num, layer.v_head_dim))
    requests = forward_batch.req_pool_indices.tolist()
    for at, (request, length) in enumerate(zip(requests, forward_batch.seq_lens.tolist(), strict=True)):
        places = backend.req_to_token_pool.req_to_token[request, : length + width].long()
        seen = torch.nn.functional.pad(among[at], (length, 0), value=True)
        done = scaled_dot_product_attention(
            queries[at : at + 1],
            keys[places].to(q.dtype).transpose(0, 1)[None],
            values[places].to(q.dtype).transpose(0, 1)[None],
            attn_mask=seen,
            scale=layer.scaling,
            enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
        )
        out[at] = done[0].transpose(0, 1)
    return out.view(len(q), -1)


def _among_drafts(forward_batch: Any, width: int) -> torch.Tensor:
    """(batch, width, width) bool: which drafted token sees which; a chain where there is no tree's mask."""
    batch = len(forward_batch.req_pool_indices)
    tree = getattr(forward_batch.spec_info, "custom_mask", None)
    if tree is None:
        return torch.ones(width, width, dtype=torch.bool).tril().expand(batch, width, width)
    sees: torch.Tensor = tree.view(batch, width, width).bool()
    return sees

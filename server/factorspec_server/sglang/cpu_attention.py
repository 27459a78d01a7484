"""Verification of drafts in SGLang's torch attention, which it lacks: queries behind a cached sequence.

::

    keys      cached ………………  draft 0   draft 1 … draft W-1
    query w   all of them     ≤ w, or what the tree's mask says

Requests have one width, or each its own (``ragged_verify_layout``).
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
    queries = q.view(-1, layer.tp_q_head_num, layer.qk_head_dim)
    out = q.new_zeros((len(queries), layer.tp_q_head_num, layer.v_head_dim))
    requests, lengths = forward_batch.req_pool_indices.tolist(), forward_batch.seq_lens.tolist()
    start = 0
    for request, length, among in zip(requests, lengths, _among_drafts(forward_batch), strict=True):
        width = len(among)
        places = backend.req_to_token_pool.req_to_token[request, : length + width].long()
        done = scaled_dot_product_attention(
            queries[start : start + width].transpose(0, 1)[None],
            keys[places].to(q.dtype).transpose(0, 1)[None],
            values[places].to(q.dtype).transpose(0, 1)[None],
            attn_mask=torch.nn.functional.pad(among, (length, 0), value=True),
            scale=layer.scaling,
            enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
        )
        out[start : start + width] = done[0].transpose(0, 1)
        start += width
    return out.view(len(q), -1)


def _among_drafts(forward_batch: Any) -> list[torch.Tensor]:
    """(width, width) bool of each request: which drafted token sees which; chains where there is no tree."""
    info, batch = forward_batch.spec_info, len(forward_batch.req_pool_indices)
    ragged = getattr(info, "ragged_verify_layout", None)
    widths = [info.draft_token_num] * batch if ragged is None else ragged.verify_lens_cpu
    tree = getattr(info, "custom_mask", None)
    if tree is None:
        return [torch.ones(width, width, dtype=torch.bool).tril() for width in widths]
    return list(tree.view(batch, widths[0], widths[0]).bool())

"""The functions of ``sgl_kernel`` that a server on CPU calls, in plain torch.

Each has the meaning of SGLang's own kernel of that name and writes into the tensors that it is given. Sizes
are small here: a step's requests and its drafted tokens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import torch
from torch import Tensor


def assign_req_to_token_pool_cpu(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    pool_len: int | None = None,
) -> None:
    """Note for each request which cache slots its positions ``start`` to ``end`` have."""
    for request, positions, flat in _spans(req_pool_indices, start_offset, end_offset):
        req_to_token[request, positions] = out_cache_loc[flat].to(req_to_token.dtype)


def assign_extend_cache_locs_cpu(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    pool_len: int | None = None,
) -> None:
    """The cache slots of each request's positions ``start`` to ``end``, one after the other."""
    for request, positions, flat in _spans(req_pool_indices, start_offset, end_offset):
        out_cache_loc[flat] = req_to_token[request, positions].to(out_cache_loc.dtype)


def _spans(requests: Tensor, starts: Tensor, ends: Tensor) -> Iterator[tuple[int, slice, slice]]:
    """Each request, its positions, and where they stand in a flat list of all."""
    at = 0
    for request, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield request, slice(start, end), slice(at, at + end - start)
        at += end - start


def fill_bonus_tokens_cpu(
    accept_tokens: Tensor, accept_lens: Tensor, bonus_tokens: Tensor, accept_stride: int
) -> None:
    """The last accepted token of each request."""
    rows = torch.arange(len(accept_lens)) * accept_stride
    bonus_tokens.copy_(accept_tokens[rows + accept_lens.long() - 1])


def fill_accept_out_cache_loc_cpu(
    accept_index: Tensor, out_cache_loc: Tensor, accept_out_cache_loc: Tensor
) -> None:
    """The cache slots of accepted tokens, in order; -1 in ``accept_index`` stands for none."""
    accepted = accept_index.flatten()
    accepted = accepted[accepted >= 0].long()
    accept_out_cache_loc[: len(accepted)] = out_cache_loc[accepted].to(accept_out_cache_loc.dtype)


def copy_all_layer_kv_cache_cpu(data_ptrs: Tensor, strides: Tensor, tgt_loc: Tensor, src_loc: Tensor) -> None:
    """Copy slots of all layers' keys and values; ``strides`` are a slot's bytes, layer by layer."""
    if torch.equal(tgt_loc, src_loc):
        return
    num_slots = 1 + int(torch.maximum(tgt_loc.max(), src_loc.max()))
    targets, sources = tgt_loc.long(), src_loc.long()
    for address, stride in zip(data_ptrs.tolist(), strides.tolist(), strict=True):
        memory = (ctypes.c_uint8 * (num_slots * stride)).from_address(address)
        slots = torch.frombuffer(memory, dtype=torch.uint8).view(num_slots, stride)
        slots[targets] = slots[sources]


def verify_tree_greedy_cpu(
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Follow each request's tree of drafts as long as a child is what the model takes.

    Args:
        predicts: (batch · nodes,) written: the model's token behind each accepted node.
        accept_index: (batch, depth) written: accepted nodes, as indices into ``predicts``.
        accept_token_num: (batch,) written: accepted nodes behind the root.
        candidates: (batch, nodes) drafted tokens; the root was accepted before.
        retrive_index: (batch, nodes) the nodes' indices into ``predicts``.
        retrive_next_token: (batch, nodes) first child, or -1.
        retrive_next_sibling: (batch, nodes) next child of the same parent, or -1.
        target_predict: (batch, nodes) the model's token behind each node.
    """
    for request in range(len(candidates)):
        tokens, wanted = candidates[request].tolist(), target_predict[request].tolist()
        children, siblings = retrive_next_token[request].tolist(), retrive_next_sibling[request].tolist()
        way = [0]
        while len(way) < accept_index.shape[1]:
            node = children[way[-1]]
            while node != -1 and tokens[node] != wanted[way[-1]]:
                node = siblings[node]
            if node == -1:
                break
            way.append(node)
        nodes = torch.tensor(way)
        flat = retrive_index[request][nodes].long()
        accept_index[request, : len(way)] = flat.to(accept_index.dtype)
        accept_token_num[request] = len(way) - 1
        predicts[flat] = target_predict[request][nodes].to(predicts.dtype)


def reconstruct_indices_from_tree_mask(
    tree_mask: Tensor,
    verified_seq_len: Tensor,
    positions: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    batch_size: int,
    draft_token_num: int,
) -> None:
    """Positions and links of trees that are given by who sees whom: a node sees its ancestors and itself."""
    sees = tree_mask.view(batch_size, draft_token_num, draft_token_num).bool()
    depth = sees.sum(-1) - 1
    positions.copy_((verified_seq_len.view(-1, 1) + depth).view(-1))
    retrive_index.copy_(torch.arange(batch_size * draft_token_num).view(batch_size, draft_token_num))
    retrive_next_token.fill_(-1)
    retrive_next_sibling.fill_(-1)
    for request, rows in enumerate(sees.tolist()):
        last: dict[int, int] = {}
        for node in range(1, draft_token_num):
            parent = max((other for other in range(node) if rows[node][other]), default=-1)
            if parent in last:
                retrive_next_sibling[request, last[parent]] = node
            elif parent >= 0:
                retrive_next_token[request, parent] = node
            last[parent] = node


FUNCTIONS: dict[str, tuple[Callable[..., None], ...]] = {
    "sgl_kernel": (
        assign_req_to_token_pool_cpu,
        assign_extend_cache_locs_cpu,
        fill_bonus_tokens_cpu,
        fill_accept_out_cache_loc_cpu,
        copy_all_layer_kv_cache_cpu,
        verify_tree_greedy_cpu,
    ),
    "sgl_kernel.speculative": (reconstruct_indices_from_tree_mask,),
}

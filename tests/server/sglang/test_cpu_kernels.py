"""The stand-in's functions against slow references."""

from __future__ import annotations

import random

import pytest
import torch

from factorspec_server.sglang import cpu_kernels


def test_cache_slots_go_where_they_came_from() -> None:
    slots = torch.arange(100, 112)
    table = torch.zeros(4, 9, dtype=torch.int32)
    requests, starts, ends = torch.tensor([3, 0, 1]), torch.tensor([2, 0, 5]), torch.tensor([7, 4, 8])
    cpu_kernels.assign_req_to_token_pool_cpu(requests, table, starts, ends, slots)
    assert table[3].tolist() == [0, 0, 100, 101, 102, 103, 104, 0, 0]
    assert table[0, :4].tolist() == [105, 106, 107, 108]
    found = torch.zeros_like(slots)
    cpu_kernels.assign_extend_cache_locs_cpu(requests, table, starts, ends, found)
    assert found.tolist() == slots.tolist()


def test_bonus_tokens_are_the_last_accepted() -> None:
    bonus = torch.zeros(3, dtype=torch.int32)
    accepted = torch.arange(12)
    cpu_kernels.fill_bonus_tokens_cpu(accepted, torch.tensor([1, 4, 2]), bonus, 4)
    assert bonus.tolist() == [0, 7, 9]


def test_slots_of_accepted_tokens() -> None:
    out = torch.zeros(3, dtype=torch.int64)
    index = torch.tensor([[0, 2, -1], [5, -1, -1]])
    cpu_kernels.fill_accept_out_cache_loc_cpu(index, torch.arange(10, 16), out)
    assert out.tolist() == [10, 12, 15]


def test_layers_are_copied_slot_by_slot() -> None:
    layers = [torch.randn(8, 5), torch.randn(8, 3)]
    before = [layer.clone() for layer in layers]
    pointers = torch.tensor([layer.data_ptr() for layer in layers])
    strides = torch.tensor([5 * 4, 3 * 4])
    cpu_kernels.copy_all_layer_kv_cache_cpu(pointers, strides, torch.tensor([6, 0]), torch.tensor([1, 7]))
    for layer, old in zip(layers, before, strict=True):
        assert torch.equal(layer[6], old[1])
        assert torch.equal(layer[0], old[7])
        assert torch.equal(layer[1:6], old[1:6])


def random_parents(source: random.Random, nodes: int) -> list[int]:
    return [-1, *(source.randrange(node) for node in range(1, nodes))]


@pytest.mark.parametrize("seed", range(8))
def test_links_of_trees_are_read_off_their_mask_and_followed(seed: int) -> None:
    source, batch, nodes = random.Random(seed), 3, 7
    trees = [random_parents(source, nodes) for _ in range(batch)]
    mask = torch.zeros(batch, nodes, nodes, dtype=torch.bool)
    depths = torch.zeros(batch, nodes, dtype=torch.int64)
    for request, parents in enumerate(trees):
        for node in range(nodes):
            at = node
            while at >= 0:
                mask[request, node, at] = True
                at = parents[at]
            depths[request, node] = mask[request, node].sum() - 1
    lengths = torch.tensor([10, 20, 30])
    positions = torch.zeros(batch * nodes, dtype=torch.int64)
    index, child, sibling = (torch.zeros(batch, nodes, dtype=torch.int64) for _ in range(3))
    cpu_kernels.reconstruct_indices_from_tree_mask(
        mask.flatten(), lengths, positions, index, child, sibling, batch, nodes
    )
    assert torch.equal(positions.view(batch, nodes), lengths[:, None] + depths)
    for request, parents in enumerate(trees):
        for node in range(nodes):
            below, at = [], int(child[request, node])
            while at != -1:
                below.append(at)
                at = int(sibling[request, at])
            assert below == [other for other in range(nodes) if parents[other] == node]
    _check_verification(source, trees, index, child, sibling)


def _check_verification(
    source: random.Random,
    trees: list[list[int]],
    index: torch.Tensor,
    child: torch.Tensor,
    sibling: torch.Tensor,
) -> None:
    batch, nodes = index.shape
    drafted = torch.tensor([[source.randrange(3) for _ in range(nodes)] for _ in range(batch)])
    wanted = torch.tensor([[source.randrange(3) for _ in range(nodes)] for _ in range(batch)])
    predicts = torch.full((batch * nodes,), -7, dtype=torch.int32)
    accepted = torch.full((batch, nodes), -1, dtype=torch.int32)
    counts = torch.zeros(batch, dtype=torch.int32)
    cpu_kernels.verify_tree_greedy_cpu(predicts, accepted, counts, drafted, index, child, sibling, wanted)
    for request, parents in enumerate(trees):
        way = [0]
        while True:
            token = int(wanted[request, way[-1]])
            fits = [
                node
                for node in range(1, nodes)
                if parents[node] == way[-1] and int(drafted[request, node]) == token
            ]
            if not fits:
                break
            way.append(fits[0])
        assert int(counts[request]) == len(way) - 1
        kept = [node for node in accepted[request].tolist() if node >= 0]
        assert kept == [request * nodes + node for node in way]
        assert [int(predicts[node]) for node in kept] == [int(wanted[request, node]) for node in way]

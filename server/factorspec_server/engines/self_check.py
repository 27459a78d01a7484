"""Before a model serves, a few forward passes show that it is run exactly.

What a model does with masks, positions and caches is its own code, and a model that ignores one of them would
answer, only wrongly. So a ragged batch with a rejected draft, and a tree of which one branch is accepted, are
compared with the model's own plain pass, once at load; it takes a few passes over some twenty tokens.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray

from factorspec_server.engines.errors import ModelUnsupported
from factorspec_server.engines.seam import Want
from factorspec_server.engines.torch_model import TorchModel

_LENGTHS = (9, 14)
_FIRST = (4, 6)
_REJECTED = 3
_FORK = 5
_TOLERANCE_FLOAT32 = 1e-3
_TOLERANCE_HALF = 0.1
_AMPLIFIED = 64.0


def check_model(model: TorchModel) -> None:
    """Settle ``model.own_head``, then compare a ragged batch and a tree with plain passes.

    Where only the tree differs, ``model.takes_trees`` is cleared, with a warning.

    Raises:
        ModelUnsupported: if the batch's logits differ by more than rounding.
    """
    rows = [_probe(length, model.num_tokens) for length in _LENGTHS]
    model.own_head = _has_plain_head(model, rows[0])
    plain = [_plain(model, row) for row in rows]
    error = _largest(plain, _ragged(model, rows))
    tolerance = _TOLERANCE_FLOAT32 if model.dtype == torch.float32 else _TOLERANCE_HALF
    if error > tolerance:
        raise ModelUnsupported(
            f"model {model.name!r} does not compute the same with a ragged cache as without "
            f"(relative difference {error:.2g}); this engine cannot run it exactly"
        )
    branches = [rows[0][:_FORK] + row for row in rows]
    plain = [_plain(model, branch)[_FORK:] for branch in branches]
    error = _largest(plain, _branched(model, branches))
    model.takes_trees = error <= tolerance
    if not model.takes_trees:
        warnings.warn(
            f"model {model.name!r} does not run trees of tokens exactly (relative difference {error:.2g}); "
            "drafts are run as chains",
            RuntimeWarning,
            stacklevel=2,
        )


def _has_plain_head(model: TorchModel, row: list[int]) -> bool:
    """True if the logits are the output layer of the last hidden states, and nothing more.

    The output layer's result is amplified on its way: a soft cap that does nothing to the small logits of
    this probe would do something to those. A power of two, so that a plain head shows no rounding.
    """
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def amplify(
        layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor
    ) -> torch.Tensor:
        seen.append((inputs[0], output * _AMPLIFIED))
        return seen[-1][1]

    ids = torch.tensor([row], device=model.device)
    handle = model.head.register_forward_hook(amplify)
    try:
        with torch.inference_mode():
            logits = model.module(input_ids=ids, use_cache=False).logits
            hidden = model.module.base_model(input_ids=ids, use_cache=False).last_hidden_state
    finally:
        handle.remove()
    if len(seen) != 1 or seen[0][0].shape != hidden.shape:
        return False
    return torch.allclose(seen[0][0], hidden) and torch.equal(seen[0][1].float(), logits.float())


def _probe(length: int, num_tokens: int) -> list[int]:
    return [(7919 * (index + length) + 13) % num_tokens for index in range(length)]


def _plain(model: TorchModel, row: list[int]) -> NDArray[np.float32]:
    with torch.inference_mode():
        logits = model.module(input_ids=torch.tensor([row], device=model.device), use_cache=False).logits
    values: NDArray[np.float32] = logits[0].float().cpu().numpy()
    return values


def _ragged(model: TorchModel, rows: list[list[int]]) -> list[NDArray[np.float32]]:
    """Logits at every position, the rows run together in two passes of different lengths."""
    batch = model.open()
    heads = [row[:cut] for row, cut in zip(rows, _FIRST, strict=True)]
    drafted = [heads[0] + [1] * _REJECTED, heads[1]]
    for _ in rows:
        batch.join()
    first = batch.extend(drafted, [_everywhere(head) for head in heads])
    for index, head in enumerate(heads):
        batch.accept(index, range(len(head)))
    tails = [row[cut:] for row, cut in zip(rows, _FIRST, strict=True)]
    second = batch.extend(tails, [_everywhere(tail) for tail in tails])
    return [np.stack([*before, *after]) for before, after in zip(first, second, strict=True)]


def _branched(model: TorchModel, rows: list[list[int]]) -> list[NDArray[np.float32]]:
    """Logits behind a common beginning, where ``rows`` run as the branches of one tree, the last accepted.

    Returns:
        For each row the logits of its branch; those of the last row's last token come from a further pass,
        after the branch has been accepted.
    """
    shared = _shared(rows)
    branches = [row[shared:] for row in rows]
    branches[-1] = branches[-1][:-1]
    nodes = sorted((at, branch) for branch, tokens in enumerate(branches) for at in range(len(tokens)))
    place = {node: index for index, node in enumerate(nodes)}
    parents = [place[at - 1, branch] if at else -1 for at, branch in nodes]
    tokens = [branches[branch][at] for at, branch in nodes]
    batch = model.open()
    batch.join()
    batch.extend([rows[0][:shared]], [[]])
    batch.accept(0, range(shared))
    (found,) = batch.extend([tokens], [_everywhere(tokens)], [parents])
    batch.accept(0, [place[at, len(rows) - 1] for at in range(len(branches[-1]))])
    ((last,),) = batch.extend([rows[-1][-1:]], [[(0, None)]])
    logits = [
        [found[place[at, branch]] for at in range(len(tokens))] for branch, tokens in enumerate(branches)
    ]
    logits[-1].append(last)
    return [np.stack(branch) for branch in logits]


def _everywhere(tokens: list[int]) -> list[Want]:
    return [(index, None) for index in range(len(tokens))]


def _shared(rows: list[list[int]]) -> int:
    """How many tokens all rows begin with."""
    return next(at for at, tokens in enumerate(zip(*rows, strict=False)) if len(set(tokens)) > 1)


def _largest(wanted: list[NDArray[np.float32]], found: list[NDArray[np.float32]]) -> float:
    return max(_difference(want, got) for want, got in zip(wanted, found, strict=True))


def _difference(want: NDArray[np.float32], got: NDArray[np.float32]) -> float:
    """Largest difference, relative to the largest logit; infinite where something is not a number."""
    error = float(np.abs(want - got).max() / max(float(np.abs(want).max()), 1e-6))
    return error if np.isfinite(error) else float("inf")

"""The attention mask of a ragged pass, in the form that each kind of transformers model takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch

from factorspec_server.engines.errors import ModelUnsupported
from factorspec_server.engines.fed_tokens import FedTokens

_SEEING_ALL = "full_attention"
_SEEING_WINDOW = "sliding_attention"


@dataclass(frozen=True, slots=True)
class Sight:
    """What the tokens of a pass see.

    A token sees what its row held before the pass and, of the pass itself, its ancestors. A held token's
    column is its position; one of the pass may stand further right, where it is a branch of a tree.

    Attributes:
        positions: (B, T) int64, of the tokens in their rows.
        columns: (B or 1, width) int64, positions of what stands in the columns.
        seen: (B, T, width) bool.
    """

    positions: torch.Tensor
    columns: torch.Tensor
    seen: torch.Tensor

    @classmethod
    def of(cls, fed: FedTokens, device: torch.device) -> Sight:
        """The sight of a pass."""
        num_rows, num_tokens = fed.tokens.shape
        width = int(fed.lengths.max()) + num_tokens
        held = torch.from_numpy(fed.lengths).to(device)[:, None]
        positions = held + torch.from_numpy(fed.depths).to(device)
        columns = torch.arange(width, device=device)[None]
        if fed.ancestors is None:
            return cls(positions, columns, columns[:, None] <= positions[:, :, None])
        own = held + torch.arange(num_tokens, device=device)
        seen = (columns < held)[:, None].repeat(1, num_tokens, 1)
        places = own[:, None].expand(num_rows, num_tokens, num_tokens)
        seen.scatter_(2, places, torch.from_numpy(fed.ancestors).to(device))
        columns = columns.repeat(num_rows, 1).scatter_(1, own, positions)
        return cls(positions, columns, seen)


@dataclass(frozen=True, slots=True)
class MaskForm:
    """How a model wants its mask.

    Attributes:
        window: positions that a query sees in sliding layers, itself included; None sees all.
        by_layer: True if the model takes a mapping from layer type to mask.
        additive: True for 0 and a large negative number, False for True and False.
    """

    window: int | None
    by_layer: bool
    additive: bool

    @classmethod
    def of(cls, config: object) -> MaskForm:
        """The form for a model's (text) configuration.

        Raises:
            ModelUnsupported: for layers whose state cannot be cut back, such as state-space layers.
        """
        types = set(getattr(config, "layer_types", None) or ())
        strange = types - {_SEEING_ALL, _SEEING_WINDOW}
        if strange or not getattr(config, "num_hidden_layers", 0):
            kind = getattr(config, "model_type", type(config).__name__)
            raise ModelUnsupported(
                f"model type {kind!r} has layers that this engine cannot run ({sorted(strange)!r}); "
                "use a causal model with full or sliding attention"
            )
        window = getattr(config, "sliding_window", None)
        if (types and _SEEING_WINDOW not in types) or not getattr(config, "use_sliding_window", True):
            window = None
        implementation = getattr(config, "_attn_implementation", "eager")
        return cls(
            window=cast("int | None", window),
            by_layer=types == {_SEEING_ALL, _SEEING_WINDOW},
            additive=implementation != "sdpa",
        )

    def mask(self, sight: Sight, dtype: torch.dtype) -> Any:
        """The mask of a pass.

        Returns:
            (B, 1, T, width), or a mapping of such by layer type.
        """
        if self.window is None:
            return self._formed(sight.seen, dtype)
        near = sight.seen & (sight.columns[:, None] > sight.positions[:, :, None] - self.window)
        if not self.by_layer:
            return self._formed(near, dtype)
        return {_SEEING_ALL: self._formed(sight.seen, dtype), _SEEING_WINDOW: self._formed(near, dtype)}

    def _formed(self, seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        seen = seen[:, None]
        if not self.additive:
            return seen
        zero = torch.zeros((), dtype=dtype, device=seen.device)
        return torch.where(seen, zero, torch.finfo(dtype).min)

"""The attention mask of a ragged pass, in the form that each kind of transformers model takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch

from factorspec_server.engines.errors import ModelUnsupported

_SEEING_ALL = "full_attention"
_SEEING_WINDOW = "sliding_attention"


@dataclass(frozen=True, slots=True)
class MaskForm:
    """How a model wants its mask.

    Attributes:
        window: columns that a query sees in sliding layers, itself included; None sees all.
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

    def mask(self, positions: torch.Tensor, width: int, dtype: torch.dtype) -> Any:
        """The mask for queries at ``positions``: (batch, T) int64, over ``width`` columns.

        Returns:
            (batch, 1, T, width), or a mapping of such by layer type.
        """
        columns = torch.arange(width, device=positions.device)
        seen = columns <= positions[:, None, :, None]
        if self.window is None:
            return self._formed(seen, dtype)
        near = seen & (columns > positions[:, None, :, None] - self.window)
        if not self.by_layer:
            return self._formed(near, dtype)
        return {_SEEING_ALL: self._formed(seen, dtype), _SEEING_WINDOW: self._formed(near, dtype)}

    def _formed(self, seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        if not self.additive:
            return seen
        zero = torch.zeros((), dtype=dtype, device=seen.device)
        return torch.where(seen, zero, torch.finfo(dtype).min)

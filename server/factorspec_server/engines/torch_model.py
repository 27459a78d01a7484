"""A Hugging Face causal model behind the model seam: ragged batches, logits only where they are wanted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import torch

from factorspec_server.drafting.seam import FloatArray
from factorspec_server.engines.attention_mask import MaskForm
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.ragged_cache import RaggedCache
from factorspec_server.engines.seam import Want

_NO_LIMIT = 1 << 20


class TorchModel:
    """A causal model from transformers with its tokenizer.

    Attributes:
        name: the name under which the model is served.
        chat: tokenizer and chat template.
        logit_width: columns of the logits.
        max_positions: most tokens in a row.
        own_head: True if the output layer alone, applied to the last hidden states, gives the model's logits;
            False if the whole model has to be asked (soft-capped or scaled logits).
    """

    def __init__(self, module: Any, chat: ChatTokenizer, *, name: str) -> None:
        self.name = name
        self.chat = chat
        self.module = module.eval()
        config = module.config.get_text_config()
        self.max_positions = _max_positions(config)
        self.num_layers = int(config.num_hidden_layers)
        self.mask_form = MaskForm.of(config)
        self.head = module.get_output_embeddings()
        self.logit_width = int(self.head.weight.shape[0])
        self.own_head = True
        self.device: torch.device = self.head.weight.device
        self.dtype: torch.dtype = self.head.weight.dtype
        parameters = inspect.signature(module.forward).parameters
        # transformers renamed the argument; the old name warns in versions that know the new one
        self.cache_argument = "cache" if "cache" in parameters else "past_key_values"
        self.keeps_logits = "logits_to_keep" in parameters

    @property
    def num_tokens(self) -> int:
        """Ids that the tokenizer knows, at most ``logit_width``."""
        return min(self.chat.num_tokens, self.logit_width)

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Tokens that end an answer."""
        return self.chat.end_ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, special ones left out."""
        return self.chat.decode(token_ids)

    def open(self, num_rows: int) -> TorchBatch:
        """A batch of empty rows; memory for keys and values is taken as rows grow."""
        return TorchBatch(self, num_rows)


class TorchBatch:
    """Rows of a ``TorchModel`` and their keys and values."""

    def __init__(self, model: TorchModel, num_rows: int) -> None:
        self._model = model
        self._cache = RaggedCache(model.num_layers)
        self._lengths = [0] * num_rows

    def extend(
        self, tokens: Sequence[Sequence[int]], wanted: Sequence[Sequence[Want]]
    ) -> list[list[FloatArray]]:
        """Append to each row its own tokens in one forward pass; see ``seam.Batch``."""
        if not all(tokens):
            raise ValueError("each row must be extended by at least one token")
        with torch.inference_mode():
            inputs = self._inputs(tokens)
            if self._model.own_head:
                outputs = self._by_head(inputs, wanted)
            else:
                outputs = self._by_model(inputs, wanted)
        for row, row_tokens in enumerate(tokens):
            self._lengths[row] += len(row_tokens)
        return outputs

    def truncate(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        assert 0 <= length <= self._lengths[row]
        self._lengths[row] = length

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        self._cache.keep(rows, self._model.device)
        self._lengths = [self._lengths[row] for row in rows]

    def _inputs(self, tokens: Sequence[Sequence[int]]) -> dict[str, Any]:
        model, num_columns = self._model, max(map(len, tokens))
        padded = np.zeros((len(tokens), num_columns), dtype=np.int64)
        for row, row_tokens in enumerate(tokens):
            padded[row, : len(row_tokens)] = row_tokens
        self._cache.placement.place(self._lengths, num_columns, model.device)
        positions = self._cache.placement.columns
        return {
            "input_ids": torch.from_numpy(padded).to(model.device),
            "attention_mask": model.mask_form.mask(positions, self._cache.placement.width, model.dtype),
            # padding may stand beyond the last position; nobody looks at it
            "position_ids": positions.clamp(max=model.max_positions - 1),
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


def _max_positions(config: Any) -> int:
    """Most tokens in a row; models without positions of their own say none."""
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        found = getattr(config, name, None)
        if found:
            return int(found)
    return _NO_LIMIT


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

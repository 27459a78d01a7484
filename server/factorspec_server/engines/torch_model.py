"""A Hugging Face causal model behind the model seam."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from factorspec_server.engines.attention_mask import MaskForm
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.torch_batch import TorchBatch

_NO_LIMIT = 1 << 20
_SPLIT_TOKENS = 32


class TorchModel:
    """A causal model from transformers with its tokenizer.

    Attributes:
        name: the name under which the model is served.
        chat: tokenizer and chat template.
        logit_width: columns of the logits.
        max_positions: most tokens in a row.
        own_head: True if the output layer alone, applied to the last hidden states, gives the model's logits;
            False if the whole model has to be asked (soft-capped or scaled logits).
        takes_trees: True if the model runs trees of tokens exactly.
        split_tokens: padding of more than this many tokens costs more than a pass of its own.
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
        self.takes_trees = True
        self.split_tokens = _SPLIT_TOKENS
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

    @property
    def token_bytes(self) -> int:
        """Bytes that the keys and values of one token take."""
        config = self.module.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return 2 * self.num_layers * int(heads) * int(head_dim) * self.dtype.itemsize

    def open(self) -> TorchBatch:
        """A batch without rows; memory for keys and values is taken as rows grow."""
        return TorchBatch(self)


def _max_positions(config: Any) -> int:
    """Most tokens in a row; models without positions of their own say none."""
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        found = getattr(config, name, None)
        if found:
            return int(found)
    return _NO_LIMIT

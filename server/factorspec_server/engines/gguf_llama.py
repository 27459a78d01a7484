"""Reading a GGUF file of the Llama architecture: its configuration, its tokenizer, its weights.

transformers can read GGUF files too, but needs a further package (accelerate) for the weights, keeps the
whole model in memory twice, and builds the tokenizer without its digit splitter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
from gguf import GGUFReader, dequantize
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from factorspec_server.engines.errors import ModelUnsupported

_CONTROL_TOKEN = 3  # GGUF's token type

_OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


class GgufLlama:
    """One GGUF file with a Llama model and a byte-level BPE tokenizer.

    Raises:
        ModelUnsupported: if the file holds another architecture or tokenizer.
    """

    def __init__(self, path: Path) -> None:
        self._reader = GGUFReader(str(path))
        if self._field("general.architecture") != "llama" or self._field("tokenizer.ggml.model") != "gpt2":
            raise ModelUnsupported(f"{path.name!r} is not a Llama model with a byte-level BPE tokenizer")
        self._tokens: list[str] = self._field("tokenizer.ggml.tokens")
        self._num_heads = int(self._field("llama.attention.head_count"))
        self._num_key_heads = int(self._field("llama.attention.head_count_kv"))

    def _field(self, name: str) -> Any:
        field = self._reader.get_field(name)
        if field is None:
            raise ModelUnsupported(f"the GGUF file has no field {name!r}")
        return field.contents()

    @property
    def chat_template(self) -> str:
        """The chat template, in Jinja."""
        return cast(str, self._field("tokenizer.chat_template"))

    @property
    def context_length(self) -> int:
        """Most tokens that the model reads."""
        return int(self._field("llama.context_length"))

    def token_id(self, token: str) -> int:
        """The id of a token by its name."""
        return self._tokens.index(token)

    def config(self) -> dict[str, object]:
        """The model's configuration as transformers' ``config.json`` has it."""
        names = {tensor.name for tensor in self._reader.tensors}
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": int(self._field("llama.embedding_length")),
            "intermediate_size": int(self._field("llama.feed_forward_length")),
            "num_hidden_layers": int(self._field("llama.block_count")),
            "num_attention_heads": self._num_heads,
            "num_key_value_heads": self._num_key_heads,
            "max_position_embeddings": self.context_length,
            "rms_norm_eps": float(f"{self._field('llama.attention.layer_norm_rms_epsilon'):.6g}"),
            "rope_theta": float(self._field("llama.rope.freq_base")),
            "vocab_size": len(self._tokens),
            "tie_word_embeddings": "output.weight" not in names,
            "hidden_act": "silu",
            "bos_token_id": int(self._field("tokenizer.ggml.bos_token_id")),
            "pad_token_id": int(self._field("tokenizer.ggml.padding_token_id")),
            "dtype": "float16",
        }

    def tokenizer(self, *, split_digits: bool) -> Tokenizer:
        """The tokenizer; ``split_digits`` puts each digit into a piece of its own."""
        merges = [tuple(merge.split(" ")) for merge in self._field("tokenizer.ggml.merges")]
        tokenizer = Tokenizer(BPE(vocab={token: at for at, token in enumerate(self._tokens)}, merges=merges))
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
        tokenizer.pre_tokenizer = (
            pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
            if split_digits
            else byte_level
        )
        tokenizer.decoder = decoders.ByteLevel()
        types = self._field("tokenizer.ggml.token_type")
        special = [token for token, kind in zip(self._tokens, types, strict=True) if kind == _CONTROL_TOKEN]
        tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
        return tokenizer

    def save_weights(self, path: Path, *, progress: bool) -> None:
        """Write the weights as float16 safetensors under transformers' names."""
        from rich.console import Console
        from rich.progress import track
        from safetensors.numpy import save_file

        weights: dict[str, NDArray[np.float16]] = {}
        console = Console(stderr=True)
        for tensor in track(
            self._reader.tensors,
            description="Converting SmolLM2 (once)",
            console=console,
            disable=not progress,
            transient=True,
        ):
            values = dequantize(tensor.data, tensor.tensor_type)
            weights[_name(tensor.name)] = np.ascontiguousarray(
                self._ordered(tensor.name, values), dtype=np.float16
            )
        save_file(weights, str(path), metadata={"format": "pt"})

    def _ordered(self, name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Undo the order in which GGUF keeps the rows of query and key weights.

        GGUF interleaves the two halves that rotary embedding turns against each other; transformers keeps the
        halves one after the other, head by head.
        """
        if ".attn_q." in name:
            num_heads = self._num_heads
        elif ".attn_k." in name:
            num_heads = self._num_key_heads
        else:
            return values
        by_head = values.reshape(num_heads, values.shape[0] // num_heads // 2, 2, values.shape[1])
        return by_head.swapaxes(1, 2).reshape(values.shape)


def _name(gguf_name: str) -> str:
    """The name of a weight in transformers."""
    if gguf_name in _OUTER_NAMES:
        return _OUTER_NAMES[gguf_name]
    _, layer, part, kind = gguf_name.split(".")
    return f"model.layers.{layer}.{_LAYER_NAMES[part]}.{kind}"

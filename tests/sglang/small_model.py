"""A model that several ranks can divide among them: SmolLM2's tokenizer, four heads, weights by chance.

What it writes is rubbish, and the same each time.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from factorspec_server.engines.smollm2 import smollm2_dir

_WIDTH, _INNER, _LAYERS, _HEADS = 64, 128, 2, 4
_SEED = 7


def small_model(folder: Path) -> Path:
    """Write the model into a folder, which is made."""
    source = smollm2_dir(progress=False)
    folder.mkdir(parents=True)
    for file in source.iterdir():
        if file.suffix in (".json", ".jinja", ".txt") and file.name != "config.json":
            shutil.copy(file, folder)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config |= {
        "hidden_size": _WIDTH,
        "intermediate_size": _INNER,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _HEADS,
        "head_dim": _WIDTH // _HEADS,
        "tie_word_embeddings": False,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(_weights(config["vocab_size"]), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _weights(vocab: int) -> dict[str, torch.Tensor]:
    noise = torch.Generator().manual_seed(_SEED)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=noise) / float(shape[-1] ** 0.5)

    found = {
        "model.embed_tokens.weight": drawn(vocab, _WIDTH) * _WIDTH**0.5,
        "model.norm.weight": torch.ones(_WIDTH),
        "lm_head.weight": drawn(vocab, _WIDTH) * 4,
    }
    for layer in range(_LAYERS):
        at = f"model.layers.{layer}"
        found |= {f"{at}.self_attn.{name}_proj.weight": drawn(_WIDTH, _WIDTH) for name in "qkvo"}
        found |= {f"{at}.mlp.{name}_proj.weight": drawn(_INNER, _WIDTH) for name in ("gate", "up")}
        found[f"{at}.mlp.down_proj.weight"] = drawn(_WIDTH, _INNER)
        found |= {
            f"{at}.{name}.weight": torch.ones(_WIDTH)
            for name in ("input_layernorm", "post_attention_layernorm")
        }
    return found

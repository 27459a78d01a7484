"""The fetched tokenizers as vocabularies, each with its model's logit width and end tokens."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from factorspec_sdk.tokens import Vocabulary
from tests.tokenizers.sources import folder


@dataclass(frozen=True)
class Real:
    """A tokenizer that people serve.

    Attributes:
        end_tokens: tokens that end a completion of its model.
        logit_width: columns of its model's logits; None: as many as there are ids.
    """

    end_tokens: tuple[str, ...]
    logit_width: int | None = None


REAL: Mapping[str, Real] = {
    "qwen3": Real(("<|im_end|>", "<|endoftext|>"), 151_936),
    "llama3_1": Real(("<|end_of_text|>", "<|eot_id|>"), 128_256),
    "gpt2": Real(("<|endoftext|>",)),
    "gpt4o": Real(("<|endoftext|>",), 200_064),
    "deepseek_v3": Real(("<｜end▁of▁sentence｜>",), 129_280),
    "llama2": Real(("</s>",)),
    "gemma3": Real(("<eos>", "<end_of_turn>"), 262_208),
    "cl100k_base": Real(("<|endoftext|>",)),
    "o200k_base": Real(("<|endoftext|>",)),
    "p50k_base": Real(("<|endoftext|>",)),
}
TIKTOKEN = ("cl100k_base", "o200k_base", "p50k_base", "r50k_base")


def missing(name: str) -> str | None:
    """Why a tokenizer cannot be used on this machine, or None."""
    path = folder() / ("tiktoken" if name in TIKTOKEN else name)
    path /= f"{name}.json" if name in TIKTOKEN else "tokenizer.json"
    return None if path.is_file() else f"{path} is not there; run: make tokenizers"


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a fetched tokenizer. Not kept: some take 100 MB."""
    real = REAL[name]
    if name in TIKTOKEN:
        made = ranks(name)
        special: dict[str, int] = made["special_tokens"]
        return Vocabulary.from_tiktoken(
            made["ranks"],
            pattern=made["pat_str"],
            special_tokens=special,
            end_ids=[special[token] for token in real.end_tokens],
            name=name,
        )
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder() / name / "tokenizer.json"))
    ids = tokenizer.get_vocab(with_added_tokens=True)
    ends = [ids[token] for token in real.end_tokens]
    return Vocabulary.from_tokenizer(tokenizer, real.logit_width, ends, name=name)


def ranks(name: str) -> dict[str, Any]:
    """A fetched tiktoken encoding: ``ranks``, ``pat_str`` and ``special_tokens``.

    Its file has ranks in runs: a line is ``! first token token …``, tokens in base64.
    """
    raw: dict[str, Any] = json.loads((folder() / "tiktoken" / f"{name}.json").read_text(encoding="utf-8"))
    found: dict[bytes, int] = {}
    for line in raw.pop("bpe_ranks").splitlines():
        _, first, *tokens = line.split()
        found.update((base64.b64decode(token), int(first) + at) for at, token in enumerate(tokens))
    return raw | {"ranks": found}

"""Public test doubles: small tokenizers and vocabularies (extra ``tokens``), and a model without weights.

Names are loaded when they are first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factorspec_sdk.testing.scripted_model import ScriptedModel
    from factorspec_sdk.testing.tokenizers import (
        byte_vocabulary,
        cl100k_like_tokenizer,
        deepseek_like_tokenizer,
        gemma_like_tokenizer,
        gpt2_like_tokenizer,
        o200k_like_tokenizer,
        qwen_like_tokenizer,
        sentencepiece_like_tokenizer,
        smollm2_like_tokenizer,
        tricky_tokenizer,
        unfamiliar_tokenizer,
        vocabulary_like,
        whole_word_tokenizer,
    )

__all__ = [
    "ScriptedModel",
    "byte_vocabulary",
    "cl100k_like_tokenizer",
    "deepseek_like_tokenizer",
    "gemma_like_tokenizer",
    "gpt2_like_tokenizer",
    "o200k_like_tokenizer",
    "qwen_like_tokenizer",
    "sentencepiece_like_tokenizer",
    "smollm2_like_tokenizer",
    "tricky_tokenizer",
    "unfamiliar_tokenizer",
    "vocabulary_like",
    "whole_word_tokenizer",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "scripted_model" if name == "ScriptedModel" else "tokenizers"
    return getattr(import_module(f"{__name__}.{module}"), name)

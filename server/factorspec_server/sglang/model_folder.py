"""What a model's folder must hold, looked at before SGLang is started: it finds out half a minute later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from factorspec_sdk.errors import ModelNotFound, Problem

_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "tekken.json",
    "*.gguf",
)
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")


def check_model_folder(folder: Path, passed_on: Sequence[str]) -> None:
    """Look at a model's folder.

    Args:
        folder: that holds the model.
        passed_on: SGLang's own flags; some of them stand for files.

    Raises:
        ModelNotFound: something is missing or cannot be read; all of it is named.
    """
    problems = list(_problems(folder, passed_on))
    if problems:
        raise ModelNotFound(f"no model in {str(folder)!r}", problems)


def _problems(folder: Path, passed_on: Sequence[str]) -> Iterator[Problem]:
    config = folder / "config.json"
    if not config.is_file():
        yield Problem("config.json", "is not there", None, "name the folder that holds the model")
    else:
        try:
            json.loads(config.read_text(encoding="utf-8"))
        except ValueError as error:
            yield Problem("config.json", f"is not JSON: {error}", None, "fetch the model again")
    if not (_has_any(folder, _TOKENIZERS) or _has_flag("--tokenizer-path", passed_on)):
        hint = "fetch it with the model, or name it behind the -- by --tokenizer-path"
        yield Problem("tokenizer.json", "is not there, nor another tokenizer", None, hint)
    if not (_has_any(folder, _WEIGHTS) or _has_flag("--load-format", passed_on)):
        yield Problem("*.safetensors", "are not there, nor other weights", None, "fetch the model again")


def _has_any(folder: Path, patterns: Sequence[str]) -> bool:
    return any(next(folder.glob(pattern), None) is not None for pattern in patterns)


def _has_flag(name: str, flags: Sequence[str]) -> bool:
    return any(flag.partition("=")[0] == name for flag in flags)

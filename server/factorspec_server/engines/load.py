"""Loading a model by name or directory, without network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from factorspec_sdk.errors import EngineError, MissingExtra, ModelNotFound
from factorspec_server.engines.smollm2 import MODEL_NAME, smollm2_dir

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel

DtypeName = Literal["float32", "bfloat16", "float16"]

DEFAULT_MODEL = "smollm2"
_SMOLLM2_NAMES = frozenset({"smollm2", MODEL_NAME})
# one of them is enough for transformers
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")


def load_model(
    name_or_dir: str | Path = DEFAULT_MODEL,
    *,
    dtype: DtypeName | None = None,
    device: str | None = None,
    num_threads: int | None = None,
    progress: bool = True,
) -> TorchModel:
    """Load a causal language model and check that this engine runs it exactly.

    Sets torch's number of threads for the whole process.

    Args:
        name_or_dir: ``smollm2``, or a directory with a Hugging Face causal model.
        dtype: of the weights; default float32 on CPU, bfloat16 on CUDA.
        device: ``cpu`` or ``cuda``; default CUDA where present.
        num_threads: for torch on CPU; default the physical cores, or ``OMP_NUM_THREADS`` where set.
        progress: show a progress bar while converting the default model.

    Raises:
        MissingExtra: if torch or transformers are not installed.
        ModelNotFound: if there is no such model or it cannot be read.
        EngineError: if there is no such device or dtype.
        ModelUnsupported: if the engine cannot run it exactly.
    """
    _check_dtype(dtype)
    directory, name = _located(name_or_dir, progress=progress)
    # transformers asks the hub for all kinds of side files; nothing here may use the network
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import torch

        from factorspec_server.engines.self_check import check_model
        from factorspec_server.engines.torch_model import TorchModel
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"the embedded engine needs {error.name!r}; run: pip install 'factorspec[engine]'"
        ) from error
    from factorspec_server.engines.chat_tokenizer import ChatTokenizer
    from factorspec_server.engines.threads import num_physical_cores

    if num_threads is not None:
        torch.set_num_threads(num_threads)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(num_physical_cores())
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    _check_device(torch, device)
    dtype = dtype or ("float32" if device == "cpu" else "bfloat16")
    module, tokenizer = _read(directory, getattr(torch, dtype))
    model = TorchModel(
        module.to(device), ChatTokenizer(tokenizer, end_ids=_end_ids(module, tokenizer)), name=name
    )
    check_model(model)
    return model


def _check_dtype(dtype: str | None) -> None:
    names = get_args(DtypeName)
    if dtype is not None and dtype not in names:
        raise EngineError(f"no dtype {dtype!r} for weights; there are {', '.join(map(repr, names))}")


def _check_device(torch: Any, device: str) -> None:
    """Raises EngineError for a device that is not there."""
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise EngineError(f"no device {device!r}; there are 'cpu' and 'cuda'") from error
    if wanted.type != "cuda":
        return
    if not torch.cuda.is_available():
        why = "torch is built without CUDA" if torch.version.cuda is None else "torch sees no CUDA device"
        raise EngineError(
            f"no CUDA device for device {device!r}: {why}; take device 'cpu', "
            "or install the driver and a torch with CUDA (https://pytorch.org/get-started/locally)"
        )
    count = torch.cuda.device_count()
    if wanted.index is not None and wanted.index >= count:
        raise EngineError(f"no device {device!r}; torch sees 'cuda:0' to 'cuda:{count - 1}'")


def _located(name_or_dir: str | Path, *, progress: bool) -> tuple[Path, str]:
    if str(name_or_dir).lower() in _SMOLLM2_NAMES:
        return smollm2_dir(progress=progress), MODEL_NAME
    directory = Path(name_or_dir).expanduser()
    if not (directory / "config.json").is_file():
        raise ModelNotFound(
            f"no model {str(name_or_dir)!r}: neither 'smollm2' nor a directory with a config.json; "
            "models are not downloaded, give the path of a local Hugging Face directory"
        )
    if not any((directory / name).is_file() for name in _TOKENIZER_FILES):
        raise _no_tokenizer(directory)
    return directory, directory.resolve().name


def _no_tokenizer(directory: Path) -> ModelNotFound:
    return ModelNotFound(
        f"the model directory {str(directory)!r} has no tokenizer.json; copy it (and tokenizer_config.json) "
        "from where the model comes from, or write both there with transformers: "
        "AutoTokenizer.from_pretrained(SOURCE).save_pretrained(DIRECTORY)"
    )


def _read(directory: Path, dtype: Any) -> tuple[Any, Any]:
    """The module and its tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    bar_was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        module = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    except Exception as error:  # transformers raises all kinds for a broken directory
        raise ModelNotFound(f"cannot read a causal model from {str(directory)!r}: {error}") from error
    finally:
        if bar_was_on:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
    return module, tokenizer


def _end_ids(module: Any, tokenizer: Any) -> tuple[int, ...]:
    """End tokens of the generation config, else of the model, else of the tokenizer."""
    for found in (
        getattr(module.generation_config, "eos_token_id", None),
        getattr(module.config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        if found is not None:
            return tuple(found) if isinstance(found, (list, tuple)) else (int(found),)
    return ()

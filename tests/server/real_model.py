"""The real model, loaded once for all tests of a process: it takes half a gigabyte."""

from __future__ import annotations

from functools import cache

from factorspec_server.engines import load_model
from factorspec_server.engines.torch_model import TorchModel


@cache
def smollm2_model() -> TorchModel:
    """SmolLM2 in float32 on the CPU, from the user's cache; converted there once."""
    return load_model("smollm2", device="cpu", dtype="float32", num_threads=1, progress=False)

"""The real model, loaded once for all tests here."""

import pytest

from factorspec_server.engines import load_model
from factorspec_server.engines.torch_model import TorchModel


@pytest.fixture(scope="session")
def smollm2() -> TorchModel:
    """SmolLM2 in float32 on the CPU, from the user's cache."""
    return load_model("smollm2", device="cpu", dtype="float32", num_threads=1, progress=False)

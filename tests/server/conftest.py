"""The real model, loaded once for all tests of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel


@pytest.fixture(scope="session")
def smollm2() -> TorchModel:
    """SmolLM2 in float32 on the CPU, from the user's cache."""
    from factorspec_server.engines import load_model

    return load_model("smollm2", device="cpu", dtype="float32", num_threads=1, progress=False)

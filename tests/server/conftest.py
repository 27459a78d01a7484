"""The real model, for all tests of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel


@pytest.fixture(scope="session")
def smollm2() -> TorchModel:
    from tests.server.real_model import smollm2_model

    return smollm2_model()

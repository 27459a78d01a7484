"""One server with the default model for all tests that want it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.http.serving import running


@pytest.fixture(scope="session")
def smollm2_url() -> Iterator[str]:
    """A server with the default model; converted once, and kept for later runs."""
    from factorspec_server.engines import load_model
    from factorspec_server.http.app import create_app
    from factorspec_server.http.served_model import ServedModel

    served = ServedModel.of(load_model("smollm2", progress=False), max_batch=4, aliases=("smollm2",))
    with running(create_app(served)) as root:
        yield f"{root}/v1"

"""One server with the default model for all tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from inspect import iscoroutinefunction

import pytest

from tests.server.http.serving import running


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run LangChain's asynchronous tests: they are not marked as any plugin wants them."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(pyfuncitem.obj(**given))
    return True


@pytest.fixture(scope="session")
def smollm2_url() -> Iterator[str]:
    """A server with the default model."""
    from factorspec_server.http.app import create_app
    from factorspec_server.http.served_model import ServedModel
    from tests.server.real_model import smollm2_model

    served = ServedModel.of(smollm2_model(), max_batch=4, aliases=("smollm2",))
    with running(create_app(served)) as root:
        yield f"{root}/v1"

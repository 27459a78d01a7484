"""The server under test, and the two clients that talk to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from tests.conformance.openai_package.callers import AsyncCaller, Caller, SyncCaller
from tests.conformance.openai_package.target import PREFIX, Target, target_in

KEY = "conformance"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*capabilities): what a test takes for granted of the server")
    config.addinivalue_line(
        "markers", "real: runs with the real model too; the others do with the scripted one"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" not in metafunc.fixturenames:
        return
    if os.environ.get(f"{PREFIX}URL"):
        metafunc.parametrize("target", ["given"], indirect=True, scope="session")
        return
    models: list[Any] = ["scripted"]
    if metafunc.definition.get_closest_marker("real") or os.environ.get(f"{PREFIX}REAL"):
        models.append(pytest.param("smollm2", marks=[pytest.mark.model, pytest.mark.slow]))
    metafunc.parametrize("target", models, indirect=True, scope="session")


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The server that the environment names, or one of ours."""
    try:
        given = target_in(os.environ)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    if given is not None:
        yield given
        return
    with own_server(request.param) as own:
        yield own


@pytest.fixture(autouse=True)
def _has_what_it_needs(request: pytest.FixtureRequest) -> None:
    if "target" not in request.fixturenames:
        return
    capabilities = request.getfixturevalue("target").capabilities
    for mark in request.node.iter_markers("needs"):
        if missing := [name for name in mark.args if name not in capabilities]:
            pytest.skip(f"the server has no {', '.join(missing)}")


@pytest.fixture(scope="session", params=[SyncCaller, AsyncCaller], ids=["sync", "async"])
def call(request: pytest.FixtureRequest, target: Target) -> Iterator[Caller]:
    """Each client in turn."""
    caller: Caller
    with closing(request.param(target)) as caller:
        yield caller


@pytest.fixture(scope="session")
def model(target: Target) -> str:
    """The model to ask."""
    with closing(SyncCaller(target)) as caller:
        return target.model or caller.models()[0]


@pytest.fixture
def chat(model: str) -> dict[str, Any]:
    """The fields of a short chat."""
    messages = [{"role": "user", "content": "Name three cities."}]
    return {"model": model, "messages": messages, "max_tokens": 12, "seed": 1}


@contextmanager
def own_server(name: str) -> Iterator[Target]:
    """Our server with one of ``own_models``, imported here: tests of other servers need nothing of it."""
    from factorspec_server.http.app import create_app
    from factorspec_server.settings import ServerSettings
    from tests.conformance.openai_package.own_models import served
    from tests.server.http.serving import running

    with running(create_app(served(name), ServerSettings(api_key=KEY))) as root:
        yield Target(f"{root}/v1", KEY)

"""One server and one OpenAI client for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.server.http.serving import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0, timeout=30) as made:
        yield made

"""The middleware around an app that answers as SGLang does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from factorspec_server.sglang.reports import ReportBoard
from tests.server.sglang.answer_upstream import Post, Upstream, poster


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    board = ReportBoard()
    yield Upstream(board)
    board.close()


@pytest.fixture
def post(upstream: Upstream) -> Post:
    return poster(upstream)

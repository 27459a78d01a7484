"""The spec that commands are called with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.commands.calling import ORDER, written


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return written(tmp_path, "spec.json", ORDER)

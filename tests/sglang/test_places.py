"""The release under test has every place that the check at start looks for.

Of tested releases nothing is looked at when they start: what they lack would be seen here alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from factorspec_server.sglang import compat
from factorspec_server.sglang.compat import Device
from factorspec_server.sglang.places import missing_places
from factorspec_server.sglang.source_places import Sources

SOURCES = os.environ.get("FACTORSPEC_SGLANG_SOURCES", "")

pytestmark = pytest.mark.skipif(not SOURCES, reason="`make ci-sglang` tells where SGLang is")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_place_is_there(device: Device) -> None:
    assert missing_places(device, compat.name_places(), Sources(Path(SOURCES))) == []

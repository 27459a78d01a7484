"""Threads that go first wake up when they should; those that go last may be late."""

import sys
import threading
from pathlib import Path

import pytest

from factorspec_server.engines.precedence import go_first, go_last

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such setting")


def slack_ns() -> int:
    """Of the calling thread."""
    return int(Path(f"/proc/{threading.get_native_id()}/timerslack_ns").read_text())


def test_each_thread_has_a_setting_of_its_own() -> None:
    found: dict[str, int] = {}

    def work(name: str) -> None:
        go_first()
        if name == "last":
            go_last()
        found[name] = slack_ns()

    for name in ("last", "first"):
        thread = threading.Thread(target=work, args=(name,))
        thread.start()
        thread.join()
    assert found == {"first": 1, "last": 1_000_000}

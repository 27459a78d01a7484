"""Without SGLang, or beside a release that is not known, the plugin is inert and says why."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from factorspec_sdk.errors import EngineError, MissingExtra
from factorspec_server.sglang import compat, plugin


def test_a_release_that_nobody_tried_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "version", lambda name: "0.6.1")
    with pytest.raises(EngineError, match=r"tested is 0\.5\.16.*'0\.6\.1'.*pip install sglang==0\.5\.16"):
        compat.check_version()


def test_a_missing_sglang_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: None)
    with pytest.raises(MissingExtra, match=r"pip install sglang==0\.5\.16"):
        compat.check_version()


def test_registering_beside_another_release_does_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: "0.6.1")
    with caplog.at_level(logging.ERROR):
        plugin.register()
    assert "factorspec is not available: this release of SGLang is not supported" in caplog.text


def test_entry_points_import_neither_torch_nor_sglang() -> None:
    code = (
        "import sys; from factorspec_server.sglang import compat, platform, plugin; platform.activate(); "
        "assert not {'torch', 'sglang', 'xgrammar'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_names_of_sglang_are_looked_up_when_asked_for() -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        compat.NoSuchThing  # noqa: B018

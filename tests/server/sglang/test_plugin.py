"""Without SGLang, or beside a release that is not known, the plugin is inert and says why."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from factorspec_sdk.errors import EngineError, MissingExtra
from factorspec_server.sglang import compat, plugin


@pytest.mark.parametrize("release", ["0.6.1", "0.5.15.post1", "0.5.24rc1", "1.0"])
def test_a_release_of_another_series_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    monkeypatch.setattr(compat, "version", lambda name: release)
    told = rf"tested are 0\.5\.16 \(cpu, cuda\).*'{release}'.*pip install sglang==0\.5\.16"
    with pytest.raises(EngineError, match=told):
        compat.check_version("cpu")


def test_a_newer_release_that_lacks_a_place_is_refused_by_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: "0.5.99")
    lacking = [("sglang.srt.x:Y.z", "Y has no z"), ("sglang.srt.w:v", "there is no module sglang.srt.w")]
    monkeypatch.setattr(compat, "missing_places", lambda device, names: lacking)
    with pytest.raises(EngineError) as caught:
        compat.check_version("cpu")
    assert [(one.place, one.message) for one in caught.value.problems] == lacking
    assert "SGLang 0.5.99 is not one of those tested" in str(caught.value)


def test_a_newer_release_that_has_all_places_starts_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: "0.5.99.post2")
    monkeypatch.setattr(compat, "missing_places", lambda device, names: [])
    told: list[str] = []
    assert compat.check_version("cuda", told.append) == "0.5.99.post2"
    assert len(told) == 1
    assert told[0].startswith("SGLang 0.5.99.post2 was not tested on cuda; tested are 0.5.16 (cpu, cuda)")


def test_of_a_release_that_was_tested_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: compat.REFERENCE)
    monkeypatch.delattr(compat, "missing_places")
    assert compat.check_version("cuda") == compat.REFERENCE


def test_a_missing_sglang_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: None)
    with pytest.raises(MissingExtra, match=r"pip install sglang==0\.5\.16"):
        compat.check_version("cpu")


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


@pytest.mark.parametrize("variable", ["FACTORSPEC_WORKERS", "FACTORSPEC_DEADLINE_S"])
def test_a_wrong_setting_is_told_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setattr(compat, "setting", lambda server_args, name: server_args[name])
    monkeypatch.setenv(variable, "x")
    with pytest.raises(ValueError, match=f"{variable} must be .* got 'x'"):
        plugin._arguments_checked(None, {"grammar_backend": "factorspec", "device": "cpu"})
    plugin._arguments_checked(None, {"grammar_backend": "xgrammar", "device": "cpu"})


def test_names_of_sglang_are_looked_up_when_asked_for() -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        compat.NoSuchThing  # noqa: B018

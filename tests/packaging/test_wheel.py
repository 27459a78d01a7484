"""The wheel holds the import packages, their type markers and the licence, and nothing else."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"factorspec_sdk", "factorspec_server", "factorspec_integrations"}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    # As on a machine without a C compiler: that is no error.
    environment = {**os.environ, "FACTORSPEC_COMPILE": "1", "CC": "no-such-compiler"}
    subprocess.run(command, check=True, capture_output=True, timeout=100, env=environment)
    (wheel,) = folder.glob("*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.mark.slow
def test_top_level_names_are_the_import_packages(names: list[str]) -> None:
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == PACKAGES


@pytest.mark.slow
def test_packages_are_marked_as_typed(names: list[str]) -> None:
    assert {name for name in names if name.endswith("py.typed")} == {
        f"{package}/py.typed" for package in PACKAGES
    }


@pytest.mark.slow
def test_licence_travels_with_the_wheel(names: list[str]) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_no_tests_or_caches_in_the_wheel(names: list[str]) -> None:
    assert [name for name in names if "__pycache__" in name or "/tests/" in name] == []

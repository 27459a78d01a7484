"""No file of the project names a machine's paths or a package registry's host."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    "*.md",
    "*.toml",
    "*.yaml",
    "Makefile",
    ".ci/*",
    "*/**/*.py",
    "*/**/*.json",
    "*/**/*.md",
    "*/**/*.toml",
]
GENERATED = {".venv", "build", "dist", "results", "node_modules"}
# Written in pieces, so that this file does not hold what it forbids.
HOSTS = [
    "pypi" + r"\.org",
    "python" + "hosted",
    "registry" + r"\.npmjs",
    "download" + r"\.pytorch",
    "deb" + r"\.debian",
]
FOLDERS = ["work", "farm", "tmp", "home", "root", "Users"]
FORBIDDEN = re.compile("|".join([*HOSTS, rf"(?<![\w.:/$}}\])])/(?:{'|'.join(FOLDERS)})/\w"]))


def project_files() -> list[Path]:
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path for path in found if not GENERATED & set(path.relative_to(ROOT).parts))


def test_the_search_sees_the_project() -> None:
    assert {"README.md", "Makefile", "pyproject.toml", "tests/conftest.py"} <= {
        path.relative_to(ROOT).as_posix() for path in project_files()
    }


@pytest.mark.parametrize(
    "text", ["see /" + "work/x", "open('/" + "tmp/file')", "https://" + "pypi" + ".org/simple"]
)
def test_the_pattern_finds_what_it_should(text: str) -> None:
    assert FORBIDDEN.search(text)


def test_no_machine_paths_and_no_registry_hosts() -> None:
    bad = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in project_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FORBIDDEN.search(line)
    ]
    assert bad == []

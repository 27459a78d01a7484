"""Places of a package are found in its sources, imports and bases followed, without importing it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from factorspec_server.sglang.places import missing_places
from factorspec_server.sglang.source_places import Sources, sources_of

FILES = {
    "__init__.py": "raise SystemExit('imported')",
    "a.py": """
from dataclasses import dataclass
from pkg.sub import *
from pkg.sub import Base as Renamed, gone
from numpy import ndarray
from . import sub as module

SIZE: int = 3
first = second = None

def run(one, *, two=2): ...
def any_of(**options): ...

@dataclass
class Fields(Renamed):
    x: int
    y: int = 0

class Child(Renamed):
    KIND = 1

    def __init__(self, size):
        self.size = size

    @property
    def wide(self): ...

try:
    def either(): ...
except ImportError:
    rare = None
""",
    "sub/__init__.py": "from .deep import *\nfrom pkg.sub.listed import *",
    "sub/listed.py": "__all__ = ['shown']\ndef shown(): ...\ndef hidden(): ...",
    "sub/deep.py": """
class Base:
    z: str

    def method(self, key): self.state = key
if True:
    def starred(flag): ...
""",
}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name, text in FILES.items():
        file = tmp_path / "pkg" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Sources(tmp_path)


@pytest.mark.parametrize(
    "place",
    [
        "pkg.a:SIZE", "pkg.a:second", "pkg.a:run(one, two)", "pkg.a:any_of(whatever)", "pkg.a:ndarray",
        "pkg.a:module", "pkg.a:Renamed.method(key)", "pkg.a:starred(flag)", "pkg.a:Child(size)",
        "pkg.a:Child.size",
        "pkg.a:Child.KIND", "pkg.a:Child.wide", "pkg.a:Child.state", "pkg.a:Child.z", "pkg.a:Fields(x, y, z)",
        "pkg.a:either", "pkg.a:rare", "pkg.a:shown", "pkg.sub:Base",
    ],
)  # fmt: skip
def test_what_is_there_is_found(sources: Sources, place: str) -> None:
    assert sources.lacks(place) is None


@pytest.mark.parametrize(
    ("place", "lacks"),
    [
        ("pkg.b:run", "there is no module pkg.b"),
        ("pkg.a:gone", "pkg.a has no gone"),
        ("pkg.a:inner", "pkg.a has no inner"),
        ("pkg.a:hidden", "pkg.a has no hidden"),
        ("pkg.a:run(one, three, four)", "run takes no three, four"),
        ("pkg.a:Child(width)", "Child takes no width"),
        ("pkg.a:Child.other", "Child has no other"),
        ("pkg.a:Child.method(value)", "Child.method takes no value"),
        ("pkg.a:Fields(w)", "Fields takes no w"),
    ],
)
def test_what_is_missing_is_named(sources: Sources, place: str, lacks: str) -> None:
    assert sources.lacks(place) == lacks


def test_what_is_no_place_is_an_error(sources: Sources) -> None:
    with pytest.raises(ValueError, match="a place is module:name"):
        sources.lacks("pkg.a.run")


def test_an_installed_package_is_found_and_not_imported(
    sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = sources_of("pkg")
    assert found is not None
    assert found.lacks("pkg.a:run") is None
    assert "pkg" not in sys.modules
    assert sources_of("no_such_package") is None


def test_all_places_that_are_missing_are_told(sources: Sources) -> None:
    missing = missing_places("cpu", ["pkg.a:run", "pkg.a:gone"], sources)
    assert missing[0] == ("pkg.a:gone", "pkg.a has no gone")
    where = [place for place, _ in missing]
    assert len(where) == len(set(where)) > 50
    assert any("DecodeGraphCapture" in place and " or " in place for place in where)

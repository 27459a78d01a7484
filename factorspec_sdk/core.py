"""Which build of the hot modules is running: compiled ones where they were built, else their sources.

Both are the same files (``hatch_build.py`` compiles them) and give the same answers. A compiled module lies
beside its source and is imported in its place, unless ``FACTORSPEC_CORE=python`` asks for the sources::

    factorspec_sdk/graph/search.py                            always there
    factorspec_sdk/graph/search.cpython-311-….so              where it was compiled: preferred
    factorspec_sdk/compiled__mypyc.cpython-311-….so           what all of those share

The package imports this module before any other, since what is imported once stays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from factorspec_sdk.errors import EngineError, Problem, shown

#: the environment variable, and its only value
VARIABLE, SOURCES = "FACTORSPEC_CORE", "python"
_PACKAGE = "factorspec_sdk."


def is_compiled() -> bool:
    """True if the hot modules are compiled ones."""
    spec = find_spec(f"{_PACKAGE}fields.sets")
    return spec is not None and spec.origin is not None and spec.origin.endswith(tuple(EXTENSION_SUFFIXES))


class _Sources(MetaPathFinder):
    """Finds the modules of the SDK as sources only."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if path is None or not fullname.startswith(_PACKAGE):
            return None
        files = (Path(folder) / f"{fullname.rpartition('.')[2]}.py" for folder in path)
        found = next((file for file in files if file.is_file()), None)
        return None if found is None else spec_from_file_location(fullname, found)


def _choose(wanted: str) -> None:
    """Do what the variable says. Raises EngineError where it says nothing that is known."""
    if wanted not in ("", SOURCES):
        hint = f"leave it out for what is compiled, or set it to {SOURCES!r} for the sources"
        problem = Problem(VARIABLE, f"must be {SOURCES!r} or left out", shown(wanted), hint)
        raise EngineError("a wrong environment variable", [problem])
    if wanted:
        sys.meta_path.insert(0, _Sources())


_choose(os.environ.get(VARIABLE, ""))

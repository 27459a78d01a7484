"""Every error has its own code, and the README lists exactly the codes that exist."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import factorspec_sdk
import factorspec_server
from factorspec_sdk import errors

ROOT = Path(__file__).resolve().parents[2]


def error_classes() -> set[type[errors.FactorspecError]]:
    """All of them: every module of the SDK is imported, and of the server the modules that hold errors."""
    for package in (factorspec_sdk, factorspec_server):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if package is factorspec_sdk or module.name.rsplit(".", 1)[-1] == "errors":
                importlib.import_module(module.name)
    return set(_subclasses(errors.FactorspecError))


def _subclasses(base: type[errors.FactorspecError]) -> Iterator[type[errors.FactorspecError]]:
    for child in base.__subclasses__():
        if child.__module__.startswith(("factorspec_sdk", "factorspec_server")):
            yield child
            yield from _subclasses(child)


def documented_codes() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("\n## Errors\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_codes_are_unique_and_said_by_the_class_itself() -> None:
    classes = error_classes()
    assert [kind.__name__ for kind in classes if "code" not in vars(kind)] == []
    assert len({kind.code for kind in classes}) == len(classes)


def test_the_readme_lists_every_code() -> None:
    assert sorted(documented_codes()) == sorted(kind.code for kind in error_classes())


def test_the_tree_in_the_docstring_is_whole() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))
    own = {kind.__name__ for kind in error_classes() if kind.__module__ == errors.__name__}
    assert drawn == own

"""What is compiled with a wheel: the list is sound, the build falls back, the sources can be asked for."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hatchling.bridge.app import Application

import factorspec_sdk as fs
import hatch_build
from hatch_build import MODULES, PACKAGE, NoCompiler, compile_into, modules

ROOT = Path(__file__).resolve().parents[2]
#: bases of which objects are no compiled ones, so that anybody may inherit from them
_OPEN = {"NamedTuple", "Protocol", "Exception", "Enum"}


def classes(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Names and bases of a module's classes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
            yield node.name, {ast.unparse(base).rpartition(".")[2] for base in bases}


def test_every_pattern_names_a_module_and_none_comes_twice() -> None:
    assert all(list((ROOT / PACKAGE).glob(pattern)) for pattern in MODULES)
    listed = list(modules())
    assert len(set(listed)) == len(listed) > 0


def test_classes_that_inherit_from_compiled_ones_are_compiled_too() -> None:
    compiled = {ROOT / path for path in modules()}
    closed = {name for path in compiled for name, bases in classes(path) if not bases & _OPEN}
    others = [path for path in (ROOT / PACKAGE).rglob("*.py") if path not in compiled]
    others += (ROOT / "server").rglob("*.py")
    homes = {name for path in others for name, _ in classes(path)}  # a name may be another class's elsewhere
    bad = [
        f"{path.relative_to(ROOT)}: {name}({', '.join(sorted(bases & closed))})"
        for path in others
        for name, bases in classes(path)
        if bases & closed - homes
    ]
    assert bad == []


def test_fields_of_named_tuples_are_what_stands_before_them() -> None:
    """Types are looked up while the class is made, however late annotations are read elsewhere."""
    bad = []
    for path in (ROOT / name for name in modules()):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        later = {node.name: node.lineno for node in body if isinstance(node, ast.ClassDef)}
        for node in body:
            if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases):
                fields = [
                    ast.unparse(part.annotation) for part in node.body if isinstance(part, ast.AnnAssign)
                ]
                bad += [
                    f"{path.name}: {node.name}: {each}"
                    for each in fields
                    if each == "object" or later.get(each, 0) > node.lineno
                ]
    assert bad == []


def test_no_property_stands_for_an_attribute_of_its_base() -> None:
    """Compiled code reads attributes where they lie, whatever a class that inherits has in their place."""
    attributes: dict[str, set[str]] = {}
    for _, node in compiled_classes():
        stored = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute) and is_stored(part)}
        attributes[node.name] = stored - {
            part.name for part in node.body if isinstance(part, ast.FunctionDef)
        }
    bad = [
        f"{path.name}: {node.name}.{part.name}"
        for path, node in compiled_classes()
        for part in node.body
        if isinstance(part, ast.FunctionDef) and "property" in map(ast.unparse, part.decorator_list)
        if any(part.name in attributes.get(ast.unparse(base), ()) for base in node.bases)
    ]
    assert bad == []


def compiled_classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path in (ROOT / name for name in modules()):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def is_stored(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"


def test_without_a_compiler_nothing_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompiler, match="no C compiler"):
        compile_into(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_in_a_clone_that_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(hatch_build, "remove", lambda: None)
    monkeypatch.setattr(sys, "argv", ["hatch_build.py"])
    assert hatch_build.main() == 0
    assert "all stays pure Python" in capsys.readouterr().err


def ask(core: str) -> subprocess.CompletedProcess[str]:
    """Import the SDK with the variable set; prints what is running."""
    code = "import factorspec_sdk as fs; from factorspec_sdk.graph import search; print(fs.is_compiled())"
    code += "; print(search.__file__)"
    environment = {**os.environ, "FACTORSPEC_CORE": core, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60
    )


def test_sources_can_be_asked_for() -> None:
    shown = ask("python").stdout.split()
    assert shown == ["False", str(ROOT / PACKAGE / "graph" / "search.py")]


def test_an_unknown_build_is_refused_by_name() -> None:
    told = ask("fast")
    assert told.returncode == 1
    said = (
        "EngineError: a wrong environment variable: FACTORSPEC_CORE: must be 'python' or left out (got 'fast"
    )
    assert said in told.stderr


@pytest.mark.parametrize("entry", [["-m", "factorspec_server"], ["-m", "factorspec_server.cli"]])
def test_on_the_command_line_an_unknown_build_is_a_wrong_usage(entry: list[str]) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "server")])
    environment = {**os.environ, "FACTORSPEC_CORE": "foo", "PYTHONPATH": path}
    told = subprocess.run(
        [sys.executable, *entry, "--version"], capture_output=True, text=True, env=environment, timeout=60
    )
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == (
        "error: a wrong environment variable: FACTORSPEC_CORE: must be 'python' or left out (got 'foo'). "
        "leave it out for what is compiled, or set it to 'python' for the sources\n[engine_error]\n"
    )


def test_a_wish_to_compile_that_is_none_ends_the_build(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FACTORSPEC_COMPILE", "yes")
    nothing: Any = None
    hook = hatch_build.CompiledCore("", {}, nothing, nothing, "", "wheel", Application())
    with pytest.raises(SystemExit):
        hook.initialize("standard", {})
    assert "FACTORSPEC_COMPILE must be 1 to compile, or 0" in capsys.readouterr().err


def test_is_compiled_tells_what_was_imported() -> None:
    from factorspec_sdk.graph import search

    assert fs.is_compiled() != str(search.__file__).endswith(".py")

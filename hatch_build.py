"""Compiles the hot modules: same files and answers, about twice as fast; without a C compiler all is Python.

A clone gets them beside its sources by ``make compiled``, which runs this file; a wheel has them where it is
built with ``FACTORSPEC_COMPILE=1`` (``CompiledCore``, called by hatchling). mypyc reads the types that are
there for everyone; nothing is written for it.

What a module must keep to, so that both builds give the same (what mypyc does not take, it says):

- No ``vars``, no ``cached_property`` filled by hand, no weak reference to an object, no ``copy.copy`` of one.
- No ``in`` on a generator, no two starred arguments in a call.
- No field of a named tuple that is an ``object``, or a class that stands further down.
- No property in place of an attribute of the base.
- Types are what is given: an ``int`` takes no NumPy integer (``SupportsIndex`` does).
- A recursion is bounded by a limit of documents: what is too deep is no RecursionError there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
PACKAGE = "factorspec_sdk"
#: where the machine code of all compiled modules lies
GROUP = f"{PACKAGE}.compiled"


def _paths(folder: str, names: str) -> list[str]:
    return [f"{folder}/{name}.py" for name in names.split()]


# Base classes and those that inherit from them are compiled together, or not at all.
MODULES = (
    *("fields/sets.py", "fields/asked.py", "automata/[a-z]*.py", "graph/cp/backed.py"),
    *_paths("graph", "best clamps components contracted cuts factor_graph factors layers promise runs"),
    *_paths("graph", "search segments sequence wide_steps"),
    *_paths("decoding", "canonical_session hypotheses layout likeness opening planning run_tree runs"),
    *_paths("decoding", "session standing trail"),
    # not masks: the server's rows in shared memory are of a class that inherits from its Allowed
    *_paths("tokens", "added canonical certain cuts digit_walk forms held merged numbers rows"),
    *_paths("tokens", "single_digits walks"),
)
# Types of what is imported help where they are known; the type check proper is `make types`.
# Large packages, some of them only there by chance, are not read.
_MYPY = """
[mypy]
python_version = 3.11
follow_imports = silent
cache_dir = /dev/null
ignore_missing_imports = True
[mypy-torch.*,transformers.*,xgrammar.*,tokenizers.*,ortools.*]
follow_imports = skip
"""
_HEADER = "Python.h"
_TOOLS = ("mypy>=1.18,<3", "setuptools>=77,<90")
#: an environment variable; a wheel is compiled where it is "1"
_VARIABLE = "FACTORSPEC_COMPILE"


class NoCompiler(Exception):
    """The modules cannot be compiled here; the message says why."""


def modules() -> Iterator[str]:
    """Paths of the modules that are compiled, from the root."""
    for pattern in MODULES:
        yield from sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGE).glob(pattern))


def compile_into(folder: Path) -> list[Path]:
    """Compile the modules; the libraries, each where its module is imported from. A minute or two.

    Raises:
        NoCompiler: there is no C compiler, or no mypyc, or they fail.
    """
    _check_tools()
    with TemporaryDirectory() as scratch, chdir(ROOT):
        try:
            _build(Path(scratch), folder)
        except (Exception, SystemExit) as failed:
            raise NoCompiler(f"compiling failed: {failed}") from failed
        _check_imports(Path(scratch) / "tried", folder)
    return sorted((folder / PACKAGE).rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"))


def _check_tools() -> None:
    if os.name != "nt":
        compiler = (os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc")).split()[0]
        if shutil.which(compiler) is None:
            raise NoCompiler(f"there is no C compiler ({compiler})")
    header = Path(sysconfig.get_path("include")) / _HEADER
    if not header.is_file():
        raise NoCompiler(f"there is no {header}")


def _check_imports(tried: Path, folder: Path) -> None:
    """Import all compiled modules in a process of its own, from a copy; what ends it must not be shipped."""
    for source in (ROOT, folder):
        shutil.copytree(source / PACKAGE, tried / PACKAGE, dirs_exist_ok=True)
    names = [path.removesuffix(".py").replace("/", ".") for path in modules()]
    command = [sys.executable, "-c", f"import {', '.join(names)}"]
    done = subprocess.run(command, cwd=tried, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and "No module named" not in done.stderr:
        remove(folder)
        told = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise NoCompiler(f"what was compiled cannot be imported ({told[0]})")


def _build(scratch: Path, folder: Path) -> None:
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    settings = scratch / "mypy.ini"
    settings.write_text(_MYPY)
    extensions = mypycify(
        [f"--config-file={settings}", *modules()],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name=GROUP,
        target_dir=str(scratch),
    )
    for extension in extensions:
        # The group's headers lie in its package's folder; warnings of other compilers are no errors.
        extension.include_dirs.append(str(scratch / PACKAGE))
        if os.name != "nt":
            extension.extra_compile_args.append("-Wno-error")
    command = build_ext(Distribution({"name": PACKAGE, "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(folder), str(scratch / "objects")
    command.ensure_finalized()
    one_by_one = command.build_extensions

    def build_extensions() -> None:
        _compile_side_by_side(command.compiler)
        one_by_one()

    command.build_extensions = build_extensions
    command.run()


def _compile_side_by_side(compiler: Any) -> None:
    """Make a compiler of setuptools take the files of an extension several at a time."""
    compile_all = compiler.compile

    def compile_each(sources: list[str], *args: Any, **options: Any) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda source: compile_all([source], *args, **options), sources)
            return [name for names in made for name in names]

    compiler.compile = compile_each


class CompiledCore(BuildHookInterface[Any]):
    """hatchling's hook: a wheel gets the compiled modules beside their sources, and its platform's tag."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What a build needs beside hatchling: nothing where nothing is compiled."""
        try:
            self._check()
        except NoCompiler:
            return []
        # Types of what the project depends on are read too.
        return [*_TOOLS, *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say why not."""
        if version != "standard":
            return
        wish = os.environ.get(_VARIABLE, "")
        if wish not in ("", "0", "1"):
            self.app.abort(
                f"{_VARIABLE} must be 1 to compile, or 0 or left out for pure Python, got {wish!r}"
            )
        folder = self._folder = Path(mkdtemp())
        try:
            self._check()
            made = compile_into(folder)
        except NoCompiler as reason:
            self.app.display_warning(f"{reason}; the wheel is pure Python, and works the same, slower")
            return
        build_data["force_include"].update({str(path): path.relative_to(folder).as_posix() for path in made})
        build_data.update(pure_python=False, infer_tag=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The libraries are in the wheel now."""
        if version == "standard":
            shutil.rmtree(self._folder)

    def _check(self) -> None:
        if os.environ.get(_VARIABLE) != "1":
            raise NoCompiler(f"{_VARIABLE} is not 1")
        _check_tools()


def main() -> int:
    """Compile into the sources' folders. Says why where that is not possible, which is no error."""
    remove()
    if sys.argv[1:] == ["--remove"]:
        return 0
    try:
        made = compile_into(ROOT)
    except NoCompiler as reason:
        sys.stderr.write(f"{reason}; all stays pure Python\n")
        return 0
    sys.stdout.write(f"{len(made)} libraries\n")
    return 0


def remove(folder: Path = ROOT) -> None:
    """Delete the libraries of an earlier run."""
    for path in (folder / PACKAGE).rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
        path.unlink()


if __name__ == "__main__":
    sys.exit(main())

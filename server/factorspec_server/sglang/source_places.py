"""Whether SGLang has a place, read from its sources: nothing of it is imported.

A place is written as it is used::

    sglang.srt.managers.schedule_batch:Req.to_finish            an attribute, set in a method or declared
    sglang.srt.plugins.hook_registry:HookRegistry.register(target, hook, hook_type)     .. that takes these
    sglang.srt.utils:is_cpu                                     a name, imported from elsewhere or not

Parameters are looked for by name; of a class they are those of ``__init__``, or its fields.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

_PLACE = re.compile(r"(?P<module>[\w.]+):(?P<name>[\w.]+)(?:\((?P<takes>[\w, ]*)\))?")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Module = tuple[str, ast.Module]
_Found = tuple[str, ast.AST]


class Sources:
    """The modules of a package, parsed when they are first asked for.

    Args:
        root: the folder that holds the package.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._parsed = lru_cache(maxsize=None)(self._parse)

    def lacks(self, place: str) -> str | None:
        """What is missing of a place; None if it is there. Some 0.1 s for each large module, once.

        Raises:
            ValueError: it is not written like one.
        """
        read = _PLACE.fullmatch(place)
        if read is None:
            raise ValueError(f"a place is module:name or module:name(parameters), got {place!r}")
        module = read["module"]
        if self._parsed(module) is None:
            return f"there is no module {module}"
        found: _Found | None = None
        done = ""
        for part in read["name"].split("."):
            found = self._symbol(module, part) if found is None else self._member(*found, part)
            if found is None:
                return f"{done or module} has no {part}"
            done = f"{done}.{part}" if done else part
        assert found is not None
        taken = self._parameters(*found)
        wanted = [name for name in re.split(r"[,\s]+", read["takes"] or "") if name]
        if taken is None or not (refused := [name for name in wanted if name not in taken]):
            return None
        return f"{done} takes no {', '.join(refused)}"

    def _parse(self, module: str) -> ast.Module | None:
        path = self._root.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return ast.parse(file.read_text(encoding="utf-8"))
        return None

    def _symbol(self, module: str, name: str, seen: tuple[str, ...] = ()) -> _Found | None:
        """Where a module's name is defined, imports followed."""
        tree = self._parsed(module)
        if tree is None or module in seen:
            return None
        for node in _statements(tree.body):
            if name in _defined(node):
                return module, node
            if isinstance(node, ast.ImportFrom):
                if found := self._imported(module, node, name, (*seen, module)):
                    return found
        return None

    def _imported(self, module: str, node: ast.ImportFrom, name: str, seen: tuple[str, ...]) -> _Found | None:
        origin = self._origin(module, node)
        for alias in node.names:
            if alias.name == "*":
                if self._exports(origin, name) and (found := self._symbol(origin, name, seen)):
                    return found
            elif (alias.asname or alias.name) == name:
                if self._parsed(origin) is None or self._parsed(f"{origin}.{alias.name}") is not None:
                    return module, node  # beyond the package nothing is followed; a module is there
                return self._symbol(origin, alias.name, seen)
        return None

    def _exports(self, module: str, name: str) -> bool:
        """Whether ``from module import *`` may bring a name."""
        tree = self._parsed(module)
        listed = [
            node.value
            for node in (() if tree is None else tree.body)
            if isinstance(node, ast.Assign) and "__all__" in _defined(node)
        ]
        if not listed or not isinstance(listed[-1], ast.List | ast.Tuple):
            return not name.startswith("_")
        return any(isinstance(one, ast.Constant) and one.value == name for one in listed[-1].elts)

    def _origin(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        is_package = self._root.joinpath(*module.split(".")).is_dir()
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + is_package]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def _member(self, module: str, node: ast.AST, name: str) -> _Found | None:
        """A class's method or attribute, its bases' too."""
        for where, each in self._with_bases(module, node):
            for inner in each.body:
                if name in _defined(inner):
                    return where, inner
            if name in _set_on_self(each):
                return where, each
        return None

    def _with_bases(self, module: str, node: ast.AST) -> Iterator[tuple[str, ast.ClassDef]]:
        if not isinstance(node, ast.ClassDef):
            return
        yield module, node
        for base in node.bases:
            if isinstance(base, ast.Name) and (found := self._symbol(module, base.id)):
                yield from self._with_bases(*found)

    def _parameters(self, module: str, node: ast.AST) -> set[str] | None:
        """Names that a call takes; None: any, or it is no function."""
        if isinstance(node, _Function):
            return _names_of(node)
        if not isinstance(node, ast.ClassDef):
            return None
        own = self._member(module, node, "__init__")
        if own is not None and isinstance(own[1], _Function):
            return _names_of(own[1])
        return {
            inner.target.id
            for _, each in self._with_bases(module, node)
            for inner in each.body
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
        }


def sources_of(package: str) -> Sources | None:
    """The sources of an installed package; None if it is not installed as files. Imports nothing of it."""
    spec = find_spec(package)
    places: Sequence[str] = [] if spec is None else list(spec.submodule_search_locations or ())
    return Sources(Path(places[0]).parent) if places else None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those under conditions too."""
    for node in body:
        yield node
        for name in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                inner = getattr(node, name, [])
                yield from _statements(
                    [
                        each
                        for one in inner
                        for each in (one.body if isinstance(one, ast.ExceptHandler) else [one])
                    ]
                )


def _defined(node: ast.stmt) -> set[str]:
    """Names that a statement defines, imports left out."""
    if isinstance(node, ast.ClassDef | _Function):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return {inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}


def _set_on_self(node: ast.ClassDef) -> set[str]:
    return {
        inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute)
        and isinstance(inner.ctx, ast.Store)
        and isinstance(inner.value, ast.Name)
        and inner.value.id == "self"
    }


def _names_of(node: _Function) -> set[str] | None:
    """Parameters of a function; None if it takes any."""
    arguments = node.args
    if arguments.kwarg is not None:
        return None
    return {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}

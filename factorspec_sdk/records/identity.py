"""``is`` cannot be intercepted, so functions that are recorded must not use it."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import CellType, FunctionType, ModuleType
from types import CodeType as PythonCode

from factorspec_sdk.records.tracing import Trace

#: folders where packages are installed
_INSTALLED = ("site-packages", "dist-packages")


def refuse_identity(trace: Trace, function: Callable[..., object]) -> None:
    """``is`` cannot be intercepted, so it must not stand in a recorded function or in its helpers."""
    for code in (code for helper in _functions(function) for code in _codes(helper.__code__)):
        before = ""
        for instruction in dis.get_instructions(code):
            if _compares_identity(instruction.opname, before):
                trace.fail(
                    "'is' and 'match' cannot be recorded", "use fs.is_null(x), fs.not_(fs.is_null(x)), or =="
                )
            before = instruction.opname


def _compares_identity(operation: str, before: str) -> bool:
    """From 3.14 on ``all`` and ``any`` of a generator look whether they are the builtins."""
    if operation == "IS_OP":
        return before != "LOAD_COMMON_CONSTANT"
    return operation.endswith(("_IF_NONE", "_IF_NOT_NONE"))


def _functions(function: Callable[..., object]) -> list[FunctionType]:
    """The function, and functions that it names, directly or through others: of its package, or of none
    that is installed (libraries may use ``is`` as they like).
    """
    found: list[FunctionType] = [function] if isinstance(function, FunctionType) else []
    for known in found:  # grows while it is read
        package = _package(known)
        for value in _named(known):
            if isinstance(value, FunctionType) and value not in found:
                if _package(value) == package or not _is_installed(value):
                    found.append(value)
    return found


def _named(function: FunctionType) -> Iterator[object]:
    """What stands behind the names of a function, modules' attributes and defaults included."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    values = [function.__globals__.get(name) for name in names]
    values += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for value in values:
        yield value
        if isinstance(value, ModuleType):
            yield from (vars(value).get(name) for name in names)


def _package(function: FunctionType) -> str:
    return (function.__module__ or "").partition(".")[0]


def _is_installed(function: FunctionType) -> bool:
    """True of the standard library, of what stands where packages are installed, and of this package."""
    package = _package(function)
    if package == __package__.partition(".")[0] or package in sys.stdlib_module_names:
        return package != "__main__"
    return any(part in _INSTALLED for part in PurePath(function.__code__.co_filename).parts)


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _codes(code: PythonCode) -> Iterator[PythonCode]:
    yield code
    for part in code.co_consts:
        if isinstance(part, PythonCode):
            yield from _codes(part)

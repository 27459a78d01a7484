"""``is`` cannot be intercepted, so functions that are recorded must not use it."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from types import CodeType as PythonCode

from factorspec_sdk.records.tracing import Trace


def refuse_identity(trace: Trace, function: Callable[..., object]) -> None:
    """``is`` cannot be intercepted, so it must not stand in a recorded function or in its own helpers."""
    for code in (code for helper in _functions(function) for code in _codes(helper.__code__)):
        for instruction in dis.get_instructions(code):
            if instruction.opname == "IS_OP" or instruction.opname.endswith(("_IF_NONE", "_IF_NOT_NONE")):
                trace.fail(
                    "'is' and 'match' cannot be recorded", "use fs.is_null(x), fs.not_(fs.is_null(x)), or =="
                )


def _functions(function: Callable[..., object]) -> list[FunctionType]:
    """The function, and functions of the same module that it names, directly or through others."""
    found: list[FunctionType] = [function] if isinstance(function, FunctionType) else []
    for known in found:  # grows while it is read
        names = {name for code in _codes(known.__code__) for name in code.co_names}
        values = [known.__globals__.get(name) for name in names]
        values += [cell.cell_contents for cell in known.__closure__ or () if _is_filled(cell)]
        for value in values:
            if (
                isinstance(value, FunctionType)
                and value.__module__ == known.__module__
                and value not in found
            ):
                found.append(value)
    return found


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

"""What operators do to quantities: part of the definition in ``evaluate.py``.

MISSING dominates; a value that is no number makes the result unknown; a divisor of 0 makes it MISSING.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factorspec_sdk.fields.domains import CodeType
from factorspec_sdk.fields.rounding import Rounding, divided
from factorspec_sdk.relations.view import Quantity, Special

_COMPUTE: dict[str, Callable[[Sequence[int]], int | None]] = {
    "add": sum,
    "sub": lambda n: n[0] - n[1],
    "mul": lambda n: n[0] * n[1],
    "mod": lambda n: n[0] % n[1] if n[1] else None,
    "neg": lambda n: -n[0],
    "abs": lambda n: abs(n[0]),
}


def computed(op: str, args: Sequence[Quantity]) -> Quantity:
    """The result of an arithmetic operator."""
    trouble = _trouble(args)
    if trouble is not None:
        return trouble
    found = _COMPUTE[op](_numbers(args))
    return Quantity(Special.MISSING) if found is None else Quantity(found, _result_type(op, args))


def divided_by(op: str, args: Sequence[Quantity], mode: Rounding) -> Quantity:
    """The rounded quotient, or the multiple of the divisor that rounding gives."""
    trouble = _trouble(args)
    if trouble is not None:
        return trouble
    number, divisor = _numbers(args)
    if divisor == 0:
        return Quantity(Special.MISSING)
    whole = divided(number, divisor, mode)
    return Quantity(whole if op == "quotient" else whole * divisor, "int")


def extreme_of(values: Sequence[Quantity], *, smallest: bool) -> Quantity:
    """The smallest or largest number; others are left out, MISSING is not."""
    if any(value.code is Special.MISSING for value in values):
        return Quantity(Special.MISSING)
    numbers = [(code, value.type) for value in values if (code := _number(value)) is not None]
    if not numbers:
        return Quantity(Special.UNKNOWN)
    return Quantity(*(min(numbers) if smallest else max(numbers)))


def _trouble(args: Sequence[Quantity]) -> Quantity | None:
    if any(arg.code is Special.MISSING for arg in args):
        return Quantity(Special.MISSING)
    return Quantity(Special.UNKNOWN) if any(_number(arg) is None for arg in args) else None


def _numbers(args: Sequence[Quantity]) -> list[int]:
    return [code for arg in args if (code := _number(arg)) is not None]


def _number(value: Quantity) -> int | None:
    code = value.code
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _result_type(op: str, args: Sequence[Quantity]) -> CodeType:
    moments: list[CodeType] = [arg.type for arg in args if arg.type == "date" or arg.type == "time"]
    return moments[0] if len(moments) == 1 and op in ("add", "sub") else "int"

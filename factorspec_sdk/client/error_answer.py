"""Error bodies turned back into the exceptions that they were at the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from factorspec_sdk import errors
from factorspec_sdk.errors import (
    BudgetSpent,
    ConnectionLost,
    DocumentError,
    EngineError,
    FactorspecError,
    Incomplete,
    Overloaded,
    Problem,
    TokenLimitTooSmall,
    Unsatisfiable,
)


def error_from_body(body: object, *, status: int) -> FactorspecError:
    """The exception that an error answer stands for.

    Codes that this version does not know are told by their status: ``DocumentError`` (4xx), ``Overloaded``
    (429, 503), ``ConnectionLost`` (a gateway's), else ``EngineError``.

    Args:
        body: the answer's ``error`` object, or whatever came in its place.
        status: the HTTP status.
    """
    found = body if isinstance(body, Mapping) else {}
    message = found.get("message")
    text = message if isinstance(message, str) else f"the server answered with status {status}{_hint(status)}"
    code = found.get("code")
    kind = _by_code().get(code) if isinstance(code, str) else None
    problems = tuple(_problems(found.get("problems")))
    if kind is None:
        return _by_status(status, text if not code else f"{text} ({code})", problems)
    return _made(kind, _without_problems(text, problems), problems, found)


def _hint(status: int) -> str:
    return ": nothing is at that address; should base_url end with /v1?" if status == 404 else ""


def _by_status(status: int, text: str, problems: tuple[Problem, ...]) -> FactorspecError:
    match status:
        case 400 | 404 | 413 | 415 | 422:
            return DocumentError(text, problems)
        case 429 | 503:
            return Overloaded(text, problems)
        case 502 | 504:
            return ConnectionLost(text, problems, timed_out=status == 504)
        case _:
            return EngineError(text, problems)


def _by_code() -> dict[str, type[FactorspecError]]:
    classes = [found for found in vars(errors).values() if isinstance(found, type)]
    return {found.code: found for found in classes if issubclass(found, FactorspecError)}


def _made(
    kind: type[FactorspecError], text: str, problems: tuple[Problem, ...], body: Mapping[object, object]
) -> FactorspecError:
    if kind is Unsatisfiable:
        conflict = body.get("conflict")
        names = [str(name) for name in conflict] if isinstance(conflict, list) else []
        return Unsatisfiable(text, problems, conflict=names, minimal=body.get("minimal") is True)
    if kind is TokenLimitTooSmall:
        limit, shortest = body.get("token_limit"), body.get("shortest")
        return TokenLimitTooSmall(
            text,
            token_limit=limit if isinstance(limit, int) else 0,
            shortest=shortest if isinstance(shortest, int) else None,
        )
    if kind is Incomplete or kind is BudgetSpent:
        return kind(text, problems, partial=str(body.get("partial", "")))
    return kind(text, problems)


def _problems(listed: object) -> Iterator[Problem]:
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, Mapping):
            place = item.get("place")
            yield Problem(
                place if isinstance(place, str) else "",
                str(item.get("message", "")),
                _text(item.get("value")),
                _text(item.get("hint")),
            )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _without_problems(text: str, problems: tuple[Problem, ...]) -> str:
    """The sentence alone: servers append the problems, and so will the exception."""
    if len(problems) == 1:
        return text.removesuffix(f": {problems[0]}")
    return text.removesuffix(":" + "".join(f"\n  - {problem}" for problem in problems)) if problems else text

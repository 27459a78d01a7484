"""Errors in OpenAI's shape, with JSON pointers into the request.

::

    {"error": {"message", "type", "param": pointer or null, "code",
               "problems": [{"param": pointer or null, "place", "message", "value", "hint"}],
               ... attributes of the kind: conflict, minimal, token_limit, shortest, partial}}
"""

from __future__ import annotations

from collections.abc import Mapping

from factorspec_sdk.errors import (
    BudgetSpent,
    DocumentError,
    EngineError,
    FactorspecError,
    Incomplete,
    InfeasibleError,
    JsonValue,
    ModelNotFound,
    Overloaded,
    Problem,
    RequestTooLarge,
    TokenLimitTooSmall,
    Unsatisfiable,
)
from factorspec_server.engines import ContextTooLong, EngineClosed

DEFECT = "server_error"
"""Code of failures that no error of ours explains."""

# The first that fits counts. Types are those of OpenAI's API.
_STATUSES: tuple[tuple[type[FactorspecError], int, str], ...] = (
    (RequestTooLarge, 413, "invalid_request_error"),
    (DocumentError, 400, "invalid_request_error"),
    (InfeasibleError, 400, "invalid_request_error"),
    (ContextTooLong, 400, "invalid_request_error"),
    (ModelNotFound, 404, "invalid_request_error"),
    (Overloaded, 503, "overloaded_error"),
    (EngineClosed, 503, "overloaded_error"),
    (Incomplete, 503, "server_error"),
)


def status_of(error: FactorspecError) -> int:
    """HTTP status of an error: 4xx where the request has to change."""
    return _kind(error)[0]


def error_body(
    error: FactorspecError, *, schema_pointer: str = "", param: str | None = None
) -> dict[str, JsonValue]:
    """The answer's body for an error.

    Args:
        error: what went wrong. Of an engine's failure only the code is told; its message is for the log.
        schema_pointer: where the document stands in the request; put before places in it.
        param: the request's field that the error is about, where its problems name none.
    """
    status, kind = _kind(error)
    message = error.message if status < 500 or kind == "overloaded_error" else _unspoken(error)
    problems = [_problem(problem, schema_pointer) for problem in error.problems] if status < 500 else []
    params = [problem["param"] for problem in problems if problem["param"] is not None]
    body: dict[str, JsonValue] = {
        "message": str(error) if status < 500 else message,
        "type": kind,
        "param": params[0] if params else param,
        "code": error.code,
        "problems": [*problems],
        **_attributes(error),
    }
    return {"error": body}


def defect_body() -> dict[str, JsonValue]:
    """The body for what no error of ours explains; the reason is for the log."""
    return plain_error(
        "the server failed at this request; its log says why", code=DEFECT, kind="server_error"
    )


def plain_error(message: str, *, code: str, kind: str = "invalid_request_error") -> dict[str, JsonValue]:
    """The body for an error outside the tree: unknown path, wrong key, unexpected failure."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code, "problems": []}}


def _kind(error: FactorspecError) -> tuple[int, str]:
    for known, status, kind in _STATUSES:
        if isinstance(error, known):
            return status, kind
    return 500, "server_error"


def _unspoken(error: FactorspecError) -> str:
    if isinstance(error, Incomplete):
        return error.message
    return f"the engine could not finish this request ({error.code}); the server's log says why"


def _problem(problem: Problem, schema_pointer: str) -> dict[str, JsonValue]:
    is_pointer = problem.place == "" or problem.place.startswith("/")
    return {
        "param": schema_pointer + problem.place if is_pointer else schema_pointer or None,
        "place": problem.place,
        "message": problem.message,
        "value": problem.value,
        "hint": problem.hint,
    }


def _attributes(error: FactorspecError) -> Mapping[str, JsonValue]:
    if isinstance(error, Unsatisfiable):
        return {"conflict": [*error.conflict], "minimal": error.minimal}
    if isinstance(error, TokenLimitTooSmall):
        return {"token_limit": error.token_limit, "shortest": error.shortest}
    if isinstance(error, ContextTooLong):
        return {"num_tokens": error.num_tokens, "max_positions": error.max_positions}
    if isinstance(error, Incomplete | BudgetSpent):
        return {"partial": error.partial}
    return {}


def is_operators(error: FactorspecError) -> bool:
    """True if the error belongs into the server's log."""
    return isinstance(error, EngineError) and status_of(error) >= 500 and not isinstance(error, Overloaded)

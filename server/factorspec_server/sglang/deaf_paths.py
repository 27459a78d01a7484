"""Endpoints of SGLang's own that pass over a schema, or read a part of it: relations there are refused.

``/generate`` and ``/v1/completions`` hand a schema on as it is: its relations are enforced, without a report.
"""

from __future__ import annotations

from starlette.responses import JSONResponse

from factorspec_sdk.errors import Problem, UnsupportedKeyword
from factorspec_sdk.wire.keywords import VENDOR
from factorspec_server.http.error_body import error_body, status_of
from factorspec_server.sglang.envelope import has_vendor_key

DEAF_PATHS = frozenset({"/v1/responses", "/v1/messages", "/api/chat", "/api/generate"})


def refusal_at(route: str, body: bytes) -> JSONResponse | None:
    """The answer to a request with relations; None: it has none."""
    if not has_vendor_key(body.decode("utf-8", "replace")):
        return None
    problem = Problem("", f"{VENDOR} is not enforced at {route}", None, "ask at /v1/chat/completions")
    error = UnsupportedKeyword("the request cannot be served", [problem])
    return JSONResponse(error_body(error), status_of(error))

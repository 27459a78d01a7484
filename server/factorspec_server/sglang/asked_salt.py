"""The salt of the request for which SGLang asks the grammar backend.

SGLang keeps prefixes of prompts apart by a request's ``extra_key``: what clients send as ``cache_salt`` and
``extra_key``, joined, and the name of its adapter. The backend is told the schema alone. So a hook around
the asking notes the salt, and the threads that make grammars run in the context of who asked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from factorspec_server.salts import salt_of

_asked: ContextVar[str | None] = ContextVar("factorspec_salt", default=None)


def asked_salt() -> str | None:
    """The salt of the request for which a grammar is made now."""
    return _asked.get()


def grammar_asked(original: Callable[..., Any], manager: Any, request: Any) -> Any:
    """Hook around ``GrammarManager.process_req_with_grammar``, which sees every request.

    Batches alone may have a list of keys, one for each text; SGLang looks no closer, and its cache ends with
    the scheduler where it meets one.
    """
    own = getattr(request, "cache_salt", None)  # newer releases do not join the two
    if not isinstance(own, str | None):
        request.set_finish_with_abort(f"cache_salt must be a string, not a {type(own).__name__}")
        request.cache_salt = None
        return False
    if not isinstance(request.extra_key, str | None):
        request.set_finish_with_abort(f"extra_key must be a string, not a {type(request.extra_key).__name__}")
        request.extra_key = None
        return False
    before = _asked.set(salt_of(f"{own or ''}{request.extra_key or ''}" or None))
    try:
        return original(manager, request)
    finally:
        _asked.reset(before)

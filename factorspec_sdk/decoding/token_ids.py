"""Tokens as callers give them."""

from __future__ import annotations

from operator import index
from reprlib import repr as short_repr


def token_id(token: object) -> int:
    """The token as an ``int``. Raises TypeError, naming it, where it is no integer."""
    try:
        return index(token)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"a token must be an integer, got {short_repr(token)}") from None

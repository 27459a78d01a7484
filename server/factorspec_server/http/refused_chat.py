"""The answer's body for a chat request that is refused, its errors placed in the request."""

from __future__ import annotations

from factorspec_sdk.errors import (
    DocumentError,
    FactorspecError,
    InfeasibleError,
    JsonValue,
    ModelNotFound,
    TokenLimitTooSmall,
)
from factorspec_server.engines import ContextTooLong
from factorspec_server.http.chat_request import SCHEMA_POINTER, ChatRequest
from factorspec_server.http.error_body import error_body


def refused_body(error: FactorspecError, chat: ChatRequest | None) -> dict[str, JsonValue]:
    """The body.

    Args:
        error: why it is refused.
        chat: the request; None: it could not be read.
    """
    if chat is None:
        return error_body(error)
    pointer = document_pointer(chat, is_placed=error.is_placed)
    return error_body(error, schema_pointer=pointer, param=_param(error, chat, pointer))


def document_pointer(chat: ChatRequest, *, is_placed: bool) -> str:
    """What stands before an error's places; ``is_placed``: they are pointers into the request already."""
    return "" if chat.schema_document is None or is_placed else SCHEMA_POINTER


def _param(error: FactorspecError, chat: ChatRequest, schema_pointer: str) -> str | None:
    """The field of the request that an error without places is about."""
    if isinstance(error, TokenLimitTooSmall):
        return chat.token_limit_field
    if isinstance(error, ModelNotFound):
        return "/model"
    if isinstance(error, ContextTooLong):
        return "/messages"
    return schema_pointer if isinstance(error, DocumentError | InfeasibleError) else None

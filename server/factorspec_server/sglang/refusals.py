"""Refusals on their way from the scheduler to the client: SGLang passes on one text.

It is a sentence for people, and behind a mark the body of the answer as the embedded engine would give it.
"""

from __future__ import annotations

import json

from factorspec_sdk.errors import FactorspecError, JsonValue, TokenLimitTooSmall
from factorspec_server.http.error_body import error_body, status_of
from factorspec_server.sglang.too_long import too_long

_MARK = "\nfactorspec: "


def refusal_text(error: FactorspecError) -> str:
    """The text for an error; places in the document are JSON pointers into it."""
    body = {"status": status_of(error), "is_placed": error.is_placed, **error_body(error)}
    return f"{error} [{error.code}]{_MARK}{json.dumps(body)}"


def read_refusal(text: str, schema_pointer: str) -> tuple[int, dict[str, JsonValue]] | None:
    """Status and body of the answer that a text stands for; None if it is not one of ours.

    Args:
        text: what SGLang says, with words of its own before it.
        schema_pointer: where the document stands in the request; put before places in it.
    """
    _, mark, told = text.partition(_MARK)
    if not mark:
        return None
    try:
        body, _ = json.JSONDecoder().raw_decode(told)
        status, error = body.pop("status"), body["error"]
        before = "" if body.pop("is_placed", False) else schema_pointer
        for problem in error["problems"]:
            place = problem["place"]
            is_pointer = place == "" or place.startswith("/")
            problem["param"] = before + place if is_pointer else before or None
        error["param"] = next((each["param"] for each in error["problems"]), before or None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return status, body


class Refusal(Exception):
    """An answer that is an error.

    Attributes:
        status: of HTTP.
        body: in OpenAI's form.
    """

    def __init__(self, status: int, body: dict[str, JsonValue]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


def refusal_of_answer(status: int, answer: object, asked_pointer: str, limit_field: str) -> Refusal | None:
    """What SGLang's error stands for; None if it is one of its own.

    Args:
        status: of SGLang's answer.
        answer: its body, ``{"message": …}`` or ``{"error": {"message": …}}``.
        asked_pointer: where the document stands in the request.
        limit_field: JSON pointer of the request's token limit.
    """
    told = answer.get("error", answer) if isinstance(answer, dict) else None
    message = told.get("message") if isinstance(told, dict) else None
    if not isinstance(message, str):
        return None
    read = read_refusal(message, asked_pointer)
    if read is None:
        long = too_long(message) if status == 400 else None
        return None if long is None else Refusal(status, error_body(long, param="/messages"))
    error = read[1]["error"]
    if isinstance(error, dict) and error.get("code") == TokenLimitTooSmall.code:
        error["param"] = limit_field
    return Refusal(*read)

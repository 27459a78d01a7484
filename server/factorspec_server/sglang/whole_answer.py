"""An answer of SGLang's that comes in one piece."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from factorspec_sdk.errors import JsonValue
from factorspec_server.http.chat_request import SCHEMA_POINTER
from factorspec_server.sglang.asked import Asked
from factorspec_server.sglang.finished import Choice
from factorspec_server.sglang.refusals import refusal_of_answer

VendorPart = Callable[[list[Choice], dict[str, Any]], Awaitable[dict[str, JsonValue]]]


async def whole_answer(asked: Asked, status: int, body: bytes, vendor: VendorPart) -> bytes:
    """The answer as it goes out.

    Args:
        asked: the request.
        status: of SGLang's answer.
        body: of it.
        vendor: makes the vendor part.

    Raises:
        Refusal: it goes out as an error.
    """
    try:
        answer = json.loads(body)
    except ValueError:
        return body
    if status != 200:
        refusal = refusal_of_answer(status, answer, SCHEMA_POINTER, asked.limit_field)
        if refusal is not None:
            raise refusal
        return body
    usage = answer.get("usage") or {}
    choices = [
        Choice(each["message"].get("content") or "", each.get("finish_reason")) for each in answer["choices"]
    ]
    answer["factorspec"] = await vendor(choices, usage)
    answer["usage"] = without_end_tokens(usage, choices)
    return json.dumps(answer, ensure_ascii=False).encode()


def without_end_tokens(usage: dict[str, Any], choices: list[Choice]) -> dict[str, Any]:
    """Counts of tokens without the end token behind each complete record."""
    num_ends = sum(choice.finish_reason == "stop" for choice in choices)
    counted = {**usage}
    for name in ("completion_tokens", "total_tokens"):
        if name in counted:
            counted[name] -= num_ends
    return counted

"""Answers in OpenAI's form for a chat model, given in turn: texts, enforced records, and tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

import factorspec_sdk as fs
from factorspec_integrations.langchain import ChatFactorSpec
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.wire import parse_document
from tests.client.canned import Canned, completion

COUNTS = (
    *("prompt_tokens", "tokens", "certain", "chosen", "free", "choice_points", "model_steps"),
    *("guessed", "accepted", "prefill_s", "decode_s", "compile_s", "seed"),
)
FACTS = {"exact": True, "near_limit": False, "spec_cached": False}
REPORT: dict[str, Any] = dict.fromkeys(COUNTS, 0) | FACTS


def enforced(
    model: type[BaseModel] | dict[str, Any], record: Mapping[str, Any] | str, **more: Any
) -> JsonObject:
    """A record as a server with FactorSpec answers."""
    spec = parse_document(model) if isinstance(model, dict) else fs.spec(model)
    text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
    return completion(
        text, **{"model": "canned", "factorspec": {"spec_hash": spec.hash, "report": REPORT}, **more}
    )


def calls(*wanted: tuple[str, Mapping[str, Any] | str], echo: Mapping[str, str] | None = None) -> JsonObject:
    """An answer that calls tools."""
    listed = [
        {
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for at, (name, given) in enumerate(wanted)
    ]
    answer: Any = completion("", "tool_calls", model="canned")
    answer["choices"][0]["message"]["tool_calls"] = listed
    if echo is not None:
        answer["factorspec"] = {"tools": dict(echo), "report": REPORT}
    return cast(JsonObject, answer)


def chat(*answers: JsonObject | FactorspecError | str, **settings: Any) -> tuple[ChatFactorSpec, Canned]:
    """A chat model, and what it asks."""
    canned = Canned(*answers)
    return ChatFactorSpec(engine=canned, **settings), canned


def sent(canned: Canned, at: int = 0) -> dict[str, Any]:
    """A request without its messages."""
    return {name: value for name, value in canned.bodies[at].items() if name != "messages"}


def roles(messages: Sequence[Any]) -> list[str]:
    return [message["role"] for message in messages]

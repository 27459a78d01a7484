"""Log-probabilities as the package reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.openai_package.callers import Caller
from tests.conformance.openai_package.records import Order


@pytest.mark.needs("logprobs", "chat", "seed")
def test_a_chats_tokens(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"logprobs": True, "top_logprobs": 4}
    (choice,) = call.create(**fields).choices
    assert choice.logprobs is not None and choice.logprobs.content
    data = b""
    for entry in choice.logprobs.content:
        assert entry.logprob <= 0
        assert len(entry.top_logprobs) == 4
        values = [top.logprob for top in entry.top_logprobs]
        assert values == sorted(values, reverse=True)
        data += bytes(entry.bytes or ())
    assert data.decode(errors="replace").startswith(choice.message.content or "")
    parts = [part.choices[0].logprobs for part in call.chunks(**fields)]
    streamed = [entry for part in parts if part is not None for entry in part.content or ()]
    assert [entry.token for entry in streamed] == [entry.token for entry in choice.logprobs.content]
    values = [entry.logprob for entry in choice.logprobs.content]
    assert [entry.logprob for entry in streamed] == pytest.approx(values, abs=1e-3)


@pytest.mark.needs("chat")
def test_nobody_asked(call: Caller, chat: dict[str, Any]) -> None:
    assert call.create(**chat).choices[0].logprobs is None


@pytest.mark.real
@pytest.mark.needs("record_logprobs", "record", "seed")
def test_a_records_tokens(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"max_tokens": 300, "logprobs": True, "top_logprobs": 2}
    (choice,) = call.parse(**fields, response_format=Order).choices
    entries = choice.logprobs.content
    assert bytes(byte for entry in entries for byte in entry.bytes).decode() == choice.message.content
    origins = [entry.model_extra["factorspec"]["origin"] for entry in entries]
    assert "certain" in origins and "chosen" in origins
    for entry, origin in zip(entries, origins, strict=True):
        assert entry.logprob <= 0
        assert len(entry.top_logprobs) == (1 if origin == "certain" else 2)
    events, final = call.events(**fields, response_format=Order)
    assert [entry.token for entry in final.choices[0].logprobs.content] == [one.token for one in entries]
    assert [event for event in events if event.type == "logprobs.content.delta"]

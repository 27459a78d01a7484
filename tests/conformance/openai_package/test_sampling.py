"""Fields that shape the sampling; greedy, so that what they do can be told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.openai_package.callers import Caller
from tests.conformance.openai_package.records import Order

pytestmark = pytest.mark.needs("chat")


@pytest.mark.needs("penalties", "seed")
def test_penalties_change_what_is_written(call: Caller, chat: dict[str, Any]) -> None:
    greedy = chat | {"temperature": 0, "max_tokens": 40}
    plain = call.create(**greedy).choices[0].message.content
    zero = call.create(**greedy, frequency_penalty=0, presence_penalty=0).choices[0].message.content
    changed = call.create(**greedy, frequency_penalty=-2, presence_penalty=-2).choices[0].message.content
    assert plain == zero != changed


@pytest.mark.needs("penalties", "record")
def test_penalties_leave_records_whole(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"max_tokens": 300, "frequency_penalty": 2, "presence_penalty": 2}
    assert isinstance(call.parse(**fields, response_format=Order).choices[0].message.parsed, Order)


@pytest.mark.needs("logit_bias")
def test_a_bias_of_a_hundred_decides(call: Caller, chat: dict[str, Any]) -> None:
    fields = chat | {"max_tokens": 3, "logit_bias": {"40": 100}}
    for _ in range(2):
        text = call.create(**fields).choices[0].message.content or ""
        assert text == text[: len(text) // 3] * 3

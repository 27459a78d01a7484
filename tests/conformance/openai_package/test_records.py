"""Structured output: the package's own helpers, raw schemas, relations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.openai_package.callers import Caller
from tests.conformance.openai_package.records import STAY_SCHEMA, Order, Stay, asked

pytestmark = pytest.mark.needs("record")


@pytest.fixture
def record(chat: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request whose record has room."""
    return chat | {"max_tokens": 300}


def assert_agrees(stay: Stay) -> None:
    assert stay.start != stay.end
    assert stay.leave - stay.arrive == stay.nights


def test_parse_gives_an_instance(call: Caller, record: dict[str, Any]) -> None:
    answer = call.parse(**record, response_format=Order)
    order = answer.choices[0].message.parsed
    assert isinstance(order, Order)
    assert answer.choices[0].message.refusal is None
    assert Order.model_validate_json(answer.choices[0].message.content) == order


@pytest.mark.needs("relations")
def test_parse_gives_an_instance_whose_fields_agree(call: Caller, record: dict[str, Any]) -> None:
    for seed in range(5):
        answer = call.parse(**record | {"seed": seed}, response_format=Stay)
        assert_agrees(answer.choices[0].message.parsed)


@pytest.mark.needs("seed")
@pytest.mark.real
def test_the_stream_helper_gives_the_same_instance(call: Caller, record: dict[str, Any]) -> None:
    events, final = call.events(**record, response_format=Order)
    whole = call.parse(**record, response_format=Order)
    assert final.choices[0].message.parsed == whole.choices[0].message.parsed
    (done,) = [event for event in events if event.type == "content.done"]
    assert done.parsed == final.choices[0].message.parsed
    assert [event.snapshot for event in events if event.type == "content.delta"][-1] == done.content


@pytest.mark.needs("relations", "seed")
@pytest.mark.real
def test_a_raw_schema_with_relations(call: Caller, record: dict[str, Any]) -> None:
    fields = record | {"response_format": asked(STAY_SCHEMA)}
    answer = call.create(**fields)
    choice = answer.choices[0]
    assert choice.finish_reason == "stop"
    assert_agrees(Stay.model_validate_json(choice.message.content or ""))
    vendor = answer.model_dump(warnings=False)["factorspec"]
    assert call.headers(**fields)["x-factorspec-spec"] == vendor["spec_hash"]
    outcomes = {one["name"]: one["outcome"] for one in vendor["report"]["relations"]}
    assert outcomes == {"nights": "holds", "two cities": "holds"}
    chunks = call.chunks(**fields)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == choice.message.content
    assert chunks[-1].model_dump(warnings=False)["factorspec"]["spec_hash"] == vendor["spec_hash"]


def test_a_plain_schema_without_strict(call: Caller, record: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"enum": ["S", "M"]}},
        "required": ["size"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "size", "schema": schema}}
    text = call.create(**record, response_format=wanted).choices[0].message.content
    assert json.loads(text or "")["size"] in ("S", "M")


@pytest.mark.needs("chat")
def test_response_format_text_is_a_chat(call: Caller, record: dict[str, Any]) -> None:
    fields = record | {"response_format": {"type": "text"}, "max_tokens": 5}
    assert call.create(**fields).choices[0].finish_reason in ("stop", "length")

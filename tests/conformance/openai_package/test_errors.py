"""What is refused, as the package's own exceptions; each by the field that it is about."""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import replace
from typing import Any

import openai
import pytest

from tests.conformance.openai_package.callers import AsyncCaller, Caller, SyncCaller
from tests.conformance.openai_package.records import STAY_SCHEMA, asked
from tests.conformance.openai_package.target import Target


def refusal(call: Caller, **fields: Any) -> openai.BadRequestError:
    with pytest.raises(openai.BadRequestError) as caught:
        call.create(**fields)
    with pytest.raises(openai.BadRequestError) as streamed:
        call.chunks(**fields)
    assert streamed.value.param == caught.value.param
    return caught.value


@pytest.mark.needs("refusals")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -1),
        ("temperature", "warm"),
        ("top_p", 0),
        ("top_p", 1.5),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("seed", 0.5),
        ("stop", 5),
        ("stop", ["x"] * 17),
        ("messages", []),
        ("n", 0),
        ("n", 1.5),
        ("n", 10**9),
        ("top_logprobs", 21),
        ("logit_bias", {"word": 1}),
        ("frequency_penalty", "much"),
    ],
)
def test_a_wrong_value_is_told_by_its_field(
    call: Caller, chat: dict[str, Any], field: str, value: object
) -> None:
    error = refusal(call, **chat | {field: value})
    assert error.type == "invalid_request_error"
    assert error.param is not None and error.param.split("/")[1] == field
    assert field in error.message


@pytest.mark.needs("refusals")
def test_an_unknown_field_is_told(call: Caller, chat: dict[str, Any]) -> None:
    assert refusal(call, **chat, extra_body={"best_of": 3}).param == "/best_of"


@pytest.mark.needs("refusals", "record")
def test_a_keyword_that_cannot_be_enforced_is_told(call: Caller, chat: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    error = refusal(call, **chat, response_format=asked(schema))
    assert error.code == "unsupported_keyword"
    assert (error.param or "").startswith("/response_format/json_schema/schema/properties/a")


@pytest.mark.needs("refusals", "relations")
def test_a_contradiction_is_told_by_the_names_of_its_relations(call: Caller, chat: dict[str, Any]) -> None:
    never = {
        "name": "one city",
        "kind": "intension",
        "expr": {"op": "eq", "args": [{"ref": "$.start"}, {"ref": "$.end"}]},
    }
    vendor = STAY_SCHEMA["x-factorspec"]
    vendor = vendor | {"relations": [*vendor["relations"], never]}
    error = refusal(call, **chat, response_format=asked(STAY_SCHEMA | {"x-factorspec": vendor}))
    assert error.code == "unsatisfiable"
    assert isinstance(error.body, dict) and sorted(error.body["conflict"]) == ["one city", "two cities"]


@pytest.mark.needs("refusals", "record")
def test_a_limit_below_the_shortest_record_is_told(call: Caller, chat: dict[str, Any]) -> None:
    error = refusal(call, **chat | {"max_tokens": 2}, response_format=asked(STAY_SCHEMA))
    assert (error.code, error.param) == ("token_limit_too_small", "/max_tokens")


@pytest.mark.needs("models")
def test_another_model_is_not_found(call: Caller, chat: dict[str, Any]) -> None:
    with pytest.raises(openai.NotFoundError):
        call.create(**chat | {"model": "no-such-model"})


def test_a_wrong_key(target: Target) -> None:
    kind: Any
    if target.key is None:
        pytest.skip("the server asks for no key")
    for kind in (SyncCaller, AsyncCaller):
        wrong = kind(replace(target, key="wrong"))
        with closing(wrong) as caller, pytest.raises(openai.AuthenticationError):
            caller.models()


def test_nobody_there() -> None:
    kind: Any
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gone = Target(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        for kind in (SyncCaller, AsyncCaller):
            with closing(kind(gone)) as caller, pytest.raises(openai.APIConnectionError):
                caller.models()

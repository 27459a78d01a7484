"""Fields that shape the sampling: penalties, biases, min_p, stop strings; what is no such value is a 400."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from factorspec_server.http.chat_request import read_chat_request
from factorspec_server.settings import DraftingName, ServerSettings
from tests.server.http.serving import TRIP, Server, body, serving

HEAVY: dict[str, Any] = {
    "temperature": 1.1,
    "frequency_penalty": 1.5,
    "presence_penalty": -0.5,
    "repetition_penalty": 1.3,
    "min_p": 0.05,
    "logit_bias": {str(ord("O")): 4, str(ord("9")): -100},
}


def text_of(server: Server, **fields: Any) -> str:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)
    assert found.status_code == 200, found.text
    text: str = found.json()["choices"][0]["message"]["content"]
    return text


def refusal(server: Server, **fields: Any) -> dict[str, Any]:
    found = httpx.post(f"{server.url}/chat/completions", json=body(**fields), timeout=20)
    assert found.status_code == 400, found.text
    error: dict[str, Any] = found.json()["error"]
    assert error["type"] == "invalid_request_error"
    return error


@pytest.mark.parametrize("drafting", ["off", "certain", "chain", "text", "tree"])
def test_records_are_the_same_under_each_drafting(server: Server, drafting: DraftingName) -> None:
    with serving(ServerSettings(drafting=drafting)) as drafted:
        for seed in range(6):
            asked = HEAVY | {"seed": seed}
            assert text_of(drafted, **asked) == text_of(server, **asked)


def test_a_bias_keeps_a_token_out_and_another_in(server: Server) -> None:
    for seed in range(10):
        trip = json.loads(text_of(server, seed=seed, **HEAVY))
        assert trip["days"] != 9
    for digit in "37":
        trip = json.loads(text_of(server, temperature=1, logit_bias={str(ord(digit)): 100}))
        assert trip["days"] == int(digit)


def test_a_bias_cannot_break_the_record(server: Server) -> None:
    banned = {str(byte): -100 for byte in range(256)}
    trip = json.loads(text_of(server, logit_bias=banned, seed=1))
    assert list(trip) == TRIP["required"]


def test_a_chat_without_repeats(server: Server) -> None:
    asked = {"schema": None, "max_tokens": 60, "temperature": 0, "logit_bias": {"256": -100}}
    plain = text_of(server, **asked)
    never_twice = text_of(server, **asked, frequency_penalty=2, presence_penalty=2, repetition_penalty=2)
    assert plain != never_twice


WRONG: dict[str, list[object]] = {
    "n": [0, -1, 1.5, 10**9, "2", True, [2]],
    "frequency_penalty": [2.1, -2.1, "1", True, 10**400],
    "presence_penalty": [-3, {}, "much"],
    "repetition_penalty": [0, -1, 2.5, False],
    "min_p": [-0.1, 1.1, "0"],
    "stop": ["", ["a", ""], [1], ["x"] * 17, "x" * 1001, {"a": 1}, True],
    "logit_bias": [
        *([], {"x": 1}, {"05": 1}, {"-1": 1}, {"5": 101}, {"5": "1"}, {"5": None}),
        *({"99999": 1}, {"9" * 4000: 1}, {"٣": 1}, {str(token): 1 for token in range(2000)}),
    ],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_told_by_its_field(server: Server, field: str, value: object) -> None:
    error = refusal(server, schema=None, **{field: value})
    assert error["param"].split("/")[1] == field
    assert len(error["message"]) < 400


@pytest.mark.parametrize(
    "field", ["n", "frequency_penalty", "presence_penalty", "repetition_penalty", "min_p", "temperature"]
)
def test_what_is_no_number_is_told(server: Server, field: str) -> None:
    for value in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
        content = (
            json.dumps(body(schema=None)).encode()[:-1] + b', "' + field.encode() + b'": ' + value + b"}"
        )
        headers = {"content-type": "application/json"}
        found = httpx.post(f"{server.url}/chat/completions", content=content, headers=headers)
        assert found.status_code == 400, (field, value)
        error = found.json()["error"]
        assert field in (error["param"] or "") or value.decode() in error["message"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_told_without_http_too(value: float) -> None:
    for field in ("frequency_penalty", "min_p", "repetition_penalty"):
        plain: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], field: value}
        with pytest.raises(Exception, match=field):
            read_chat_request(plain)


def test_a_stop_string_beside_a_record_is_refused_with_the_reason(server: Server) -> None:
    error = refusal(server, stop=["}"])
    assert error["param"] == "/stop"
    assert "could only cut it short" in error["message"]


def test_stop_strings_never_show_in_a_stream(server: Server) -> None:
    asked = {"schema": None, "seed": 9, "max_tokens": 200, "temperature": 1.0, "logit_bias": {"256": -100}}
    whole = text_of(server, **asked)
    for at in range(20, 60, 7):
        stop = [whole[at : at + 3], "\0\0\0"]
        want = whole[: whole.index(stop[0])]
        assert text_of(server, **asked, stop=stop) == want
        found = httpx.post(
            f"{server.url}/chat/completions", json=body(**asked, stop=stop, stream=True), timeout=20
        )
        lines = [line.removeprefix("data: ") for line in found.text.split("\n") if line]
        parts = [json.loads(line)["choices"][0] for line in lines[:-1]]
        shown = ""
        for part in parts:
            shown += part["delta"].get("content", "")
            assert want.startswith(shown)
        assert shown == want
        assert parts[-1]["finish_reason"] == "stop"

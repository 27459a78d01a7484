"""The helpers for people who stay on ``openai``, with the package itself against a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field, field_validator

import factorspec_sdk as fs
from factorspec_integrations import with_relations
from factorspec_sdk import errors
from factorspec_sdk.client import IncompleteAnswer, InvalidAnswer, UnenforcedAnswer
from factorspec_sdk.client.tool_calls import ToolCall
from factorspec_sdk.openai import gather, parse, response_format, tool, tool_calls
from tests.client.canned import GOOD, Stay, as_text, completion
from tests.server.http.serving import Server, serving

ASKED: list[Any] = [{"role": "user", "content": "A stay, please."}]
LIMITS: dict[str, Any] = {"model": "scripted", "messages": ASKED, "temperature": 1.0}


@fs.lt("first", "last", name="up")
class Book(BaseModel):
    """Book a room."""

    city: Annotated[str, fs.In("cities")]
    first: Annotated[int, Field(ge=1, le=9)]
    last: Annotated[int, Field(ge=1, le=9)]


class Cancel(BaseModel):
    number: Annotated[int, Field(ge=1, le=99)]
    reason: Literal["late", "ill"]


BOOK = fs.bind(Book, cities=["Oslo", "Köln"])
TOOLS = [tool(BOOK), tool(Cancel)]


class Shortly(BaseModel):
    city: Annotated[str, fs.In(["Oslo", "Rome"])]
    nights: Annotated[int, Field(ge=1, le=30)]


SHORTLY = response_format(Shortly)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0, timeout=30) as made:
        yield made


def test_the_entries_are_plain_json() -> None:
    entry = response_format(BOOK)
    assert entry == {
        "type": "json_schema",
        "json_schema": {"name": "Book", "strict": True, "schema": fs.document(BOOK)},
    }
    assert response_format(BOOK, name="a-b")["json_schema"]["name"] == "a-b"
    function = tool(BOOK)["function"]
    assert (function["name"], function["description"]) == ("Book", "Book a room.")
    assert function["parameters"] == fs.document(BOOK)
    assert "description" not in tool(Cancel)["function"]
    assert tool(Cancel, name="undo", description="Undo.")["function"]["description"] == "Undo."
    json.dumps([entry, *TOOLS])
    with pytest.raises(errors.BindingError):
        response_format(Book)


def test_create_and_parse(client: Any) -> None:
    answer = client.chat.completions.create(**LIMITS, seed=1, response_format=response_format(Stay))
    stay = parse(Stay, answer)
    assert isinstance(stay, Stay)
    assert parse(Stay, answer.to_dict()) == stay
    raw = client.chat.completions.with_raw_response.create(
        **LIMITS, seed=1, response_format=response_format(Stay)
    )
    assert parse(Stay, raw.http_response.json()) == stay
    parsed = client.chat.completions.parse(**LIMITS, seed=1, response_format=response_format(Stay))
    assert parse(Stay, parsed) == stay


def test_the_package_may_make_the_typed_object(client: Any) -> None:
    asked = {**LIMITS, "seed": 1, "response_format": with_relations(Shortly)}
    answer = client.chat.completions.parse(**asked)
    assert isinstance(answer.choices[0].message.parsed, Shortly)
    assert parse(Shortly, answer) == answer.choices[0].message.parsed


def test_each_of_several_choices(client: Any) -> None:
    answer = client.chat.completions.create(**LIMITS, seed=1, n=3, response_format=SHORTLY)
    found = [parse(Shortly, answer, choice=at) for at in range(3)]
    assert all(isinstance(one, Shortly) for one in found)
    with pytest.raises(errors.EngineError, match=r"choices\[3\]"):
        parse(Shortly, answer, choice=3)


def test_streams_are_gathered(client: Any) -> None:
    whole = parse(Shortly, client.chat.completions.create(**LIMITS, seed=1, response_format=SHORTLY))
    chunks = client.chat.completions.create(**LIMITS, seed=1, response_format=SHORTLY, stream=True)
    assert parse(Shortly, gather(chunks)) == whole
    with client.chat.completions.stream(**LIMITS, seed=1, response_format=SHORTLY) as events:
        assert parse(Shortly, gather(events)) == whole
        assert (
            json.loads(events.get_final_completion().choices[0].message.content or "") == whole.model_dump()
        )


def test_the_asynchronous_client(server: Server) -> None:
    async def run() -> None:
        made: Any = openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0, timeout=30)
        async with made as client:
            whole = parse(
                Shortly, await client.chat.completions.create(**LIMITS, seed=1, response_format=SHORTLY)
            )
            chunks = await client.chat.completions.create(
                **LIMITS, seed=1, response_format=SHORTLY, stream=True
            )
            assert parse(Shortly, gather([chunk async for chunk in chunks])) == whole
            async with client.chat.completions.stream(**LIMITS, seed=1, response_format=SHORTLY) as events:
                assert parse(Shortly, gather([event async for event in events])) == whole
            answer = await client.chat.completions.create(
                **LIMITS, seed=1, tools=TOOLS, tool_choice="required"
            )
            assert tool_calls([BOOK, Cancel], answer)

    asyncio.run(run())


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "Book"}}])
def test_tool_calls(client: Any, choice: Any) -> None:
    asked: Any = {**LIMITS, "seed": 2, "tools": TOOLS, "tool_choice": choice}
    answer = client.chat.completions.create(**asked)
    calls = tool_calls([BOOK, Cancel], answer)
    assert calls and all(
        isinstance(call.arguments, BOOK if call.name == "Book" else Cancel) for call in calls
    )
    assert [call.id for call in calls] == [call.id for call in answer.choices[0].message.tool_calls or ()]
    assert tool_calls({"Book": BOOK, "Cancel": Cancel}, answer.to_dict()) == calls
    chunks = list(client.chat.completions.create(**asked, stream=True))
    streamed = tool_calls([BOOK, Cancel], gather(chunks))
    assert [(call.name, call.arguments) for call in streamed] == [
        (call.name, call.arguments) for call in calls
    ]
    with client.chat.completions.stream(**asked) as events:
        assert [call.arguments for call in tool_calls([BOOK, Cancel], gather(events))] == [
            c.arguments for c in calls
        ]


def test_text_holds_no_calls(client: Any) -> None:
    answer = client.chat.completions.create(**LIMITS, seed=2, max_tokens=5, tools=TOOLS, tool_choice="none")
    assert answer.choices[0].message.tool_calls is None


# -- answers that are not what was asked for --------------------------------------------------------

ECHO: dict[str, Any] = {"factorspec": {"spec_hash": fs.spec(Stay).hash, "report": {}}}


def called(name: str, arguments: str, **vendor: Any) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    answer: dict[str, Any] = completion("", "tool_calls", factorspec=vendor)
    answer["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    return answer


def test_without_the_echo_nothing_is_taken() -> None:
    vendors: list[Any] = [{}, {"factorspec": {"spec_hash": "sha256:other"}}]
    for vendor in vendors:
        with pytest.raises(UnenforcedAnswer):
            parse(Stay, completion(as_text(GOOD), **vendor))
    for tools in (None, {}, {"Cancel": "sha256:other"}):
        with pytest.raises(UnenforcedAnswer):
            tool_calls([Cancel], called("Cancel", '{"number": 1, "reason": "ill"}', tools=tools))


def test_calls_are_validated() -> None:
    echo = {"tools": {"Cancel": fs.spec(Cancel).hash}}
    answer = called("Cancel", '{"number": 1, "reason": "ill"}', **echo)
    assert tool_calls([Cancel], answer) == [
        ToolCall("1", "Cancel", Cancel(number=1, reason="ill"), '{"number": 1, "reason": "ill"}')
    ]
    for name, arguments in (
        ("Cancel", '{"number": 0, "reason": "ill"}'),
        ("Cancel", '{"num'),
        ("Other", "{}"),
    ):
        with pytest.raises(InvalidAnswer):
            tool_calls([Cancel], called(name, arguments, **echo))
    cut = called("Cancel", '{"num', **echo)
    cut["choices"][0]["finish_reason"] = "length"
    with pytest.raises(IncompleteAnswer) as caught:
        tool_calls([Cancel], cut)
    assert caught.value.partial == '{"num'


class Picky(Stay):
    @field_validator("note")
    @classmethod
    def _short(cls, value: str) -> str:
        if value:
            raise ValueError("must be empty")
        return value


def test_a_record_that_is_none_says_why() -> None:
    assert parse(Stay, completion(as_text(GOOD), **ECHO)) == Stay(**GOOD)
    with pytest.raises(IncompleteAnswer) as caught:
        parse(Stay, completion(as_text(GOOD)[:9], "length", **ECHO))
    assert caught.value.partial == as_text(GOOD)[:9]
    echo: Any = {"factorspec": {"spec_hash": fs.spec(Picky).hash}}
    with pytest.raises(InvalidAnswer, match="must be empty") as invalid:
        parse(Picky, completion(as_text(GOOD), **echo))
    assert invalid.value.value == GOOD and invalid.value.text == as_text(GOOD)
    with pytest.raises(InvalidAnswer, match="holds no record"):
        parse(Stay, completion("", **ECHO))
    declined: Any = completion("", **ECHO)
    declined["choices"][0]["message"]["refusal"] = "I cannot."
    with pytest.raises(InvalidAnswer, match="declined: I cannot"):
        parse(Stay, declined)


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [{}]}, {"choices": "x"}])
def test_what_is_no_answer_is_told(answer: Any) -> None:
    with pytest.raises(errors.EngineError, match="no choices"):
        parse(Stay, answer)
    with pytest.raises(errors.EngineError, match="no choices"):
        tool_calls([Cancel], answer)


def test_a_stream_given_as_an_answer_is_told(client: Any) -> None:
    stream: Any = client.chat.completions.create(**LIMITS, response_format=SHORTLY, stream=True)
    with stream, pytest.raises(errors.DocumentError, match="gather"):
        parse(Shortly, stream)


def test_the_package_is_not_needed() -> None:
    script = "import factorspec_sdk.openai, sys; assert not {'openai', 'httpx', 'ortools'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

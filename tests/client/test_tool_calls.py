"""``call_tools``: typed calls from the engine in this process, and what a server may not get away with."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

import factorspec_sdk as fs
from factorspec_sdk.client import AsyncClient, Client, InvalidAnswer, ToolAnswer, UnenforcedAnswer
from factorspec_sdk.client.transport import JsonObject
from factorspec_server.http.in_process import InProcessEngine
from tests.server.http.serving import SteppedModel, served_model


@fs.lt("start", "end")
class Meeting(BaseModel):
    """Plan a meeting
    on one day.
    """

    start: Annotated[int, Field(ge=1, le=20)]
    end: Annotated[int, Field(ge=1, le=20)]


class Pay(BaseModel):
    amount: Literal[10, 20, 50]


class Given(BaseModel):
    rooms: list[str]


class Room(BaseModel):
    """Needs to be told what rooms there are."""

    room: Annotated[str, fs.In("rooms")]


@pytest.fixture(scope="module")
def engine() -> Iterator[InProcessEngine]:
    made = InProcessEngine(served_model(SteppedModel()))
    yield made
    made.close()


@pytest.fixture
def client(engine: InProcessEngine) -> Client:
    return Client(engine=engine, model="scripted")


def test_calls_are_typed_and_valid(client: Client) -> None:
    kinds = set()
    for seed in range(12):
        answer = client.call_tools(
            [Meeting, Pay], "Please.", tool_choice="required", temperature=1, seed=seed
        )
        assert answer.content is None and answer.refusal is None
        for call in answer.calls:
            assert type(call.arguments).__name__ == call.name
            if isinstance(call.arguments, Meeting):
                assert call.arguments.start < call.arguments.end
            kinds.add(call.name)
    assert kinds == {"Meeting", "Pay"}


def test_one_tool_once(client: Client) -> None:
    for seed in range(5):
        answer = client.call_tools(
            [Meeting, Pay], "Pay.", tool_choice=Pay, parallel=False, temperature=1, seed=seed
        )
        (call,) = answer.calls
        assert isinstance(call.arguments, Pay)


def test_parameters_come_with_the_tool(client: Client) -> None:
    bound = fs.bind(Room, Given(rooms=["Blue", "Red"]))
    answer = client.call_tools([bound], "Which?", tool_choice="required", parallel=False)
    (call,) = answer.calls
    assert isinstance(call.arguments, Room)
    assert call.arguments.room in ("Blue", "Red")


def test_a_conversation_goes_on_with_the_answers_to_calls(client: Client) -> None:
    first = client.call_tools([Pay], "Pay.", tool_choice="required", temperature=1, seed=1)
    turns: list[Any] = [{"role": "user", "content": "Pay."}, first.message]
    turns += [call.answered("paid") for call in first.calls]
    assert client.call_tools([Pay], turns, tool_choice=Pay).calls


def test_text_and_refusals_are_told(client: Client) -> None:
    refused = [
        client.call_tools(
            [Pay], f"Pay {seed}.", tool_choice="required", refusal=True, temperature=1, seed=seed
        )
        for seed in range(8)
    ]
    assert {answer.refusal is None for answer in refused} == {True, False}
    assert all(bool(answer.calls) == (answer.refusal is None) for answer in refused)
    with pytest.raises(fs.Incomplete):
        client.call_tools([Pay], "Pay.", max_tokens=3)


def test_asyncio(engine: InProcessEngine) -> None:
    class Later:
        async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
            return await asyncio.to_thread(engine.complete, body, timeout_s=timeout_s)

        async def model_name(self, *, timeout_s: float) -> str:
            return "scripted"

        def stream(self, body: JsonObject, *, timeout_s: float) -> Any:
            raise NotImplementedError

        async def close(self) -> None:
            """Nothing to close."""

    async def ask() -> ToolAnswer:
        return await AsyncClient(engine=Later()).call_tools([Pay], "Pay.", tool_choice="required")

    assert asyncio.run(ask()).calls


def test_what_is_sent(client: Client) -> None:
    sent: list[JsonObject] = []

    class Seeing:
        def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
            sent.append(copy.deepcopy(body))
            return client.transport.complete(body, timeout_s=timeout_s)

        def __getattr__(self, name: str) -> Any:
            return getattr(client.transport, name)

    seeing: Any = Seeing()
    Client(engine=seeing, model="scripted").call_tools(
        [Meeting], "Plan.", tool_choice=Meeting, parallel=False, seed=3
    )
    (body,) = sent
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Meeting"}}
    assert body["parallel_tool_calls"] is False
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "Meeting",
                "description": "Plan a meeting\non one day.",
                "strict": True,
                "parameters": fs.spec(Meeting).document,
            },
        }
    ]


class _Answering:
    """Answers with what it is given."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        found: JsonObject = self._answer
        return found

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def answered(*, echo: str | None = None, name: str = "Even", arguments: str = '{"n": 2}') -> Any:
    function = {"name": name, "arguments": arguments}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    answer: dict[str, Any] = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return answer if echo is None else answer | {"factorspec": {"tools": {"Even": echo}}}


class Even(BaseModel):
    n: Annotated[int, Field(ge=0, le=9)]

    @field_validator("n")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


def call_even(answer: Any) -> ToolAnswer:
    made: Any = _Answering(answer)
    return Client(engine=made, model="x").call_tools([Even], "Two?")


def test_a_server_that_does_not_confirm_is_not_believed() -> None:
    spec_hash = fs.spec(Even).hash
    assert call_even(answered(echo=spec_hash)).calls[0].arguments == Even(n=2)
    for echo in (None, "other"):
        with pytest.raises(UnenforcedAnswer):
            call_even(answered(echo=echo))


def test_arguments_are_validated_again() -> None:
    spec_hash = fs.spec(Even).hash
    with pytest.raises(InvalidAnswer, match="must be even"):
        call_even(answered(echo=spec_hash, arguments='{"n": 3}'))
    with pytest.raises(fs.EngineError, match="none of the tools"):
        call_even(answered(echo=spec_hash, name="Odd"))
    for broken in ({}, {"choices": [{"message": {"tool_calls": 3}}]}):
        with pytest.raises(fs.EngineError):
            call_even(broken | {"factorspec": {"tools": {"Even": spec_hash}}, "usage": {}})


@pytest.mark.parametrize(
    ("tools", "wishes", "message"),
    [
        ([], {}, "there are none"),
        ([Pay, Pay], {}, "another tool has this name"),
        ([Pay], {"tool_choice": "any"}, "is none that there is"),
        ([Pay], {"tool_choice": Meeting}, "is none that there is"),
        ([Pay], {"parallel": 1}, "must be True or False"),
        ([Pay], {"max_tokens": 0}, "max_tokens"),
    ],
)
def test_what_cannot_be_asked_for_is_told_before_anything_is_sent(
    tools: Any, wishes: Any, message: str
) -> None:
    made: Any = _Answering(None)
    with pytest.raises(fs.DeclarationError, match=message):
        Client(engine=made, model="x").call_tools(tools, "Pay.", **wishes)

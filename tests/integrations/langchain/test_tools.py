"""Tools that a chat model is bound to: what is sent for each, and which answers are taken."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_integrations.langchain.tools import says_more
from tests.client.canned import GOOD, Stay
from tests.integrations.langchain.scripted import calls, chat, enforced, sent


@tool
def weather(city: str, days: int = 1) -> str:
    """Tell the weather.

    Args:
        city: where.
        days: how many.
    """
    return f"{city} {days}"


@tool(args_schema=Stay)
def book(**given: Any) -> str:
    """Book a stay."""
    return str(given)


class Plain(BaseModel):
    """Nothing that JSON Schema does not say."""

    a: int
    b: Annotated[str, Field(max_length=4)] = "x"


class Inner(BaseModel):
    at: Annotated[int, fs.Between(1, 9, step=2)]


class Outer(BaseModel):
    inner: list[Inner] = []


def bound(*tools: Any, **wishes: Any) -> dict[str, Any]:
    """What is sent with tools."""
    llm, canned = chat("fine")
    llm.bind_tools(tools, **wishes).invoke("hi", require_enforced=False)
    return sent(canned)


def parameters(one: Any) -> Any:
    return bound(one)["tools"][0]["function"]["parameters"]


def test_plain_tools_are_sent_as_langchain_writes_them() -> None:
    (entry,) = bound(weather)["tools"]
    assert entry["type"] == "function"
    function = entry["function"]
    assert (function["name"], function["description"].splitlines()[0]) == ("weather", "Tell the weather.")
    assert function["parameters"]["required"] == ["city"]
    assert "x-factorspec" not in json.dumps(bound(weather, Plain)["tools"])


@pytest.mark.parametrize(
    "one",
    [
        Stay,
        book,
        StructuredTool(name="Stay", description="A stay.", args_schema=fs.document(Stay)),
        {"type": "function", "function": {"name": "Stay", "parameters": fs.document(Stay)}},
        {"name": "Stay", "parameters": fs.document(Stay)},
    ],
)
def test_relations_are_sent_whole(one: Any) -> None:
    sent_parameters = parameters(one)
    assert sent_parameters["x-factorspec"] == fs.document(Stay)["x-factorspec"]
    assert fs.document(Stay)["properties"] == sent_parameters["properties"]


def test_a_bound_model_is_a_tool_with_its_values() -> None:
    class Pick(BaseModel):
        city: Annotated[str, fs.In("known")]

    assert parameters(fs.bind(Pick, known=["Oslo", "Köln"]))["properties"]["city"]["enum"] == ["Oslo", "Köln"]
    with pytest.raises(fs.BindingError, match="known"):
        bound(Pick)


def test_what_says_more_than_json_schema() -> None:
    assert [says_more(model) for model in (Plain, Inner, Outer, Stay)] == [False, True, True, True]


def test_injected_arguments_stay_outside() -> None:
    @tool
    def pay(amount: int, token: Annotated[str, InjectedToolArg]) -> str:
        """Pay."""
        return f"{amount} {token}"

    assert list(parameters(pay)["properties"]) == ["amount"]

    @fs.le("amount", "most", name="within")
    class Paid(BaseModel):
        amount: Annotated[int, Field(ge=1, le=9)]
        most: Annotated[int, Field(ge=1, le=9), InjectedToolArg]

    with pytest.raises(fs.DeclarationError, match="most"):
        bound(StructuredTool(name="pay", description="Pay.", args_schema=Paid))


def test_aliases_are_refused_where_langchain_would_drop_them() -> None:
    @fs.ge("amount", 2, name="some")
    class Aliased(BaseModel):
        amount: Annotated[int, Field(ge=1, le=9, alias="sum")]

    assert list(parameters(Aliased)["properties"]) == ["sum"]
    with pytest.raises(fs.DeclarationError, match="drop the alias"):
        bound(StructuredTool(name="pay", description="Pay.", args_schema=Aliased))


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (None, None),
        (False, None),
        ("auto", "auto"),
        ("none", "none"),
        ("any", "required"),
        ("required", "required"),
        (True, "required"),
        ("weather", {"type": "function", "function": {"name": "weather"}}),
        (
            {"type": "function", "function": {"name": "book"}},
            {"type": "function", "function": {"name": "book"}},
        ),
    ],
)
def test_choices(choice: Any, told: Any) -> None:
    assert bound(weather, book, tool_choice=choice).get("tool_choice") == told


def test_a_choice_of_no_tool_is_refused() -> None:
    with pytest.raises(fs.DeclarationError, match="'weather', 'book'"):
        bound(weather, book, tool_choice="wether")


def test_other_fields_travel() -> None:
    body = bound(weather, parallel_tool_calls=False, strict=True, seed=4, response_format=Stay)
    assert (body["parallel_tool_calls"], body["seed"]) == (False, 4)
    assert body["tools"][0]["function"]["strict"] is True
    assert body["response_format"]["json_schema"]["schema"] == fs.document(Stay)


def test_arguments_with_relations_have_to_be_confirmed() -> None:
    echo = {"book": fs.spec(Stay).hash}
    right, silent, other = (
        calls(("book", GOOD), echo=echo),
        calls(("book", GOOD)),
        calls(("book", GOOD), echo={"book": "another"}),
    )
    llm, _ = chat(right, silent, other, silent)
    asked = llm.bind_tools([book, weather], tool_choice="any")
    assert asked.invoke("hi").tool_calls[0]["args"] == GOOD
    with pytest.raises(fs.NotEnforced, match="parameters of 'book'"):
        asked.invoke("hi")
    with pytest.raises(fs.NotEnforced, match="other parameters of 'book'"):
        asked.invoke("hi")
    assert llm.bind_tools([weather]).invoke("hi").tool_calls


def test_a_record_or_calls() -> None:
    wanted = {"response_format": Stay}
    llm, _ = chat(calls(("weather", {"city": "Oslo"})), enforced(Stay, GOOD), json.dumps(GOOD))
    asked = llm.bind_tools([weather], **wanted)  # type: ignore[arg-type]
    assert asked.invoke("hi").tool_calls[0]["name"] == "weather"
    assert json.loads(asked.invoke("hi").text) == GOOD
    with pytest.raises(fs.NotEnforced):
        asked.invoke("hi")


def test_a_model_may_be_set_to_one_call_at_a_time() -> None:
    llm, canned = chat("a", "b", "c", parallel_tool_calls=False)
    llm.bind_tools([weather]).invoke("hi")
    llm.bind_tools([weather], parallel_tool_calls=True).invoke("hi")
    llm.invoke("hi")
    assert [body.get("parallel_tool_calls") for body in canned.bodies] == [False, True, None]

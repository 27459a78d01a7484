"""The tool for agents: a valid record, or an error that an agent can act on."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, cast

import pytest
from langchain_core.messages import ToolMessage
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_integrations.langchain import ChatFactorSpec, RecordTool
from tests.client.canned import GOOD, Stay
from tests.integrations.langchain.scripted import chat, enforced
from tests.server.http.serving import serving


class Limits(BaseModel):
    """What the guest said."""

    budget: Annotated[int, Field(ge=1, le=100)]
    menu: dict[str, int]


@fs.all_different("dishes[*]", name="each once")
class Meal(BaseModel):
    """A meal within the budget."""

    dishes: Annotated[list[Annotated[str, fs.In("menu")]], Field(min_length=2, max_length=3)]

    @fs.relation("within the budget")
    def cheap(self, given: Limits) -> bool:
        return fs.total(given.menu[dish] for dish in self.dishes) <= given.budget


def called(tool: RecordTool, **given: Any) -> ToolMessage:
    """What an agent reads."""
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": given}
    message = cast(ToolMessage, tool.invoke(call))
    assert asyncio.run(tool.ainvoke(call)).content == message.content
    return message


MENU = {"soup": 3, "bread": 7, "tea": 9}


def test_the_record_and_the_parameters_that_make_it_impossible() -> None:
    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url, temperature=0)
        tool = RecordTool.of(Meal, llm, parameters=Limits)
        assert (tool.name, tool.description) == ("Meal", "A meal within the budget.")
        assert set(tool.args) == {"budget", "menu", "request"}
        good = called(tool, budget=10, menu=MENU, request="A meal.")
        assert good.status == "success"
        assert sorted(good.artifact.dishes) == ["bread", "soup"]
        assert Meal.model_validate_json(str(good.content)) == Meal(dishes=good.artifact.dishes)
        dear = called(tool, budget=9, menu=MENU, request="A meal.")
        assert dear.status == "error"
        assert "'within the budget' cannot hold together" in str(dear.content)
        empty = called(tool, budget=9, menu={}, request="A meal.")
        assert "'menu' is empty" in str(empty.content)
        few = called(tool, budget=9, menu={"tea": 1}, request="A meal.")
        assert "'each once'" in str(few.content)


def test_wrong_arguments_are_named() -> None:
    tool = RecordTool.of(Meal, chat()[0], parameters=Limits)
    wrong = called(tool, budget="much", request="A meal.")
    assert wrong.status == "error"
    assert "budget: Input should be a valid integer" in str(wrong.content)
    assert "menu: Field required" in str(wrong.content)


def test_a_record_without_parameters() -> None:
    llm, canned = chat(enforced(Stay, GOOD), enforced(Stay, GOOD))
    tool = RecordTool.of(Stay, llm, name="book", description="Books.", max_tokens=50)
    assert called(tool, request="Two nights in Oslo.").artifact == Stay(**GOOD)
    assert set(tool.args) == {"request"}
    assert canned.bodies[0]["max_tokens"] == 50
    assert canned.said(0) == [{"role": "user", "content": "Two nights in Oslo."}]


def test_relations_among_the_parameters_hold_for_the_agent_s_call() -> None:
    @fs.le("low", "high", name="a range")
    class Range(BaseModel):
        low: Annotated[int, Field(ge=1, le=9)]
        high: Annotated[int, Field(ge=1, le=9)]

    class Pick(BaseModel):
        number: Annotated[int, Field(ge=1, le=9)]

        @fs.relation("in the range")
        def inside(self, given: Range) -> bool:
            return fs.both(given.low <= self.number, self.number <= given.high)

    tool = RecordTool.of(Pick, chat()[0], parameters=Range)
    llm, canned = chat("fine")
    llm.bind_tools([tool]).invoke("hi", require_enforced=False)
    listed: Any = canned.bodies[0]["tools"]
    (relation,) = listed[0]["function"]["parameters"]["x-factorspec"]["relations"]
    assert relation["name"] == "a range"


def test_what_an_agent_cannot_mend_is_raised() -> None:
    llm, _ = chat(fs.ConnectionLost("gone"), fs.ConnectionLost("gone"))
    tool = RecordTool.of(Stay, llm)
    with pytest.raises(fs.ConnectionLost):
        tool.invoke({"request": "A stay."})
    with pytest.raises(fs.BindingError, match="menu"):
        RecordTool.of(Meal, llm)


def test_aliases_are_refused_since_langchain_would_drop_them() -> None:
    class Aliased(BaseModel):
        budget: int = Field(alias="max")

    with pytest.raises(fs.DeclarationError, match="drop the alias"):
        RecordTool.of(Meal, chat()[0], parameters=Aliased)

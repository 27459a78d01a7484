"""Agents, graphs, tools and records with SmolLM2, over HTTP."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from examples import langchain_agent
from factorspec_integrations import with_relations
from factorspec_integrations.langchain import ChatFactorSpec

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(300)]


@fs.sum_of("lines[*]", eq="total", name="adds up")
@fs.all_different("lines[*]", name="no price twice")
class Bill(BaseModel):
    """A bill."""

    lines: Annotated[list[Annotated[int, Field(ge=1, le=50)]], Field(min_length=2, max_length=3)]
    total: Annotated[int, Field(ge=1, le=30)]


@tool(args_schema=Bill)
def pay(lines: list[int], total: int) -> str:
    """Pay a bill."""
    return "paid" if sum(lines) == total and len(set(lines)) == len(lines) else "wrong"


@tool
def weather(location: str) -> str:
    """Get weather at a location."""
    return f"It is sunny in {location}."


@pytest.fixture
def llm(smollm2_url: str) -> ChatFactorSpec:
    return ChatFactorSpec(base_url=smollm2_url, max_tokens=60, parallel_tool_calls=False)


def test_arguments_keep_their_relations(llm: ChatFactorSpec) -> None:
    asked = llm.bind_tools([pay, weather], tool_choice="pay")
    for temperature in (0.0, 1.5):
        message = asked.invoke("Pay three things for 20.", temperature=temperature, seed=4)
        (call,) = message.tool_calls
        assert pay.invoke(call["args"]) == "paid"
        report = message.response_metadata["factorspec"]["report"]
        assert [verdict["outcome"] for verdict in report["calls"][0]["relations"]] == ["holds", "holds"]


def test_a_call_goes_round_and_its_answer_is_read(llm: ChatFactorSpec) -> None:
    question = HumanMessage("What is the weather in San Francisco, CA?")
    called = llm.bind_tools([weather], tool_choice="any").invoke([question])
    answer = weather.invoke(called.tool_calls[0])
    assert "San Francisco" in answer.content
    assert llm.bind_tools([weather], tool_choice="none").invoke([question, called, answer]).text


@pytest.mark.parametrize("strategy", [lambda schema: schema, ToolStrategy])
def test_an_agent_writes_the_record(llm: ChatFactorSpec, strategy: Any) -> None:
    agent: Any = create_agent(llm, [], response_format=strategy(with_relations(Bill)))
    found = agent.invoke({"messages": [HumanMessage("A bill for tea and soup.")]})
    bill = found["structured_response"]
    assert type(bill) is Bill
    assert sum(bill.lines) == bill.total


def test_records_in_every_way_that_langchain_has(llm: ChatFactorSpec) -> None:
    async def parts(asked: Any) -> list[Any]:
        return [part async for part in asked.astream("A bill.")]

    for method in ("json_schema", "function_calling"):
        asked = llm.with_structured_output(Bill, method=method)
        bill = asked.invoke("A bill.")
        assert bill == asyncio.run(asked.ainvoke("A bill.")) == asyncio.run(parts(asked))[-1]
        assert asked.batch(["A bill.", "A bill."]) == [bill, bill]
        whole = llm.with_structured_output(Bill, method=method, include_raw=True)
        told = whole.invoke("A bill.")["raw"].response_metadata["factorspec"]
        assert told["spec_hash"] == fs.spec(Bill).hash
        assert told["report"]["relations"][0]["outcome"] == "holds"


def test_a_graph_calls_a_tool(llm: ChatFactorSpec) -> None:
    graph = StateGraph(MessagesState)
    bound = llm.bind_tools([pay], tool_choice="any")
    graph.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([pay]))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    asking: Any = {"messages": [HumanMessage("Pay for tea and soup.")]}
    last = graph.compile().invoke(asking)["messages"][-1]
    assert isinstance(last, ToolMessage)
    assert last.content == "paid"


def test_the_example(llm: ChatFactorSpec, capsys: pytest.CaptureFixture[str]) -> None:
    langchain_agent.main(llm)
    order, refused = capsys.readouterr().out.split("\n", 1)
    lines = dict(re.findall(r"Line\(dish='([^']+)', price=(\d+)\)", order))
    assert len(lines) >= 2
    assert all(int(price) == langchain_agent.MENU[dish] for dish, price in lines.items())
    (total,) = re.findall(r"total=(\d+)", order)
    assert sum(map(int, lines.values())) == int(total) <= 10
    assert "'within the budget'" in refused
    assert "cannot hold together" in refused

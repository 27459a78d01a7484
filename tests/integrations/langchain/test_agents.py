"""Agents of LangChain and graphs of LangGraph, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import factorspec_sdk as fs
from factorspec_integrations import with_relations
from factorspec_integrations.langchain import RecordTool
from tests.client.canned import BAD, GOOD, Stay
from tests.integrations.langchain.scripted import calls, chat, enforced, sent

WHOLE = with_relations(Stay)


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


def asked(agent: Any, text: str = "A stay.") -> dict[str, Any]:
    found: dict[str, Any] = agent.invoke({"messages": [HumanMessage(text)]})
    return found


def vendor(body: dict[str, Any]) -> Any:
    return body["response_format"]["json_schema"]["schema"]["x-factorspec"]


@pytest.mark.parametrize("response_format", [WHOLE, ProviderStrategy(WHOLE)])
def test_an_agent_calls_tools_and_then_writes_the_record(response_format: Any) -> None:
    llm, canned = chat(calls(("weather", {"city": "Oslo"})), enforced(WHOLE, GOOD))
    found = asked(create_agent(llm, [weather], response_format=response_format))
    assert found["structured_response"] == Stay(**GOOD)
    assert [message.type for message in found["messages"]] == ["human", "ai", "tool", "ai"]
    assert found["messages"][2].content == "sunny in Oslo"
    for at in (0, 1):
        assert vendor(sent(canned, at)) == fs.document(Stay)["x-factorspec"]


def test_a_document_gives_a_dictionary() -> None:
    document = fs.document(Stay) | {"title": "Stay"}
    llm, _ = chat(enforced(document, GOOD))
    assert asked(create_agent(llm, [], response_format=document))["structured_response"] == GOOD


def test_the_record_as_a_tool_call() -> None:
    echo = {"Stay": fs.spec(Stay).hash}
    llm, canned = chat(calls(("weather", {"city": "Oslo"}), echo=echo), calls(("Stay", GOOD), echo=echo))
    found = asked(create_agent(llm, [weather], response_format=ToolStrategy(WHOLE)))
    assert found["structured_response"] == Stay(**GOOD)
    body = sent(canned)
    assert body["tool_choice"] == "required"
    assert body["tools"][1]["function"]["parameters"]["x-factorspec"] == fs.document(Stay)["x-factorspec"]


def test_a_tool_call_that_no_server_confirms_is_an_error() -> None:
    llm, _ = chat(calls(("Stay", GOOD)))
    with pytest.raises(fs.NotEnforced, match="'Stay'"):
        asked(create_agent(llm, [], response_format=ToolStrategy(WHOLE)))


def test_without_relations_in_the_schema_the_class_still_checks_the_record() -> None:
    plain = Stay.model_json_schema()
    llm, _ = chat(enforced(plain, BAD))
    with pytest.raises(Exception, match="each once"):
        asked(create_agent(llm, [], response_format=ProviderStrategy(Stay)))


def test_asyncio_and_streams() -> None:
    async def run(agent: Any) -> Any:
        return (await agent.ainvoke({"messages": [HumanMessage("A stay.")]}))["structured_response"]

    llm, _ = chat(enforced(WHOLE, GOOD), enforced(WHOLE, GOOD))
    agent = create_agent(llm, [], response_format=WHOLE)
    assert asyncio.run(run(agent)) == Stay(**GOOD)
    pieces = [
        str(cast(AIMessage, chunk).text)
        for chunk, _ in agent.stream({"messages": [HumanMessage("A stay.")]}, stream_mode="messages")
    ]
    assert json.loads("".join(pieces)) == GOOD
    assert len(pieces) > 5


def test_an_agent_reads_why_there_is_no_record_and_asks_otherwise() -> None:
    conflict = fs.Unsatisfiable("no record exists", conflict=["in order", "each once"])
    writer, _ = chat(conflict, enforced(Stay, GOOD))
    book = RecordTool.of(Stay, writer, name="book")
    llm, canned = chat(
        calls(("book", {"request": "An impossible stay."})),
        calls(("book", {"request": "A stay."})),
        "Booked.",
    )
    found = asked(create_agent(llm, [book]))
    first, second = [message for message in found["messages"] if isinstance(message, ToolMessage)]
    assert (first.status, second.status) == ("error", "success")
    assert second.artifact == Stay(**GOOD)
    assert "'in order', 'each once' cannot hold together" in canned.said(1)[-1]["content"]
    assert found["messages"][-1].text == "Booked."


def test_a_graph_with_a_model_tools_and_a_record() -> None:
    class State(MessagesState):
        stay: Stay

    llm, canned = chat(calls(("weather", {"city": "Oslo"})), "It is sunny.", enforced(Stay, GOOD))
    talker, writer = llm.bind_tools([weather]), llm.with_structured_output(Stay)

    def talk(state: State) -> dict[str, Any]:
        return {"messages": [talker.invoke(state["messages"])]}

    def write(state: State) -> dict[str, Any]:
        return {"stay": writer.invoke(state["messages"])}

    graph = StateGraph(State)
    graph.add_node("talk", talk)
    graph.add_node("tools", ToolNode([weather]))
    graph.add_node("write", write)
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", tools_condition, {"tools": "tools", END: "write"})
    graph.add_edge("tools", "talk")
    graph.add_edge("write", END)
    asking: Any = {"messages": [HumanMessage("Where is it sunny?")]}
    found = graph.compile().invoke(asking)
    assert found["stay"] == Stay(**GOOD)
    assert isinstance(found["messages"][-1], AIMessage)
    assert [message["role"] for message in canned.said(2)] == ["user", "assistant", "tool", "assistant"]

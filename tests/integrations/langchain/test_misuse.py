"""What a chat model cannot send is told in the SDK's words; what it used does not hinder pickling."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_integrations.langchain import ChatFactorSpec
from tests.integrations.langchain.scripted import chat, enforced
from tests.server.http.serving import serving


class Pay(BaseModel):
    """Pay an amount."""

    amount: Literal[10, 20, 50]


class Bill(BaseModel):
    """Write a bill."""

    parts: list[Annotated[Decimal, Field(decimal_places=2, ge=0, le=9)] | None]


class Free(BaseModel):
    """Any amount."""

    amount: Decimal


def test_a_text_that_is_half_a_pair_is_told() -> None:
    llm, _ = chat("ok")
    with pytest.raises(fs.DeclarationError, match=r"messages\[0\]: holds half a surrogate pair"):
        llm.invoke("\ud800")


@pytest.mark.parametrize("given", [3, None, b"Pay."], ids=repr)
def test_what_is_no_prompt_is_told_for_each(given: Any) -> None:
    llm, _ = chat(enforced(Pay, {"amount": 10}))
    runnable = llm.with_structured_output(Pay)
    found = runnable.batch([given, "Pay."], config={"max_concurrency": 1}, return_exceptions=True)
    assert found[1] == Pay(amount=10)
    assert isinstance(found[0], fs.DeclarationError)
    assert "input: is no prompt" in str(found[0])


@pytest.mark.parametrize("given", [Pay, None, "Pay"], ids=repr)
def test_what_is_no_list_of_tools(given: Any) -> None:
    llm, _ = chat("ok")
    with pytest.raises(fs.DeclarationError, match="tools: are no list of tools"):
        llm.bind_tools(given)


def test_amounts_keep_their_places_and_bounds() -> None:
    llm, canned = chat("ok", "ok")

    @tool
    def other(amount: Decimal) -> str:
        """Take an amount."""
        return str(amount)

    llm.bind_tools([Bill, Free, other]).invoke("x", require_enforced=False)
    sent = {one["function"]["name"]: one["function"]["parameters"] for one in _tools(canned.bodies[0])}
    assert sent["Bill"] == fs.document(Bill)
    assert "x-factorspec" not in sent["Free"]
    assert "x-factorspec" not in sent["other"]


def test_a_chat_model_that_was_used_can_be_pickled() -> None:
    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url, max_tokens=3)
        said = llm.invoke("x").content
        again = pickle.loads(pickle.dumps(llm))
        assert again == llm
        assert again.invoke("x").content == said
        runnable = pickle.loads(pickle.dumps(ChatFactorSpec(base_url=server.url).with_structured_output(Pay)))
        assert isinstance(runnable.invoke("x"), Pay)


def _tools(body: Any) -> list[Any]:
    found: list[Any] = body["tools"]
    return found

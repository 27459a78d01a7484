"""``with_structured_output``: valid records, whoever writes them, and errors that say what is wrong."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Annotated, Any, Literal, TypedDict, cast

import pytest
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from pydantic import BaseModel
from pydantic.v1 import BaseModel as OldModel

import factorspec_sdk as fs
from factorspec_integrations.langchain import ChatFactorSpec
from factorspec_integrations.langchain.refusals import ModelRefusalError
from factorspec_sdk.client import IncompleteAnswer, InvalidAnswer
from factorspec_sdk.client.transport import JsonObject
from tests.client.canned import BAD, GOOD, Stay, as_text, completion
from tests.integrations.langchain.scripted import REPORT, calls, chat, enforced, roles, sent
from tests.server.http.serving import serving


class Other(BaseModel):
    """Another spec."""

    city: Literal["Oslo", "Rome"]


def test_a_model_gives_instances_and_its_document_is_sent() -> None:
    llm, canned = chat(enforced(Stay, GOOD))
    stay = llm.with_structured_output(Stay).invoke("A stay.")
    assert stay == Stay(**GOOD)
    wanted = sent(canned)["response_format"]["json_schema"]
    assert wanted == {"name": "Stay", "strict": True, "schema": fs.document(Stay)}
    assert roles(canned.said(0)) == ["user"]


@pytest.mark.parametrize(
    "schema",
    [
        fs.document(Stay) | {"title": "Stay"},
        {"name": "Stay", "schema": fs.document(Stay)},
        {"type": "json_schema", "json_schema": {"name": "Stay", "schema": fs.document(Stay)}},
        {"type": "function", "function": {"name": "Stay", "parameters": fs.document(Stay)}},
    ],
)
def test_documents_give_dictionaries(schema: dict[str, Any]) -> None:
    llm, canned = chat(enforced(fs.document(Stay) | {"title": "Stay"}, GOOD))
    assert llm.with_structured_output(schema).invoke("A stay.") == GOOD
    wanted = sent(canned)["response_format"]["json_schema"]
    assert (wanted["name"], wanted["schema"]["x-factorspec"]) == ("Stay", fs.document(Stay)["x-factorspec"])


def test_other_declarations_are_taken_too() -> None:
    class Joke(TypedDict):
        """A joke."""

        setup: str
        punchline: str

    class OldJoke(OldModel):
        setup: str
        punchline: str

    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url)
        assert sorted(llm.with_structured_output(Joke).invoke("A joke.")) == ["punchline", "setup"]
        for joke in llm.with_structured_output(OldJoke).stream("A joke."):
            assert isinstance(joke, OldJoke)
        assert sorted(joke.dict()) == ["punchline", "setup"]


def test_a_bound_model_keeps_its_values() -> None:
    class Known(BaseModel):
        city: Annotated[str, fs.In("known")]

    bound = fs.bind(Known, known=["Oslo", "Köln"])
    with serving() as server:
        picked = ChatFactorSpec(base_url=server.url).with_structured_output(bound).invoke("A city.")
    assert picked.city in ("Oslo", "Köln")
    assert isinstance(picked, Known)
    with pytest.raises(fs.BindingError, match="known"):
        ChatFactorSpec().with_structured_output(Known)


def test_prompts_batches_and_asyncio() -> None:
    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url)
        chain = ChatPromptTemplate.from_messages([("system", "Brief."), ("human", "{what}")]) | (
            llm.with_structured_output(Stay)
        )
        asked = [{"what": "A stay."}, {"what": "Another."}]
        found = [*chain.batch(asked), *asyncio.run(chain.abatch(asked))]
        assert [type(stay) for stay in found] == [Stay] * 4
        parts = list(chain.stream(asked[0]))
        assert isinstance(parts[-1], Stay)
        assert parts[-1].first <= parts[-1].last


def test_partial_records_hold_committed_fields_alone() -> None:
    llm, _ = chat(enforced(Stay, GOOD), enforced(Stay, GOOD))
    *parts, last = llm.with_structured_output(Stay).stream("A stay.")
    assert last == Stay(**GOOD)
    seen = [vars(part) for part in parts]
    assert {"cities": ["Oslo"]} in seen
    assert all(set(one) <= set(two) for one, two in pairwise(seen))
    assert not any("first" in part and part["first"] != 2 for part in seen)

    async def parts_of() -> list[Any]:
        return [part async for part in llm.with_structured_output(Stay).astream("A stay.")]

    assert asyncio.run(parts_of()) == [*parts, last]


# -- what is wrong ----------------------------------------------------------------------------------------


def test_a_silent_server_is_an_error() -> None:
    llm, _ = chat(as_text(GOOD), as_text(GOOD), enforced(Other, GOOD))
    with pytest.raises(fs.NotEnforced) as caught:
        llm.with_structured_output(Stay).invoke("A stay.")
    assert [attempt.text for attempt in caught.value.attempts] == [as_text(GOOD)]
    with pytest.raises(fs.NotEnforced):
        list(llm.with_structured_output(Stay).stream("A stay."))
    with pytest.raises(fs.NotEnforced, match="another spec"):
        llm.with_structured_output(Stay).invoke("A stay.")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (as_text(GOOD), fs.NotEnforced),
        (enforced(Stay, '{"cities": ["Os', finish_reason="length"), IncompleteAnswer),
        (enforced(Stay, BAD), InvalidAnswer),
    ],
)
def test_raw_answers_come_with_every_error(answer: Any, kind: type[Exception]) -> None:
    llm, _ = chat(answer, answer)
    asked = llm.with_structured_output(Stay, include_raw=True)
    for found in (asked.invoke("A stay."), asyncio.run(asked.ainvoke("A stay."))):
        assert isinstance(found["parsing_error"], kind)
        assert found["parsed"] is None
        assert isinstance(found["raw"], AIMessage)
        assert found["raw"].text


def test_without_an_answer_there_is_no_raw_one() -> None:
    llm, _ = chat(fs.Unsatisfiable("no record exists", conflict=["in order"]))
    with pytest.raises(fs.Unsatisfiable):
        llm.with_structured_output(Stay, include_raw=True).invoke("A stay.")


def test_raw_answers_tell_route_and_report() -> None:
    llm, _ = chat(enforced(Stay, GOOD))
    found = llm.with_structured_output(Stay, include_raw=True).invoke("A stay.")
    assert found["parsing_error"] is None
    told = found["raw"].response_metadata["factorspec"]
    assert (told["route"], told["spec_hash"]) == ("constrained", fs.spec(Stay).hash)
    assert found["raw"].usage_metadata["total_tokens"] == 15


def test_options_that_there_are_not_are_refused() -> None:
    llm, _ = chat()
    with pytest.raises(fs.DeclarationError) as caught:
        llm.with_structured_output(Stay, method="magic", tempreature=1)  # type: ignore[arg-type]
    assert [problem.place for problem in caught.value.problems] == ["tempreature", "method"]
    with pytest.raises(fs.DeclarationError, match="strategy"):
        llm.with_structured_output(Stay, strategy="hope")
    with pytest.raises(fs.DeclarationError, match="Pydantic model"):
        llm.with_structured_output(fs.document(Stay), strategy="retry")


def test_a_dictionary_that_no_server_enforced_is_never_taken() -> None:
    llm, _ = chat('{"cities": 3}')
    with pytest.raises(fs.NotEnforced):
        llm.with_structured_output(fs.document(Stay), strict=False).invoke("A stay.")


@pytest.mark.parametrize("schema", [int, list[int], None, 3])
def test_what_declares_no_record_is_refused(schema: Any) -> None:
    with pytest.raises(fs.DeclarationError, match="declares no record"):
        chat()[0].with_structured_output(schema)


# -- servers that enforce nothing -------------------------------------------------------------------------


def test_without_strictness_a_valid_answer_is_taken() -> None:
    llm, canned = chat(f"Here:\n{as_text(GOOD)}", as_text(BAD))
    asked = llm.with_structured_output(Stay, strict=False)
    assert asked.invoke("A stay.") == Stay(**GOOD)
    assert roles(canned.said(0)) == ["user"]
    with pytest.raises(InvalidAnswer, match="each once"):
        asked.invoke("A stay.")


def test_retry_names_what_is_broken_and_each_attempt_is_seen() -> None:
    usage = UsageMetadataCallbackHandler()
    llm, canned = chat(completion(as_text(BAD), model="m"), completion(as_text(GOOD), model="m"))
    asked = llm.with_structured_output(Stay, strategy="retry", include_raw=True)
    found = asked.invoke([HumanMessage("A stay.")], {"callbacks": [usage]})
    assert found["parsed"] == Stay(**GOOD)
    assert found["raw"].response_metadata["factorspec"]["route"] == "retry"
    assert roles(canned.said(1)) == ["system", "user", "assistant", "user"]
    assert "'each once'" in canned.said(1)[-1]["content"]
    assert "response_format" not in canned.bodies[0]
    assert usage.usage_metadata["m"]["total_tokens"] == 30


def test_repair_says_what_it_changed() -> None:
    llm, _ = chat(as_text(BAD))
    found = llm.with_structured_output(Stay, fallback="repair", include_raw=True).invoke("A stay.")
    told = found["raw"].response_metadata["factorspec"]
    assert told["route"] == "repair"
    assert len(told["changes"]) == 2
    assert found["parsed"].first <= found["parsed"].last


def test_what_may_be_taken_back_is_not_shown_early() -> None:
    llm, _ = chat(as_text(BAD), as_text(GOOD))
    assert list(llm.with_structured_output(Stay, strategy="retry").stream("A stay.")) == [Stay(**GOOD)]


def test_a_determined_record_needs_no_model() -> None:
    class Fixed(BaseModel):
        city: Literal["Oslo"]

    llm, canned = chat()
    asked = llm.with_structured_output(Fixed, skip_model=True, include_raw=True)
    found = asked.invoke("A city.")
    assert found["parsed"] == Fixed(city="Oslo")
    assert found["raw"].response_metadata["factorspec"] == {"route": "determined"}
    assert list(llm.with_structured_output(Fixed, skip_model=True).stream("A city.")) == [Fixed(city="Oslo")]
    assert canned.bodies == []


# -- as a tool call ---------------------------------------------------------------------------------------


def test_a_record_may_be_asked_for_as_a_tool_call() -> None:
    called = calls(("Stay", GOOD), echo={"Stay": fs.spec(Stay).hash})
    llm, canned = chat(called, calls(("Stay", GOOD)), called)
    asked = llm.with_structured_output(Stay, method="function_calling")
    assert asked.invoke("A stay.") == Stay(**GOOD)
    body = sent(canned)
    assert body["tools"][0]["function"]["parameters"] == fs.document(Stay)
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Stay"}}
    assert "response_format" not in body
    with pytest.raises(fs.NotEnforced):
        asked.invoke("A stay.")
    *parts, last = asked.stream("A stay.")
    assert last == Stay(**GOOD)
    assert parts


def test_traces_show_the_schema() -> None:
    llm, _ = chat(enforced(Stay, GOOD))
    shown: list[Any] = []

    class Handler(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, options: Any = None, **kwargs: Any) -> None:
            shown.append((options, kwargs["invocation_params"]))

    llm.with_structured_output(Stay).invoke("A stay.", {"callbacks": [Handler()]})
    ((options, _params),) = shown
    assert options["ls_structured_output_format"]["schema"]["title"] == "Stay"
    assert options["ls_structured_output_format"]["kwargs"] == {"method": "json_schema"}
    assert json.dumps(options)


def declined() -> JsonObject:
    answer: Any = enforced(Stay, "")
    answer["choices"][0]["message"]["refusal"] = "no beds"
    return cast(JsonObject, answer)


def test_a_model_that_declines_says_why() -> None:
    llm, canned = chat(*(declined() for _ in range(4)))
    asked = llm.with_structured_output(Stay, refusal=True)
    with pytest.raises(ModelRefusalError, match="no beds"):
        asked.invoke("A stay.")
    with pytest.raises(ModelRefusalError, match="no beds"):
        list(asked.stream("A stay."))
    assert sent(canned)["factorspec"] == {"refusal": True}
    found = llm.with_structured_output(Stay, refusal=True, include_raw=True).invoke("A stay.")
    assert isinstance(found["parsing_error"], ModelRefusalError)
    assert found["raw"].additional_kwargs == {"refusal": "no beds"}
    with pytest.raises(ModelRefusalError, match="no beds"):
        llm.with_structured_output(Stay, strict=False).invoke("A stay.")


def test_the_report_of_a_call_is_that_of_its_record() -> None:
    verdict = {"name": "in order", "place": "", "outcome": "holds", "enforced": True, "why": None}
    answer: Any = calls(("Stay", GOOD), echo={"Stay": fs.spec(Stay).hash})
    call = {"name": "Stay", "relations": [{**verdict, "explanation": None}], "objective": []}
    answer["factorspec"]["report"] = {**REPORT, "calls": [call]}
    llm, _ = chat(answer)
    asked = llm.with_structured_output(Stay, method="function_calling", include_raw=True)
    found = asked.invoke("A stay.")
    assert found["parsed"] == Stay(**GOOD)
    told = found["raw"].response_metadata["factorspec"]
    assert told["spec_hash"] == fs.spec(Stay).hash
    assert told["report"]["relations"] == call["relations"]

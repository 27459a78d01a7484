"""The chat model: what it sends, what it makes of answers, and what LangChain may do with it."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.load import dumps, load, loads
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.rate_limiters import InMemoryRateLimiter
from pydantic import ValidationError

import factorspec_sdk as fs
from factorspec_integrations.langchain import ChatFactorSpec
from tests.client.canned import GOOD, Stay, completion
from tests.integrations.langchain.scripted import calls, chat, enforced, sent
from tests.server.http.serving import serving

TRUSTED: Any = {"allowed_objects": [ChatFactorSpec], "valid_namespaces": ["factorspec_integrations"]}
IN_BETA = pytest.mark.filterwarnings("ignore:The function `loads?` is in beta")
KEY = "sk-secret-of-the-test"


# -- requests ---------------------------------------------------------------------------------------------


def test_settings_are_sent_and_a_call_goes_first() -> None:
    llm, canned = chat("a", "b", model="m", temperature=0.5, top_p=0.9, max_tokens=7, seed=3, stop=["x"])
    llm.invoke("hi")
    llm.invoke("hi", temperature=1, seed=None, stop=["y"], logprobs=True)
    whole = {"model": "m", "temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "seed": 3, "stop": ["x"]}
    assert sent(canned) == whole
    rest = {name: value for name, value in whole.items() if name != "seed"}
    assert sent(canned, 1) == rest | {"temperature": 1, "stop": ["y"], "logprobs": True}


def test_nothing_is_sent_that_says_nothing() -> None:
    llm, canned = chat("a", stop=[])
    llm.invoke("hi")
    assert sent(canned) == {"model": "canned", "temperature": 0.0}


def test_a_stop_is_for_texts() -> None:
    llm, canned = chat(enforced(Stay, GOOD), "a", "b", stop=["x"])
    llm.invoke("hi", response_format=Stay)
    llm.invoke("hi", tools=[{"type": "function"}], tool_choice="required")
    llm.invoke("hi", tools=[{"type": "function"}], tool_choice="auto")
    assert [body.get("stop") for body in canned.bodies] == [None, None, ["x"]]


def test_the_conversation_is_sent_as_openai_has_it() -> None:
    llm, canned = chat("done")
    llm.invoke([
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "Köln"}, "?"], name="Eva"),
        AIMessage(
            [{"type": "text", "text": "I see."}, {"type": "tool_use", "id": "1", "name": "look"}],
            tool_calls=[tool_call(name="look", args={"at": "Köln"}, id="1")],
            invalid_tool_calls=[invalid_tool_call(name="look", args="{", id="2", error="no JSON")],
        ),
        ToolMessage("sunny", tool_call_id="1", name="look"),
        ChatMessage(content="Now.", role="developer"),
    ])  # fmt: skip
    system, human, assistant, tool, developer = canned.said(0)
    assert system == {"role": "system", "content": "Be brief."}
    assert human["name"] == "Eva"
    assert assistant["content"] == "I see."
    assert [call["function"] for call in assistant["tool_calls"]] == [
        {"name": "look", "arguments": '{"at": "Köln"}'},
        {"name": "look", "arguments": "{"},
    ]
    assert (tool["role"], tool["tool_call_id"], tool["content"]) == ("tool", "1", "sunny")
    assert developer["role"] == "developer"


def test_any_field_travels_and_the_server_refuses_what_it_does_not_know() -> None:
    llm, canned = chat("a")
    llm.invoke("hi", extra_body={"top_k": 4}, min_p=0.1)
    assert (sent(canned)["top_k"], sent(canned)["min_p"]) == (4, 0.1)
    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url, max_tokens=5)
        assert llm.invoke("hi", top_k=1).text
        with pytest.raises(fs.DocumentError, match="/frobnicate: unknown field"):
            llm.invoke("hi", frobnicate=1)
        with pytest.raises(fs.DocumentError, match="/messages"):
            llm.invoke([])


# -- answers ----------------------------------------------------------------------------------------------


def test_an_answer_tells_where_it_came_from() -> None:
    llm, _ = chat(completion("hello", model="m", id="chatcmpl-1", system_fingerprint="f"))
    message = llm.invoke("hi")
    assert (message.text, message.id) == ("hello", "chatcmpl-1")
    told = message.response_metadata
    assert (told["model_name"], told["finish_reason"], told["system_fingerprint"]) == ("m", "stop", "f")
    assert message.usage_metadata == {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


def test_every_choice_is_a_generation() -> None:
    answer: Any = completion("one", model="m")
    answer["choices"].append({"index": 1, "message": {"content": "two"}, "finish_reason": "stop"})
    llm, _ = chat(answer)
    (found,) = llm.generate([[HumanMessage("hi")]], n=2).generations
    assert [one.text for one in found] == ["one", "two"]


def test_calls_are_read_and_broken_ones_are_kept() -> None:
    llm, _ = chat(calls(("look", {"at": "Köln"}), ("look", "{no json")))
    message = llm.invoke("hi")
    assert message.tool_calls == [tool_call(name="look", args={"at": "Köln"}, id="call_0")]
    (invalid,) = message.invalid_tool_calls
    assert (invalid["name"], invalid["args"], invalid["id"]) == ("look", "{no json", "call_1")


def test_a_refusal_is_kept() -> None:
    answer: Any = completion("")
    answer["choices"][0]["message"]["refusal"] = "no flights"
    llm, _ = chat(answer)
    assert llm.invoke("hi").additional_kwargs == {"refusal": "no flights"}


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [3]}, {"choices": [{"message": None}]}])
def test_what_is_no_answer_is_told(answer: Any) -> None:
    llm, _ = chat(answer)
    with pytest.raises(fs.EngineError, match="no message"):
        llm.invoke("hi")


def test_a_stream_brings_text_then_usage() -> None:
    llm, _ = chat(completion("hello there", model="m"))
    chunks = list(llm.stream("hi"))
    assert "".join(str(chunk.text) for chunk in chunks) == "hello there"
    assert len(chunks) > 3
    assert [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata] == [
        {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    ]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.response_metadata["model_name"] == "m"


def test_a_stream_brings_calls_in_pieces() -> None:
    llm, _ = chat(calls(("look", {"at": "Köln"}), ("look", {"at": "Oslo"})))
    whole, *chunks = llm.stream("hi")
    for chunk in chunks:
        whole += chunk
    assert isinstance(whole, AIMessageChunk)
    assert [call["args"] for call in whole.tool_calls] == [{"at": "Köln"}, {"at": "Oslo"}]
    assert [call["id"] for call in whole.tool_calls] == ["call_0", "call_1"]


# -- errors of the SDK ------------------------------------------------------------------------------------


def test_errors_keep_their_class_and_their_relations() -> None:
    error = fs.Unsatisfiable("no record exists", conflict=["adds up", "cheap"])
    llm, _ = chat(error, error, error)
    for call in (llm.invoke, llm.with_structured_output(Stay).invoke, lambda text: list(llm.stream(text))):
        with pytest.raises(fs.Unsatisfiable) as caught:
            call("hi")
        assert caught.value.conflict == ("adds up", "cheap")


def test_an_infeasible_record_is_told_over_http_by_the_names_of_its_relations() -> None:
    @fs.le("first", "last", name="in order")
    @fs.gt("first", "last", name="backwards")
    class Twisted(Stay):
        pass

    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url)
        with pytest.raises(fs.Unsatisfiable, match=r"'in order'(.|\n)*'backwards'"):
            llm.with_structured_output(Twisted).invoke("hi")
        with pytest.raises(fs.Unsatisfiable, match=r"'in order'(.|\n)*'backwards'"):
            asyncio.run(llm.with_structured_output(Twisted).ainvoke("hi"))
        with pytest.raises(fs.DocumentError, match="image_url"):
            llm.invoke([HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}])])


def test_a_server_that_is_not_there_is_told() -> None:
    llm = ChatFactorSpec(base_url="http://127.0.0.1:9/v1", max_retries=0, model="m")
    with pytest.raises(fs.ConnectionLost, match="is the server running"):
        llm.invoke("hi")
    with pytest.raises(fs.ConnectionLost, match="is the server running"):
        asyncio.run(llm.ainvoke("hi"))


def test_a_response_format_that_no_server_confirms_is_an_error() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "stay", "schema": fs.document(Stay)}}
    llm, _ = chat(json.dumps(GOOD), json.dumps(GOOD), enforced(Stay, GOOD), json.dumps(GOOD))
    bound = llm.bind(response_format=wanted)
    with pytest.raises(fs.NotEnforced):
        bound.invoke("hi")
    with pytest.raises(fs.NotEnforced):
        list(bound.stream("hi"))
    assert json.loads(bound.invoke("hi").text) == GOOD
    assert json.loads(bound.invoke("hi", require_enforced=False).text) == GOOD


# -- what LangChain does ----------------------------------------------------------------------------------


def test_one_model_serves_several_event_loops_one_after_the_other() -> None:
    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url, max_tokens=5)
        for _ in range(2):
            assert asyncio.run(llm.ainvoke("hi")).text
        assert len(asyncio.run(llm.abatch(["a", "b", "c"]))) == 3
        assert len(llm.batch(["a", "b"])) == 2


def test_nothing_is_kept_of_an_event_loop_that_ended() -> None:
    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url, max_tokens=5)
        for _ in range(3):
            asyncio.run(llm.ainvoke("hi"))
        assert len(llm._answering._by_loop) == 0


def test_a_cache_tells_settings_apart() -> None:
    cache = InMemoryCache()
    first, canned = chat("a", "never asked for", cache=cache)
    assert [first.invoke("hi").text for _ in range(2)] == ["a", "a"]
    assert len(canned.bodies) == 1
    other, _ = chat("b", temperature=1.0, cache=cache)
    assert other.invoke("hi").text == "b"
    assert ChatFactorSpec(model="a")._get_llm_string() != ChatFactorSpec(model="b")._get_llm_string()


def test_a_class_may_be_bound_as_response_format() -> None:
    llm, canned = chat(enforced(Stay, GOOD))
    assert json.loads(llm.bind(response_format=Stay).invoke("hi").text) == GOOD
    assert sent(canned)["response_format"]["json_schema"]["schema"] == fs.document(Stay)


def test_streams_over_http_and_asyncio() -> None:
    async def parts(llm: ChatFactorSpec) -> list[str]:
        return [str(chunk.text) async for chunk in llm.astream("hi")]

    with serving() as server:
        llm = ChatFactorSpec(base_url=server.url, max_tokens=20)
        whole = str(llm.invoke("hi").text)
        assert "".join(asyncio.run(parts(llm))) == "".join(str(one.text) for one in llm.stream("hi")) == whole


def test_an_engine_in_this_process_is_asked_on_threads() -> None:
    async def parts(llm: ChatFactorSpec) -> list[str]:
        return [str(chunk.text) async for chunk in llm.astream("hi")]

    llm, _ = chat("hello", "hello there")
    assert asyncio.run(llm.ainvoke("hi")).text == "hello"
    assert "".join(asyncio.run(parts(llm))) == "hello there"


def test_callbacks_see_tokens_usage_and_limits() -> None:
    class Tokens(BaseCallbackHandler):
        def __init__(self) -> None:
            self.seen = ""

        def on_llm_new_token(self, token: Any, **_: Any) -> None:
            self.seen += token

    class Limiter(InMemoryRateLimiter):
        asked = 0

        def acquire(self, *, blocking: bool = True) -> bool:
            Limiter.asked += 1
            return True

    usage, tokens = UsageMetadataCallbackHandler(), Tokens()
    llm, _ = chat(completion("hello", model="m"), completion("hello", model="m"), rate_limiter=Limiter())
    config: Any = {"callbacks": [usage, tokens]}
    llm.invoke("hi", config)
    list(llm.stream("hi", config))
    assert tokens.seen == "hello"
    assert usage.usage_metadata["m"]["total_tokens"] == 30
    assert Limiter.asked == 2


@IN_BETA
def test_keys_leak_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORSPEC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "of another service")
    llm = ChatFactorSpec(model="m")
    assert llm.api_key is not None
    assert llm.api_key.get_secret_value() == KEY
    for text in (repr(llm), str(llm), dumps(llm), str(llm.model_dump()), str(llm._identifying_params)):
        assert KEY not in text
    again = loads(dumps(llm), secrets_from_env=True, **TRUSTED)
    assert again == llm


def test_keys_of_other_services_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FACTORSPEC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    llm = ChatFactorSpec()
    assert llm.api_key is None
    assert "elsewhere" not in llm.base_url


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("FACTORSPEC_BASE_URL", "foo", r"FACTORSPEC_BASE_URL: must begin with http.* \(got 'foo'\)"),
        ("FACTORSPEC_API_KEY", "schlüssel", "FACTORSPEC_API_KEY: must be printable ASCII .* holds 'ü'"),
        ("FACTORSPEC_API_KEY", "a\nb", r"FACTORSPEC_API_KEY: must be printable ASCII .* holds '\\n'"),
    ],
)
def test_what_is_wrong_in_the_environment_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(fs.DeclarationError, match=told) as caught:
        ChatFactorSpec()
    assert "schl" not in str(caught.value)


@IN_BETA
def test_an_engine_does_not_travel() -> None:
    llm, _ = chat()
    assert llm.to_json()["type"] == "not_implemented"
    again = load(ChatFactorSpec().to_json(), **TRUSTED)
    assert isinstance(again, ChatFactorSpec)


def test_copies_work_as_the_original_does() -> None:
    llm, _ = chat("a", "b")
    assert copy.deepcopy(ChatFactorSpec()).base_url == ChatFactorSpec().base_url
    assert llm.model_copy(update={"temperature": 1.0}).invoke("hi").text == "a"
    assert copy.copy(llm).invoke("hi").text == "b"


def test_a_copy_with_another_address_asks_there() -> None:
    with serving() as server:
        elsewhere = ChatFactorSpec(base_url="http://127.0.0.1:9/v1", max_retries=0, max_tokens=5)
        with pytest.raises(fs.ConnectionLost):
            elsewhere.invoke("hi")
        assert elsewhere.model_copy(update={"base_url": server.url}).invoke("hi").text
        elsewhere.base_url = server.url
        assert elsewhere.invoke("hi").text


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="temprature"):
        ChatFactorSpec(temprature=1)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match=r"Client\.local"):
        ChatFactorSpec(engine="smollm2")
    with pytest.raises(fs.DeclarationError, match="http://"):
        ChatFactorSpec(base_url="localhost:8000").invoke("hi")


def test_several_choices_do_not_come_as_one_stream() -> None:
    llm, _ = chat("a")
    with pytest.raises(fs.DeclarationError, match="n: "):
        list(llm.stream("hi", n=2))

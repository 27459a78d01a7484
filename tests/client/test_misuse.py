"""What is no model, no conversation or no answer is told in the SDK's words, with its place."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import factorspec_sdk as fs
from factorspec_sdk.client import Client, InvalidAnswer
from factorspec_sdk.client.loose_reading import loose_objects
from factorspec_sdk.openai import gather, parse, response_format, tool, tool_calls
from tests.client.canned import Canned, completion


class Pay(BaseModel):
    amount: Literal[10, 20, 50]


NO_MODELS = [3, None, "Pay", {"type": "object"}, list[int], Pay(amount=10)]
NO_CONVERSATIONS = [3, None, b"Pay.", [3], ["Pay."], {"role": "user", "content": "Pay."}]
DEEP = ["[" * 100_000, '{"a":' * 100_000]


def asking(answer: Any = None) -> Client:
    return Client(engine=Canned(answer), model="canned")


@pytest.mark.parametrize("given", NO_MODELS, ids=repr)
def test_what_is_no_model(given: Any) -> None:
    for ask in (fs.document, fs.spec, tool, response_format):
        with pytest.raises(fs.DeclarationError, match=r"model: is no Pydantic model \(got .+\)"):
            ask(given)
    with pytest.raises(fs.DeclarationError, match="is no Pydantic model"):
        asking().generate(given, "Pay.")
    with pytest.raises(fs.DeclarationError, match="is no Pydantic model"):
        asking().call_tools([given], "Pay.")
    if not isinstance(given, type):
        with pytest.raises(fs.DeclarationError, match=r"tools\[0\]: is no model"):
            tool_calls([given], completion(""))


@pytest.mark.parametrize("given", [Pay, None, 3, "Pay"], ids=repr)
def test_what_is_no_list_of_models(given: Any) -> None:
    for ask in (lambda: asking().call_tools(given, "Pay."), lambda: tool_calls(given, completion(""))):
        with pytest.raises(fs.DeclarationError, match="tools: are no"):
            ask()
    with pytest.raises(fs.DeclarationError, match=r"tools\[1\]: another tool has this name"):
        tool_calls([Pay, Pay], completion(""))


def test_an_option_of_tool_calls_that_there_is_not() -> None:
    asked: Any = asking()
    with pytest.raises(
        fs.DeclarationError, match=r"n: is no option of tool calls \(got 3\). there are tool_"
    ):
        asked.call_tools([Pay], "Pay.", n=3)


@pytest.mark.parametrize("given", NO_CONVERSATIONS, ids=repr)
def test_what_is_no_conversation(given: Any) -> None:
    for ask in (
        lambda: asking().generate(Pay, given),
        lambda: asking().stream(Pay, given),
        lambda: asking().plan(Pay, given),
        lambda: asking().call_tools([Pay], given),
    ):
        with pytest.raises(fs.DeclarationError, match=r"messages(\[0\])?: .+ \(got .+give a text, or a list"):
            ask()


@pytest.mark.parametrize("content", ["\ud800", {1}, Pay(amount=10)], ids=repr)
def test_a_message_that_cannot_be_sent(content: Any) -> None:
    turns: list[Any] = [{"role": "user", "content": "Pay."}, {"role": "user", "content": content}]
    for ask in (lambda: asking().generate(Pay, turns), lambda: asking().call_tools([Pay], turns)):
        with pytest.raises(fs.DeclarationError, match=r"messages\[1\]: (cannot be sent as JSON|holds half)"):
            ask()


@pytest.mark.parametrize("text", DEEP, ids=("list", "object"))
def test_answers_nested_without_end(text: str) -> None:
    vendor = {"spec_hash": fs.spec(Pay).hash, "report": {}}
    with pytest.raises(InvalidAnswer):
        parse(Pay, completion(text, factorspec=vendor))


def test_a_kept_line_nested_without_end(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(DEEP[0] + "\n")
    with pytest.raises(fs.DocumentError, match="line 1: is no result of generate_many"):
        list(asking().generate_many(Pay, ["Pay."], resume=kept))


@pytest.mark.parametrize(
    "call",
    [
        3,
        {},
        {"id": "x", "function": {}},
        {"id": "x", "function": {"name": "Pay", "arguments": None}},
        {"id": "x", "function": {"name": "Pay", "arguments": {"amount": 10}}},
        {"id": "x", "function": {"name": ["Pay"], "arguments": "{}"}},
        {"id": "x", "type": "custom", "custom": {"name": "Pay", "input": ""}},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("reason", ["tool_calls", "length"])
def test_calls_that_cannot_be_read(call: Any, reason: str) -> None:
    answer: Any = completion("", reason, factorspec={"tools": {"Pay": fs.spec(Pay).hash}})
    answer["choices"][0]["message"]["tool_calls"] = [call]
    with pytest.raises(fs.EngineError, match=r"tool_calls cannot be read:[\s\S]*\[0\]"):
        tool_calls([Pay], copy.deepcopy(answer))


@pytest.mark.parametrize(
    "parts",
    [
        *(3, None, [], {}, "abc", [3], [{}], completion("whole")),
        [{"choices": 3}],
        [{"choices": [{}]}],
        [{"choices": [{"index": 0, "delta": {"content": 3}}]}],
        [{"choices": [{"index": 0, "delta": {"tool_calls": [{}]}}]}],
        [{"error": {"message": "boom"}}],
    ],
    ids=repr,
)
def test_what_is_no_stream(parts: Any) -> None:
    with pytest.raises(fs.EngineError, match=r"boom|gather takes all parts|cannot be read"):
        gather(parts)


def test_prompts_that_are_no_list() -> None:
    client: Any = asking()
    for prompts in ("Pay.", b"Pay.", 3, None, {"Pay.": 1}):
        with pytest.raises(fs.DeclarationError, match="prompts: are no list"):
            client.generate_many(Pay, prompts)
    with pytest.raises(fs.DeclarationError, match=r"prompts\[1\].messages: are no conversation"):
        client.generate_many(Pay, ["Pay.", None])
    for record in (3, "Pay", [3], [{"type": "object"}], [Pay(amount=10)]):
        with pytest.raises(fs.DeclarationError, match=r"is no (Pydantic )?model"):
            client.generate_many(record, ["Pay."])


@pytest.mark.parametrize(
    "wish",
    [
        {"concurrency": "2"},
        {"concurrency": 0},
        {"patience_s": "9"},
        {"patience_s": None},
        {"patience_s": float("nan")},
        {"resume": 3},
        {"progress": "yes"},
    ],
    ids=repr,
)
def test_options_of_a_run_that_cannot_be(wish: dict[str, Any]) -> None:
    ((name, _),) = wish.items()
    with pytest.raises(fs.DeclarationError, match=f"nothing can be asked for: {name}: must be"):
        asking().generate_many(Pay, ["Pay."], **wish)


def test_a_kept_record_that_was_asked_for_with_an_option_of_another_release(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    asking('{"amount": 10}').generate_many(Pay, ["Pay."], resume=kept, strategy="retry")
    line = json.loads(kept.read_text())
    line["asked"]["options"]["later"] = 1
    kept.write_text(json.dumps(line) + "\n")
    with pytest.raises(fs.DocumentError, match=r"line 1: .* was asked for with later=1, not None"):
        asking().generate_many(Pay, ["Pay."], resume=kept, strategy="retry")


@pytest.mark.parametrize("opening", ["{", "[", '{"a":', "{'a':["])
def test_loose_answers_nested_without_end_hold_no_object(
    opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: str) -> None:
        raise AssertionError("json-repair takes seconds for this")

    spec = fs.spec(Pay)
    assert loose_objects(opening * 3 + "'b': 1", spec) is not None
    monkeypatch.setattr("json_repair.loads", never)
    assert loose_objects(opening * 100_000, spec) == []

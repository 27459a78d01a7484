"""The unmodified ``openai`` package against a real server."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field

from factorspec_sdk.wire import parse_document
from tests.server.http.serving import TRIP, body


def completion(client: openai.OpenAI, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.chat.completions.create(**body(**fields)).model_dump()
    return found


def record(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer["choices"][0]["message"]["content"])
    return found


def test_a_record_satisfies_schema_and_relations(client: openai.OpenAI) -> None:
    for seed in range(20):
        answer = completion(client, temperature=1, seed=seed)
        trip = record(answer)
        assert list(trip) == TRIP["required"]
        assert trip["first"] != trip["second"]
        assert {trip["first"], trip["second"]} <= set(TRIP["properties"]["first"]["enum"])
        assert answer["choices"][0]["finish_reason"] == "stop"


def test_the_answer_echoes_the_spec_and_reports(client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        **body(seed=1, extra_body={"factorspec": {"origins": True}})
    )
    answer = json.loads(raw.http_response.text)
    spec_hash = parse_document(TRIP).hash
    assert answer["factorspec"]["spec_hash"] == raw.headers["x-factorspec-spec"] == spec_hash
    report = answer["factorspec"]["report"]
    assert report["certain"] + report["chosen"] + report["free"] == report["tokens"]
    assert report["tokens"] == answer["usage"]["completion_tokens"]
    assert report["model_steps"] <= report["choice_points"] + 1
    drafts = report["drafts"]
    assert list(drafts) == ["certain", "branch", "text", "earlier"]
    stood = sum(count["accepted"] for count in drafts.values())
    assert stood + report["choice_points"] - report["accepted"] == report["tokens"]
    assert drafts["certain"]["accepted"] == report["certain"]
    assert [(one["name"], one["outcome"], one["enforced"]) for one in report["relations"]] == [
        ("two cities", "holds", True)
    ]
    assert len(report["origins"]) == report["tokens"]
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + report["tokens"]


def test_the_report_certifies_the_optimum(client: openai.OpenAI) -> None:
    goals = [
        {"goal": "maximize", "expr": {"ref": "$.days"}, "gap": 2, "name": "long"},
        {"goal": "minimize", "expr": {"op": "neg", "args": [{"ref": "$.days"}]}},
    ]
    vendor = {**TRIP["x-factorspec"], "objective": goals}
    answer = completion(client, schema={**TRIP, "x-factorspec": vendor}, temperature=1, seed=3)
    assert record(answer)["days"] == 9
    assert answer["factorspec"]["report"]["objective"] == [
        {"name": "long", "goal": "maximize", "gap": 2, "value": 9, "best": 9, "bound": 9, "proven": True},
        {
            "name": "minimize",
            "goal": "minimize",
            "gap": 0,
            "value": -9,
            "best": -9,
            "bound": -9,
            "proven": True,
        },
    ]


def test_equal_seeds_give_equal_records_and_others_others(client: openai.OpenAI) -> None:
    texts = [
        completion(client, temperature=1, seed=seed)["choices"][0]["message"]["content"] for seed in (5, 5, 6)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_a_spec_is_compiled_once(client: openai.OpenAI) -> None:
    completion(client)
    assert completion(client)["factorspec"]["report"]["spec_cached"] is True


@pytest.mark.parametrize("strict", [True, False, None])
def test_a_plain_schema_is_enforced_strict_or_not(client: openai.OpenAI, strict: bool | None) -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"enum": ["S", "M"]}},
        "required": ["size"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "size", "schema": schema, "strict": strict}}
    answer = completion(client, response_format=wanted)
    assert record(answer)["size"] in ("S", "M")
    assert answer["factorspec"]["spec_hash"] == parse_document(schema).hash


@pytest.mark.parametrize("wanted", [None, {"type": "text"}])
def test_an_ordinary_chat_works(client: openai.OpenAI, wanted: dict[str, str] | None) -> None:
    answer = completion(client, schema=None, response_format=wanted, max_tokens=7)
    assert answer["choices"][0]["finish_reason"] in ("stop", "length")
    assert answer["usage"]["completion_tokens"] <= 7
    assert "factorspec" not in answer


def test_streamed_and_whole_records_are_equal(client: openai.OpenAI) -> None:
    whole = completion(client, temperature=1, seed=11)
    chunks = list(
        client.chat.completions.create(
            **body(temperature=1, seed=11, stream=True, stream_options={"include_usage": True})
        )
    )
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == whole["choices"][0]["message"]["content"]
    assert len([text for text in texts if text]) > 1
    assert chunks[0].choices[0].delta.role == "assistant"
    *_, last, usage = chunks
    assert last.choices[0].finish_reason == "stop"
    assert last.model_dump()["factorspec"]["spec_hash"] == whole["factorspec"]["spec_hash"]
    assert usage.usage is not None and usage.usage.model_dump() == whole["usage"]


def test_streamed_and_whole_chats_are_equal(client: openai.OpenAI) -> None:
    fields = {"schema": None, "temperature": 1, "seed": 3, "max_tokens": 40, "stop": ["zz"]}
    whole = completion(client, **fields)
    chunks = list(client.chat.completions.create(**body(**fields, stream=True)))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    assert chunks[-1].choices[0].finish_reason == whole["choices"][0]["finish_reason"]
    assert all(chunk.usage is None for chunk in chunks)


def test_many_requests_at_once(client: openai.OpenAI) -> None:
    def ask(seed: int) -> str:
        return str(completion(client, temperature=1, seed=seed)["choices"][0]["message"]["content"])

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(24)))
    assert together == [ask(seed) for seed in range(24)]


def test_a_conversation_with_parts_and_earlier_answers(client: openai.OpenAI) -> None:
    earlier = completion(client)["choices"][0]["message"]
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "A "}, {"type": "text", "text": "trip."}]},
        earlier,
        {"role": "user", "content": "Another."},
    ]
    assert record(completion(client, messages=messages))["days"] >= 1


def test_models_say_what_is_enforced(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    facts = model.model_dump()["factorspec"]
    assert model.id == "scripted"
    assert facts["wire_versions"] == [1]
    assert {"all_different", "table", "slide"} <= set(facts["enforced"]["relation_kinds"])
    assert {"body_bytes", "document_bytes", "table_rows"} <= set(facts["limits"])
    assert facts["drafting"] == {
        "policy": "auto",
        "width": None,
        "earlier": True,
        "trees": True,
        "step_s": {},
    }
    assert client.models.retrieve("scripted").model_dump() == model.model_dump()
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-4o")


def test_a_record_without_a_choice_takes_no_step(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"const": "Köln"}, "days": {"type": "integer", "minimum": 3, "maximum": 3}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    answer = completion(client, schema=schema)
    assert record(answer) == {"city": "Köln", "days": 3}
    assert answer["factorspec"]["report"]["model_steps"] == 0
    chunks = list(client.chat.completions.create(**body(schema=schema, stream=True)))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == '{"city": "Köln", "days": 3}'


class Size(BaseModel):
    """What the package's own helper sends."""

    size: Literal["S", "M", "L"]
    count: Annotated[int, Field(ge=1, le=9)]


def test_the_packages_own_parse_helper_works(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "Which size?"}]
    answer = client.chat.completions.parse(model="scripted", messages=messages, response_format=Size)
    parsed = answer.choices[0].message.parsed
    assert parsed is not None and parsed.size in ("S", "M", "L")


def test_texts_come_out_exactly_as_declared(client: openai.OpenAI) -> None:
    names = [
        "Zürich",
        'a"b',
        "C:\\d",
        "東京",
        "🙂",
        " edge ",
        "Ελλάδα",
        "e\u0301",
        "tab\tnewline\n",
        "<|end|>",
        "",
    ]
    for name in names:
        schema = {
            "type": "object",
            "properties": {"name": {"enum": [name]}},
            "required": ["name"],
            "additionalProperties": False,
        }
        assert record(completion(client, schema=schema)) == {"name": name}
